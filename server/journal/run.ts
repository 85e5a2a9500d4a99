/**
 * One run of a handler, and the tries that wait for its outcome. A try may leave or be superseded; the run
 * goes on until the handler has ended, whatever becomes of the tries, and only then is it over.
 *
 * Source: design "The journal"; reliability decisions D4, D10.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { waitersPerCallMost } from "../../runtime/base/constants.ts";
import { LateSignal, type Stop } from "../../runtime/base/late-signal.ts";
import type { Answer } from "./answer.ts";
import type { Compared } from "./fingerprint.ts";
import { inProgress, refusal } from "./own-answers.ts";

interface Waiter {
  readonly first: boolean;
  end(answer: Answer): void;
}

/** Makes the answer of one try; the first one is of the try that began the run. */
export type MakeAnswer = (first: boolean) => Answer;

export class Run {
  /** What the run is for, compared with what later tries ask for. */
  readonly request: Compared;
  readonly #handlerMs: number;
  readonly #onLimit: () => void;
  readonly #stop = new LateSignal();
  /** The oldest first. */
  readonly #waiters = new Set<Waiter>();
  /** Ms of the monotonic clock at which the handler is over its limit; undefined once it has ended. */
  dueAt: number | undefined;

  /** @param onLimit - called when the handler has not ended after `handlerMs`; its signal is aborted then. */
  constructor(request: Compared, now: number, handlerMs: number, onLimit: () => void) {
    this.request = request;
    this.dueAt = now + handlerMs;
    this.#handlerMs = handlerMs;
    this.#onLimit = onLimit;
  }

  /** The handler's signal. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  abort(reason: ConnectError): void {
    this.#stop.abort(reason);
  }

  /** `dueAt` has come: the handler is told, and goes on as long as it likes. */
  late(): void {
    this.dueAt = undefined;
    this.#onLimit();
    const text = `the handler's limit of ${this.#handlerMs} ms is over; its outcome counts when it ends`;
    this.abort(new ConnectError(text, Code.DeadlineExceeded));
  }

  /** Waits for the outcome until `waiting` aborts or newer tries need the place. */
  wait(first: boolean, waiting: Stop): Promise<Answer> {
    return new Promise((resolve) => {
      const waiter: Waiter = {
        first,
        end: (answer) => {
          this.#waiters.delete(waiter);
          waiting.removeEventListener("abort", stopWaiting);
          resolve(answer);
        },
      };
      const stopWaiting = (): void => waiter.end(inProgress());
      this.#waiters.add(waiter);
      if (waiting.aborted) {
        stopWaiting();
        return;
      }
      waiting.addEventListener("abort", stopWaiting);
      for (const oldest of this.#waiters) {
        if (this.#waiters.size <= waitersPerCallMost) break;
        oldest.end(refusal("SUPERSEDED"));
      }
    });
  }

  /** The handler has ended: its signal aborts no more, though its outcome may still be on its way to disk. */
  handlerEnded(): void {
    this.dueAt = undefined;
  }

  /** The outcome is durable, or there is none: everybody who waits gets an answer of their own. */
  end(makeAnswer: MakeAnswer): void {
    for (const waiter of this.#waiters) waiter.end(makeAnswer(waiter.first));
  }
}
