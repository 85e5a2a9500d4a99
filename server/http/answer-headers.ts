/**
 * holdfast's headers on an answer: on every one, whoever made it, since a client takes an answer without
 * them for a proxy's.
 *
 * Source: design "Wire: Services".
 */
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { Mark } from "../../runtime/base/reasons.ts";
import { headerNames } from "../../runtime/call/headers.ts";
import type { Protocol } from "./answer-code.ts";

export interface AnswerHeaders {
  /** The value of `holdfast-server`. */
  readonly server: string;
  readonly nowMs: number;
  /** For commands. */
  readonly mark: Mark | undefined;
  readonly repeat: boolean;
  /** For commands of a caller that was let in. */
  readonly tag: string | undefined;
}

/**
 * The response with the headers.
 *
 * gRPC has them in its trailers too, where some of its clients look alone. Its clients join the two for an error,
 * and a mark must not read "none, none": so an error has them in the trailers, and a stream, whose head is sent
 * before it is known how it ends, in the head.
 */
export function withAnswerHeaders(
  response: UniversalServerResponse,
  protocol: Protocol,
  fields: AnswerHeaders,
  kind: "reply" | "error" | "stream",
): UniversalServerResponse {
  // The object stays the same where there is one: a stream's handler may set headers until the first item.
  const header = response.header ?? new Headers();
  const trailer = protocol === "grpc" && kind !== "stream" ? response.trailer : undefined;
  if (trailer !== undefined) setAnswerHeaders(trailer, fields);
  if (trailer === undefined || kind !== "error") setAnswerHeaders(header, fields);
  return { ...response, header };
}

type HeaderSetter = Pick<Headers, "set" | "delete">;

/** Sets the headers, in place of any of the same names that a handler took from another server's answer. */
export function setAnswerHeaders(header: HeaderSetter, fields: AnswerHeaders): void {
  header.set(headerNames.server, fields.server);
  header.set(headerNames.now, `${fields.nowMs}`);
  setOrDrop(header, headerNames.settled, fields.mark);
  setOrDrop(header, headerNames.repeat, fields.repeat ? "1" : undefined);
  setOrDrop(header, headerNames.caller, fields.tag);
}

function setOrDrop(header: HeaderSetter, name: string, value: string | undefined): void {
  if (value === undefined) header.delete(name);
  else header.set(name, value);
}
