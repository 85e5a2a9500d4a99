/**
 * A request's body under a limit of time: a client that sends a byte now and then, or none, must not hold a
 * place for ever. Node has no such limit for HTTP/2.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../runtime/base/clock.ts";

/** The same body; waiting longer than `waitMs` for its next piece throws `deadline_exceeded`. */
export function bodyWithin(
  body: AsyncIterable<Uint8Array>,
  clock: Clock,
  waitMs: number,
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const pieces = body[Symbol.asyncIterator]();
      return {
        next: () =>
          new Promise((resolve, reject) => {
            const timer = clock.timer(
              waitMs,
              () => {
                reject(
                  new ConnectError(
                    `no byte of the request came for ${Math.round(waitMs / 1000)} s. Send the whole request at once`,
                    Code.DeadlineExceeded,
                  ),
                );
              },
              { background: true },
            );
            pieces
              .next()
              .then(resolve, reject)
              .finally(() => timer.cancel());
          }),
        return: async () => {
          await pieces.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

/** A body that cannot be read: Connect then answers with this error, in the protocol of the request. */
export function failingBody(error: ConnectError): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}

/** Whether a body is bytes, and not JSON that a framework has parsed. */
export function isByteStream(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}
