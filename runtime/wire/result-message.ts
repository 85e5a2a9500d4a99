/**
 * The answer to a call, as a wire's message.
 */
import { create } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import {
  type Header,
  HeaderSchema,
  type Mark,
  type Result,
  type ServerMessage,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { toLinkError } from "./link-error.ts";

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
