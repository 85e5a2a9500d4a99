import {
  getExtension,
  setExtension,
  type DescExtension,
  type DescMessage,
  type Message,
  type Registry,
} from "@bufbuild/protobuf";
import { CodecError } from "./codec-error.ts";

/** Sets an extension that was read on its message, once that is made. */
export type SetExtension = (message: Message) => void;

/**
 * The extensions that a registry knows. protobuf-es gets and sets them by its reflection, so a codec is given them and
 * imports nothing: who has no registry need not load it.
 */
export interface Extensions {
  find(desc: DescMessage, number: number): DescExtension | undefined;
  get(message: Message, extension: DescExtension): unknown;
  setter(extension: DescExtension, value: unknown): SetExtension;
}

export function extensionsOf(registry: Registry): Extensions {
  return {
    find: (desc, number) => registry.getExtensionFor(desc, number),
    get: (message, extension) => getExtension(message, extension),
    setter: extensionSetter,
  };
}

/**
 * protobuf-es keeps extensions in the binary format, so setting one can fail where reading did not: a message
 * in it may lack a required field.
 */
export function extensionSetter(extension: DescExtension, value: unknown): SetExtension {
  return (message) => {
    try {
      setExtension(message, extension, value);
    } catch (error) {
      throw new CodecError(
        error instanceof Error ? error.message : String(error),
        `.[${extension.typeName}]`,
      );
    }
  };
}
