/**
 * The answer to a call, as a wire's message.
 */
import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import {
  type Header,
  HeaderSchema,
  type Mark,
  type Result,
  type ServerMessage,
  ServerMessageSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Codec, Plain } from "../codec/codec.ts";
import { toLinkError } from "./link-error.ts";
import { payloadBytes, payloadOf } from "./packet.ts";

/** What a result says beside its outcome; of a call that was not let in, its ID alone. */
export interface Answered {
  readonly id: number;
  readonly setHeader?: Headers | undefined;
  readonly setTrailer?: Headers | undefined;
  readonly tag?: string | undefined;
}

export function resultMessage(
  made: Answered,
  outcome: Result["outcome"],
  mark: Mark,
  repeat: boolean,
): ServerMessage {
  return {
    $typeName: "holdfast.link.v1.ServerMessage",
    kind: {
      case: "result",
      value: {
        $typeName: "holdfast.link.v1.Result",
        id: made.id,
        outcome: outcome,
        mark,
        repeat,
        headers: made.setHeader === undefined ? [] : headersOf(made.setHeader),
        trailers: made.setTrailer === undefined ? [] : headersOf(made.setTrailer),
        caller: made.tag ?? "",
      },
    },
  };
}

/**
 * Shapes the result of a call that has a reply.
 *
 * @throws CodecError for a reply that does not fit its types; RangeError for one above `bytesMost`.
 */
export function shapeReply<O extends DescMessage>(
  codec: Codec,
  its: { readonly made: Answered; readonly mark: Mark; readonly repeat: boolean },
  output: O,
  reply: MessageShape<O>,
  bytesMost: number,
): Plain {
  const { made, mark, repeat } = its;
  const { id, tag = "" } = made;
  if (codec.calls !== undefined && made.setHeader === undefined && made.setTrailer === undefined)
    return codec.calls.shapeReply({ id, mark, repeat, caller: tag }, output, reply, bytesMost);
  const payload = payloadOf(codec, output, reply);
  const bytes = payloadBytes(payload);
  if (bytes > bytesMost) throw new RangeError(`a reply of ${bytes} bytes is too large`);
  return codec.shape(
    ServerMessageSchema,
    resultMessage(made, { case: "reply", value: payload }, mark, repeat),
  );
}

export function errorResult(made: Answered, error: ConnectError, mark: Mark, repeat: boolean): ServerMessage {
  const message = resultMessage(made, { case: "error", value: toLinkError(error) }, mark, repeat);
  if (message.kind.case === "result") message.kind.value.headers.push(...headersOf(error.metadata));
  return message;
}

function headersOf(headers: Headers): Header[] {
  const all: Header[] = [];
  headers.forEach((value, name) => all.push(create(HeaderSchema, { name, value })));
  return all;
}

/** Headers that came with a call or its result. */
export function readHeaders(list: readonly Header[]): Headers {
  const headers = new Headers();
  for (const { name, value } of list) headers.append(name, value);
  return headers;
}
