/**
 * The answer to a path that is no rpc of this server, in the protocol that the request speaks, so that a client
 * with a newer schema, or the wrong address, is told so by name instead of meeting a bare 404.
 */
import type { Code } from "@connectrpc/connect";
import {
  createEndStreamSerialization,
  endStreamFlag,
  errorToJsonBytes,
} from "@connectrpc/connect/protocol-connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { createAsyncIterable, encodeEnvelope } from "@connectrpc/connect/protocol";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { serverError } from "../../runtime/base/server-reasons.ts";
import { protocolOf } from "./answer-code.ts";
import { type AnswerHeaders, setAnswerHeaders } from "./answer-headers.ts";
import type { Cors } from "./cors.ts";
import type { NodeListener } from "./node-listener.ts";
import { pathOf, send } from "./node-requests.ts";

export interface UnknownPathParts {
  readonly cors: Cors;
  /** The headers of an answer that is made now. */
  readonly answerHeaders: () => Pick<AnswerHeaders, "server" | "nowMs">;
}

/** Answers a request to an unknown path. */
export function answerUnknownPath(
  request: { readonly method: string; readonly path: string; readonly header: Headers },
  parts: UnknownPathParts,
): UniversalServerResponse {
  const preflight = parts.cors.preflight(request.method, request.header);
  if (preflight !== undefined) return preflight;
  const response = inProtocol(request.path, request.header);
  const header = response.header ?? new Headers();
  setAnswerHeaders(header, { ...parts.answerHeaders(), mark: "none", repeat: false, tag: undefined });
  parts.cors.allow(request.header, header);
  return { ...response, header };
}

/** Of a path only this much is repeated in the answer. */
const pathCharsMost = 200;

function inProtocol(path: string, asked: Headers): UniversalServerResponse {
  const type = asked.get("content-type") ?? "";
  const error = serverError(
    "NO_SUCH_METHOD",
    `the server does not have the method "${path.slice(0, pathCharsMost)}"`,
  );
  if (protocolOf(asked) !== "connect") {
    const header = setTrailerStatus(new Headers(), error);
    header.set("content-type", type);
    return { status: 200, header };
  }
  if (type.startsWith("application/connect+")) {
    const end = createEndStreamSerialization(undefined).serialize({ error, metadata: new Headers() });
    const body = createAsyncIterable([encodeEnvelope(endStreamFlag, end)]);
    return { status: 200, header: new Headers({ "content-type": type }), body };
  }
  const status: number = codeStatus[error.code] ?? 404;
  const body = createAsyncIterable([errorToJsonBytes(error, undefined)]);
  return { status, header: new Headers({ "content-type": "application/json" }), body };
}

/** Connect's status of the one code that is answered here. */
const codeStatus: Partial<Record<Code, number>> = { 12: 501 };

/** A listener for what the routes do not know. */
export function createFallback(parts: UnknownPathParts): NodeListener {
  return (request, response) => {
    const header = new Headers();
    for (const name of ["content-type", "origin", "access-control-request-method"]) {
      const value = request.headers[name];
      if (typeof value === "string") header.set(name, value);
    }
    const answer = answerUnknownPath({ method: request.method ?? "", path: pathOf(request), header }, parts);
    send(answer, response).catch(() => response.destroy()); // the client is gone
    request.resume();
  };
}
