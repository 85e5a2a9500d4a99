/**
 * One run of a handler, and the tries that wait for its outcome. A try may leave or be superseded; the run
 * goes on until the handler has ended, whatever becomes of the tries, and only then is it over.
 *
 * Source: design "The journal"; reliability decisions D4, D10.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { waitersPerCallMost } from "../../runtime/base/constants.ts";
import { LateSignal, type Stop } from "../../runtime/base/late-signal.ts";
import type { Answer, Running } from "./answer.ts";
import type { Compared } from "./fingerprint.ts";
import { inProgress, refusal } from "./own-answers.ts";

interface Waiter {
  readonly first: boolean;
  end(answer: Answer): void;
}

/** Makes the answer of one try; the first one is of the try that began the run. */
export type MakeAnswer = (first: boolean) => Answer;

/** What a run is of. */
export interface RunOf {
  /** What the run is for, compared with what later tries ask for. */
  readonly request: Compared;
  readonly effects: Pick<Running, "begin" | "transaction">;
  readonly mayHaveRun: boolean;
}

/** What most runs never need is made when it is needed: the signal, and the places of those who wait. */
export class Run implements Running {
  readonly #of: RunOf;
  readonly #handlerMs: number;
  readonly #onLimit: () => void;
  #stop: LateSignal | undefined;
  /** The oldest first. */
  #waiters: Set<Waiter> | undefined;
  /** Ms of the monotonic clock at which the handler is over its limit; undefined once it has ended. */
  dueAt: number | undefined;

  /** @param onLimit - called when the handler has not ended after `handlerMs`; its signal is aborted then. */
  constructor(of: RunOf, now: number, handlerMs: number, onLimit: () => void) {
    this.#of = of;
    this.dueAt = now + handlerMs;
    this.#handlerMs = handlerMs;
    this.#onLimit = onLimit;
  }

  get request(): Compared {
    return this.#of.request;
  }

  get mayHaveRun(): boolean {
    return this.#of.mayHaveRun;
  }

  /** The handler's signal. */
  get signal(): AbortSignal {
    return this.#late.signal;
  }

  // Functions that need no `this`, so that whoever gets them may take them apart.
  get begin(): Running["begin"] {
    return () => this.#of.effects.begin();
  }

  get transaction(): Running["transaction"] {
    return (write) => this.#of.effects.transaction(write);
  }

  abort(reason: ConnectError): void {
    this.#late.abort(reason);
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
    this.#waiters ??= new Set();
    const waiters = this.#waiters;
    return new Promise((resolve) => {
      const waiter: Waiter = {
        first,
        end: (answer) => {
          waiters.delete(waiter);
          waiting.removeEventListener("abort", stopWaiting);
          resolve(answer);
        },
      };
      const stopWaiting = (): void => waiter.end(inProgress());
      waiters.add(waiter);
      if (waiting.aborted) {
        stopWaiting();
        return;
      }
      waiting.addEventListener("abort", stopWaiting);
      for (const oldest of waiters) {
        if (waiters.size <= waitersPerCallMost) break;
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
    if (this.#waiters === undefined) return;
    for (const waiter of this.#waiters) waiter.end(makeAnswer(waiter.first));
  }

  get #late(): LateSignal {
    this.#stop ??= new LateSignal();
    return this.#stop;
  }
}
