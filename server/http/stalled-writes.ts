/**
 * Answers that nobody takes: a client that stops reading, or opens no window of HTTP/2, makes the server hold what
 * it has written for as long as it likes. Node has no limit for that, so what makes no progress is cut.
 *
 * One timer looks at all answers: an answer is cut at the second look that finds bytes waiting and none taken
 * since the first.
 *
 * Source: design "Quality: Security".
 */
import { constants } from "node:http2";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { Clock, Timer } from "../../runtime/base/clock.ts";
import type { Log } from "../../runtime/base/log.ts";
import type { NodeResponse } from "./node-listener.ts";

export interface Progress {
  /** Pieces of the body that the connection has asked for. */
  pieces: number;
  /** The same at the last look that found bytes waiting. */
  waitedAt: number | undefined;
}

export class StalledWrites {
  readonly #open = new Map<NodeResponse, Progress>();
  readonly #parts: { readonly clock: Clock; readonly waitMs: number; readonly log: Log };
  #next: Timer | undefined;

  constructor(parts: { readonly clock: Clock; readonly waitMs: number; readonly log: Log }) {
    this.#parts = parts;
  }

  /** Watches an answer until it is written; gives it with its pieces counted. */
  watch(answer: UniversalServerResponse, response: NodeResponse): UniversalServerResponse {
    if (answer.body === undefined || response.destroyed) return answer;
    const progress: Progress = { pieces: 0, waitedAt: undefined };
    this.add(response, progress);
    return { ...answer, body: counted(answer.body, progress) };
  }

  /** Watches an answer whose pieces somebody else counts. */
  add(response: NodeResponse, progress: Progress): void {
    if (isClosed(response)) return;
    this.#open.set(response, progress);
    response.once("close", () => {
      this.#open.delete(response);
      if (this.#open.size > 0) return;
      this.#next?.cancel();
      this.#next = undefined;
    });
    this.#lookLater();
  }

  #lookLater(): void {
    if (this.#next !== undefined || this.#open.size === 0) return;
    const look = (): void => {
      this.#next = undefined;
      for (const [response, progress] of this.#open) this.#look(response, progress);
      this.#lookLater();
    };
    this.#next = this.#parts.clock.timer(this.#parts.waitMs, look, { background: true });
  }

  #look(response: NodeResponse, progress: Progress): void {
    const waitingBytes = "stream" in response ? response.stream.writableLength : response.writableLength;
    if (waitingBytes > 0 && progress.waitedAt === progress.pieces) {
      this.#parts.log.info("a client takes no more of an answer, which is cut", { waitingBytes });
      cut(response);
    }
    progress.waitedAt = waitingBytes > 0 ? progress.pieces : undefined;
  }
}

/** Of HTTP/2 the response itself does not say that its stream is gone, and would tell its close no more. */
function isClosed(response: NodeResponse): boolean {
  return "stream" in response ? response.stream.destroyed : response.destroyed;
}

function cut(response: NodeResponse): void {
  if ("stream" in response) response.stream.close(constants.NGHTTP2_CANCEL);
  else response.destroy();
}

function counted(body: AsyncIterable<Uint8Array>, progress: Progress): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      const pieces = body[Symbol.asyncIterator]();
      return {
        next: () => {
          progress.pieces += 1;
          return pieces.next();
        },
        return: (value?: unknown) =>
          pieces.return?.(value) ?? Promise.resolve({ done: true, value: undefined }),
        throw: (error?: unknown) => pieces.throw?.(error) ?? Promise.reject(error),
      };
    },
  };
}
