/**
 * A request's body under a limit of time: a client that sends a byte now and then, or none, must not hold a
 * place for ever. Node has no such limit for HTTP/2.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Readable } from "node:stream";
import type { Clock } from "../../runtime/base/clock.ts";
import { joinedBytes } from "../../runtime/base/whole-body.ts";
import type { NodeRequest } from "./node-listener.ts";

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
                reject(lateError(waitMs));
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

function lateError(waitMs: number): ConnectError {
  return new ConnectError(
    `no byte of the request came for ${Math.round(waitMs / 1000)} s. Send the whole request at once`,
    Code.DeadlineExceeded,
  );
}

/** What {@link wholeBody} keeps to. */
export interface BodyLimits {
  readonly waitMs: number;
  readonly bytesMost: number;
  /** What a larger one is refused with. */
  readonly tooLarge: () => ConnectError;
}

/** All of a body of Node's; rejects with a ConnectError. Of a request that is gone it rejects too. */
export function wholeBody(request: NodeRequest, clock: Clock, limits: BodyLimits): Promise<Uint8Array> {
  // Past the compatible request of HTTP/2, which is a second stream around the first.
  const source: Readable = "stream" in request ? request.stream : request;
  return new Promise((resolve, reject) => {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    const over = (): void => {
      timer.cancel();
      source.off("data", onData);
      source.off("end", onEnd);
      source.off("close", onClose);
    };
    const fail = (error: ConnectError): void => {
      over();
      source.pause();
      reject(error);
    };
    const onData = (piece: Uint8Array): void => {
      pieces.push(piece);
      bytes += piece.byteLength;
      if (bytes > limits.bytesMost) fail(limits.tooLarge());
      else if (pieces.length > 1) wait();
    };
    const onEnd = (): void => {
      over();
      resolve(joinedBytes(pieces));
    };
    const onClose = (): void => fail(new ConnectError("the client is gone", Code.Canceled));
    const late = (): void => fail(lateError(limits.waitMs));
    let timer = clock.timer(limits.waitMs, late, { background: true });
    const wait = (): void => {
      timer.cancel();
      timer = clock.timer(limits.waitMs, late, { background: true });
    };
    // What came before anybody listened is told no more.
    if (source.readableEnded) {
      onEnd();
      return;
    }
    if (source.destroyed) {
      onClose();
      return;
    }
    source.on("close", onClose);
    source.on("end", onEnd);
    source.on("data", onData);
  });
}

/** A body that cannot be read: Connect then answers with this error, in the protocol of the request. */
export function failingBody(error: ConnectError): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}

/** Whether a body is bytes, and not JSON that a framework has parsed. */
export function isByteStream(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}
