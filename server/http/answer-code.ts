/**
 * What Connect answered, read back from its response: the one way to learn of an error that it made by itself,
 * before any interceptor (a body that cannot be parsed, or is too large).
 */
import { Code } from "@connectrpc/connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";

export type Protocol = "connect" | "grpc" | "grpc-web";

/** The protocol of a request. */
export function protocolOf(header: Headers): Protocol {
  const type = header.get("content-type") ?? "";
  if (type.startsWith("application/grpc-web")) return "grpc-web";
  return type.startsWith("application/grpc") ? "grpc" : "connect";
}

/** "ok", Connect's code, or "not-rpc" for a status that HTTP alone explains (405, 415, 505). */
export type AnswerCode = "ok" | "not-rpc" | Code;

/** Connect's statuses and their codes, where one of several is enough to tell a fault from a refusal. */
const codeOfStatus: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  408: Code.DeadlineExceeded,
  409: Code.Aborted,
  429: Code.ResourceExhausted,
  499: Code.Canceled,
  500: Code.Internal,
  501: Code.Unimplemented,
  503: Code.Unavailable,
  504: Code.DeadlineExceeded,
};

/** How a response to a unary rpc ended, with the response to hand on in its place. */
export async function answerCode(
  response: UniversalServerResponse,
  protocol: Protocol,
): Promise<{ readonly code: AnswerCode; readonly response: UniversalServerResponse }> {
  if (response.status !== 200) return { code: codeOfStatus[response.status] ?? "not-rpc", response };
  if (protocol === "connect") return { code: "ok", response };
  if (protocol === "grpc-web" && response.body !== undefined) return peekWebTrailer(response, response.body);
  return { code: grpcCode(response.trailer?.get("grpc-status") ?? "0"), response };
}

/** gRPC-Web has its trailers in the body: an answer that begins with them is an error. */
async function peekWebTrailer(
  response: UniversalServerResponse,
  body: AsyncIterable<Uint8Array>,
): Promise<{ readonly code: AnswerCode; readonly response: UniversalServerResponse }> {
  const pieces = body[Symbol.asyncIterator]();
  const first = await pieces.next();
  const again = { ...response, body: startingWith(first, pieces) };
  if (first.done === true || ((first.value[0] ?? 0) & 0x80) === 0) return { code: "ok", response: again };
  const text = new TextDecoder().decode(first.value.subarray(5));
  return { code: grpcCode(/^grpc-status:\s*(\d+)/im.exec(text)?.[1] ?? "13"), response: again };
}

/** An enum's object has its names among its values. */
const codes = Object.values(Code).filter((code) => typeof code === "number");

function grpcCode(status: string): AnswerCode {
  if (status === "0") return "ok";
  return codes.find((code) => `${code}` === status) ?? Code.Unknown;
}

function startingWith(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncIterable<Uint8Array> {
  let given = false;
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        if (given) return rest.next();
        given = true;
        return Promise.resolve(first);
      },
      return: (value?: unknown) => rest.return?.(value) ?? Promise.resolve({ done: true, value: undefined }),
      throw: (error?: unknown) => rest.throw?.(error) ?? Promise.reject(error),
    }),
  };
}
