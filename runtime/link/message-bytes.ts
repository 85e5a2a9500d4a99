/** Messages as the bodies of the Connect protocol have them. */
import {
  type DescMessage,
  fromBinary,
  fromJsonString,
  type Message,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";

/** How messages are written: protobuf's binary form, or its JSON form. */
export type MessageFormat = "binary" | "json";

/** @throws ConnectError for a message that its form cannot hold. */
export function bytesOfMessage(
  desc: DescMessage,
  message: Message,
  format: MessageFormat,
): Uint8Array<ArrayBuffer> {
  try {
    return format === "binary"
      ? toBinary(desc, message)
      : new TextEncoder().encode(toJsonString(desc, message));
  } catch (error) {
    throw unfit("the request cannot be written", error);
  }
}

/** @throws ConnectError for bytes that are no such message. */
export function messageOfBytes(desc: DescMessage, bytes: Uint8Array, format: MessageFormat): Message {
  try {
    return format === "binary"
      ? fromBinary(desc, bytes)
      : fromJsonString(desc, new TextDecoder().decode(bytes), { ignoreUnknownFields: true });
  } catch (error) {
    throw unfit("the reply cannot be read", error);
  }
}

function unfit(what: string, error: unknown): ConnectError {
  const why = error instanceof Error ? error.message : String(error);
  return new ConnectError(`${what}: ${why}`, Code.Internal, undefined, undefined, error);
}
