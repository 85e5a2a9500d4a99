/**
 * One run of a handler, and the tries that wait for its outcome. A try may leave or be superseded; the run
 * goes on until the handler has ended, whatever becomes of the tries, and only then is it over.
 *
 * Source: design "The journal"; reliability decisions D4, D10.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock, Timer } from "../../runtime/base/clock.ts";
import { waitersPerCallMost } from "../../runtime/base/constants.ts";
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
  /** Made when somebody looks at the signal. */
  #controller: AbortController | undefined;
  #aborted: ConnectError | undefined;
  readonly #limit: Timer;
  /** The oldest first. */
  readonly #waiters = new Set<Waiter>();

  /** @param onLimit - called when the handler has not ended after `handlerMs`; its signal is aborted then. */
  constructor(request: Compared, clock: Clock, handlerMs: number, onLimit: () => void) {
    this.request = request;
    this.#limit = clock.timer(
      handlerMs,
      () => {
        onLimit();
        const text = `the handler's limit of ${handlerMs} ms is over; its outcome counts when it ends`;
        this.abort(new ConnectError(text, Code.DeadlineExceeded));
      },
      { background: true },
    );
  }

  /** The handler's signal. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted);
    }
    return this.#controller.signal;
  }

  abort(reason: ConnectError): void {
    this.#aborted ??= reason;
    this.#controller?.abort(reason);
  }

  /** Waits for the outcome until `waiting` aborts or newer tries need the place. */
  wait(first: boolean, waiting: AbortSignal): Promise<Answer> {
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
      waiting.addEventListener("abort", stopWaiting, { once: true });
      for (const oldest of this.#waiters) {
        if (this.#waiters.size <= waitersPerCallMost) break;
        oldest.end(refusal("SUPERSEDED"));
      }
    });
  }

  /** The handler has ended: its signal aborts no more, though its outcome may still be on its way to disk. */
  handlerEnded(): void {
    this.#limit.cancel();
  }

  /** The outcome is durable, or there is none: everybody who waits gets an answer of their own. */
  end(makeAnswer: MakeAnswer): void {
    for (const waiter of this.#waiters) waiter.end(makeAnswer(waiter.first));
  }
}
