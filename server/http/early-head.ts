/**
 * The head of a stream's answer, as soon as the stream is open. Connect holds it back until the first item, since a
 * handler may set headers until then; one that has returned what is followed can set none any more, and its first item
 * may be hours away. A client that waits for the head would take the server for dead.
 */
import type { HandlerContext } from "@connectrpc/connect";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { Protocol } from "./answer-code.ts";

/** Says that a stream is open; what comes of it is in the hands of its context. */
export type Opened = (context: Pick<HandlerContext, "responseHeader" | "responseTrailer">) => void;

/**
 * The answer of a handler, or its head with the rest to come, whichever is there first.
 *
 * @param handle - calls the handler, and is given what the stream says that it is open with.
 */
export function withEarlyHead(
  handle: (opened: Opened) => Promise<UniversalServerResponse>,
  protocol: Protocol,
): Promise<UniversalServerResponse> {
  return new Promise((resolve, reject) => {
    const made = handle(({ responseHeader: header, responseTrailer: trailer }) => {
      // Only gRPC has trailers of HTTP, which its handler sets when the stream has ended.
      const head = { status: 200, header, ...(protocol === "grpc" ? { trailer } : {}) };
      resolve({ ...head, body: bodyOf(() => made) });
    });
    made.then(resolve, reject);
  });
}

async function* bodyOf(made: () => Promise<UniversalServerResponse>): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(); // makes whoever writes it send the head
  const { body } = await made();
  if (body !== undefined) yield* body;
}
