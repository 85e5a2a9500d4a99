/** Messages as the bodies of the Connect protocol have them: in protobuf's binary form, or in JSON by a codec. */
import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Codec } from "../codec/codec.ts";

/** @throws ConnectError for a message that its form cannot hold. */
export function bytesOfMessage(
  desc: DescMessage,
  message: Message,
  json: Codec | undefined,
): Uint8Array<ArrayBuffer> {
  try {
    return json === undefined
      ? toBinary(desc, message)
      : (json.pack(json.shape(desc, message)) as Uint8Array<ArrayBuffer>);
  } catch (error) {
    throw unfit("the request cannot be written", error);
  }
}

/** @throws ConnectError for bytes that are no such message. */
export function messageOfBytes(desc: DescMessage, bytes: Uint8Array, json: Codec | undefined): Message {
  try {
    return json === undefined ? fromBinary(desc, bytes) : json.unshape(desc, json.unpack(bytes));
  } catch (error) {
    throw unfit("the reply cannot be read", error);
  }
}

function unfit(what: string, error: unknown): ConnectError {
  const why = error instanceof Error ? error.message : String(error);
  return new ConnectError(`${what}: ${why}`, Code.Internal, undefined, undefined, error);
}
