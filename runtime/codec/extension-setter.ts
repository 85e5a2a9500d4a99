import { setExtension, type DescExtension, type Message } from "@bufbuild/protobuf";
import { CodecError } from "./codec-error.ts";

/** Sets an extension that was read on its message, once that is made. */
export type SetExtension = (message: Message) => void;

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
