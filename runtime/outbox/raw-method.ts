/**
 * A method's descriptor made of its names alone. An entry may be older than the program: its schema may be
 * gone, or not loaded yet, and it must leave all the same. protobuf keeps fields that a message does not know
 * and writes them again as they were, so that a message without any field of its own carries any bytes
 * unchanged, and Connect's transport sends it like every other. That holds for the binary form only.
 */
import { create, createFileRegistry, type DescMethodUnary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Entry } from "./entry.ts";

/** The method of an entry; a text says why its names cannot be those of one. */
export function rawMethod(entry: Entry): DescMethodUnary | string {
  const { service, method, requestType, replyType } = entry;
  try {
    const messages = new Set([requestType, replyType]);
    const files = [...messages].map((type, index) =>
      create(FileDescriptorProtoSchema, {
        name: `raw-${index}.proto`,
        syntax: "proto3",
        package: packageOf(type),
        messageType: [{ name: nameOf(type) }],
      }),
    );
    const file = create(FileDescriptorProtoSchema, {
      name: "raw.proto",
      syntax: "proto3",
      package: packageOf(service),
      dependency: files.map(({ name }) => name),
      service: [
        {
          name: nameOf(service),
          method: [{ name: method, inputType: `.${requestType}`, outputType: `.${replyType}` }],
        },
      ],
    });
    const registry = createFileRegistry(file, (name) => files.find((each) => each.name === name));
    const [found] = registry.getService(service)?.methods ?? [];
    if (found?.methodKind !== "unary") return `${service}/${method} is no method`;
    return found as DescMethodUnary;
  } catch (error) {
    return `${service}/${method} is no method: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function packageOf(typeName: string): string {
  return typeName.slice(0, Math.max(0, typeName.lastIndexOf(".")));
}

function nameOf(typeName: string): string {
  return typeName.slice(typeName.lastIndexOf(".") + 1);
}
