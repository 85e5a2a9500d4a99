import { toBinary, type DescMessage } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import {
  create,
  createFileRegistry,
  fromBinary,
  fromJsonString,
  toBinary as toBinary212,
  toJsonString,
} from "protobuf-es-2-12";
import {
  FileDescriptorProtoSchema as FileProtoSchema212,
  FileDescriptorSetSchema,
} from "protobuf-es-2-12/wkt";

/** A message type as protobuf-es 2.12.1 has it, the last release but one that did not compile its codecs. */
export interface OldType {
  /** There and back, of the message that `bytes` hold. */
  binaryTrip(bytes: Uint8Array): () => unknown;
  jsonTrip(bytes: Uint8Array, sent: (text: string) => string): () => unknown;
}

/** Descriptors of one version mean nothing to another, so they go over in the binary format. */
export function oldTypeOf(desc: DescMessage): OldType {
  const file = fromBinary(FileProtoSchema212, toBinary(FileDescriptorProtoSchema, desc.file.proto));
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: [file] }));
  const old = registry.getMessage(desc.typeName);
  if (old === undefined) throw new Error(`${desc.typeName} did not come over`);
  return {
    binaryTrip: (bytes) => {
      const message = fromBinary(old, bytes);
      return () => fromBinary(old, toBinary212(old, message));
    },
    jsonTrip: (bytes, sent) => {
      const message = fromBinary(old, bytes);
      return () => fromJsonString(old, sent(toJsonString(old, message)));
    },
  };
}
