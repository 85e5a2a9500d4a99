/**
 * One call on a reference, from the moment at which the program makes it until it has its answer, with a deadline
 * that nothing renews.
 *
 * Source: design "Held objects: Parking".
 */
import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { CallOptions } from "../base/calls.ts";
import type { Clock, Timer } from "../base/clock.ts";
import { type Deadline, deadlineAfter } from "../base/deadline.ts";
import { isOnce } from "../base/definition.ts";
import { HoldfastError, reasonError, reasonFrom } from "../base/errors.ts";
import { liveError, liveReasons } from "../base/live-reasons.ts";
import { type Mark, type Outcome, reasons } from "../base/reasons.ts";
import { onAbort } from "../base/signals.ts";
import type { CallableDefinition, ObjectAnswer, ObjectCall } from "./holding.ts";

export interface PendingCallInit {
  readonly member: string;
  readonly definition: CallableDefinition;
  readonly request: Message;
  readonly callId: string | undefined;
  readonly options: CallOptions;
  /** Ms for the whole call. */
  readonly budgetMs: number;
  /** Ms that it may wait for its first sending. */
  readonly readyTimeoutMs: number;
}

/** What the call tells the queue that it stands in. */
export interface PendingCallOwner {
  /** It is over, however it ended; `unanswered`: it was sent, and nobody waits for its answer. */
  over(call: PendingCall, unanswered: boolean): void;
  /** Why the object is not there, as far as that is known. */
  trouble(): string | undefined;
}

export class PendingCall implements ObjectCall {
  readonly member: string;
  readonly definition: CallableDefinition;
  readonly request: Message;
  readonly callId: string | undefined;
  readonly options: CallOptions;
  readonly deadline: Deadline;
  readonly #owner: PendingCallOwner;
  readonly #budgetMs: number;
  readonly #readyTimeoutMs: number;
  readonly #clock: Clock;
  readonly #settle: { resolve(reply: Message): void; reject(error: unknown): void };
  readonly promise: Promise<Message>;
  #timer: Timer | undefined;
  #forgetSignal: () => void = () => undefined;
  readonly #whenOver: (() => void)[] = [];
  /** Whether it is under way to the object at this moment. */
  #sent = false;
  #over = false;
  /** Tells the answer of this sending from that of one before, which comes too late. */
  #sending = 0;
  tries = 0;

  constructor(init: PendingCallInit, clock: Clock, owner: PendingCallOwner) {
    this.member = init.member;
    this.definition = init.definition;
    this.request = init.request;
    this.callId = init.callId;
    this.options = init.options;
    this.#budgetMs = init.budgetMs;
    this.#readyTimeoutMs = Math.min(init.readyTimeoutMs, init.budgetMs);
    this.#clock = clock;
    this.#owner = owner;
    this.deadline = deadlineAfter(clock, init.budgetMs);
    const { promise, resolve, reject } = withResolvers();
    this.promise = promise;
    this.#settle = { resolve, reject };
    this.#forgetSignal = onAbort(init.options.signal, (reason) =>
      this.end(reasonError("ABORTED", undefined, { ...this.#facts(), cause: reason })),
    );
  }

  get isOver(): boolean {
    return this.#over;
  }

  get isSent(): boolean {
    return this.#sent;
  }

  /** Whether it may be given to the object again when nothing answered it. */
  get isRepeatable(): boolean {
    return this.definition.kind !== "command" || isOnce(this.definition);
  }

  whenOver(fn: () => void): void {
    this.#whenOver.push(fn);
  }

  /** It has to wait for its object. */
  park(): void {
    const waitedMs = this.#budgetMs - this.deadline.leftMs();
    // What never ends is not waited for: the time that it has for its first sending counts from now.
    const leftMs = this.#readyTimeoutMs - (Number.isFinite(waitedMs) ? waitedMs : 0);
    this.#setTimer(Math.max(0, leftMs), () => this.end(this.#parkedTooLong()));
  }

  /** It goes to the object. The answer counts unless the call was lost or sent again in between. */
  send(give: (call: ObjectCall) => Promise<ObjectAnswer>): void {
    this.tries += 1;
    this.#sent = true;
    const sending = (this.#sending += 1);
    // The budget runs from the call's moment: what parking took of it is gone.
    if (this.tries === 1) this.#setTimer(this.deadline.leftMs(), () => this.end(this.#budgetEnded()));
    const current = (): boolean => this.#sent && sending === this.#sending;
    let answer: Promise<ObjectAnswer>;
    try {
      answer = give(this);
    } catch (error) {
      answer = Promise.reject(error);
    }
    answer.then(
      (its) => {
        if (current()) this.#answered(its);
      },
      (error: unknown) => {
        if (current()) this.end(reasonError("PROGRAM_FAILED", undefined, { ...this.#facts(), cause: error }));
      },
    );
  }

  /**
   * The object left live, or the connection to it is gone: nothing will answer this sending.
   *
   * @param kept - it had not left yet, so it was no sending.
   */
  lose(kept: boolean): void {
    if (!this.#sent) return;
    this.#sent = false;
    if (kept) {
      this.tries -= 1;
      if (this.tries === 0) this.park();
    } else if (!this.isRepeatable) this.end(reasonError("NO_REPLY", undefined, this.#facts()));
  }

  /** Ends it with an error that is the same for all calls of its reference. */
  endWith(cause: ConnectError): void {
    this.end(
      new HoldfastError(cause.rawMessage, {
        ...this.#facts(),
        reason: reasonFrom(cause),
        code: cause.code,
        details: cause.details,
        cause,
      }),
    );
  }

  /** Ends it because the variant that is bound now lacks its method. */
  endWithoutMember(): void {
    this.end(liveError("NO_SUCH_MEMBER", undefined, this.#facts()));
  }

  end(error: HoldfastError): void {
    if (this.#over) return;
    this.#leave(this.#sent);
    this.#settle.reject(error);
  }

  #answered(answer: ObjectAnswer): void {
    if (this.#over) return;
    this.#leave(false);
    const { result, header, trailer } = answer;
    if ("error" in result) {
      this.#settle.reject(this.#errorOf(result.error, answer.mark));
      return;
    }
    try {
      if (header !== undefined) this.options.onHeader?.(header);
      if (trailer !== undefined) this.options.onTrailer?.(trailer);
      this.#settle.resolve(result.reply);
    } catch (error) {
      this.#settle.reject(error);
    }
  }

  #leave(unanswered: boolean): void {
    this.#over = true;
    this.#sent = false;
    this.#timer?.cancel();
    this.#forgetSignal();
    for (const fn of this.#whenOver) fn();
    this.#owner.over(this, unanswered);
  }

  #setTimer(delayMs: number, fn: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.timer(delayMs, fn);
  }

  #facts(): { callId: string | undefined; tries: number; progress: "parked" | "sent"; outcome: Outcome } {
    const sent = this.tries > 0;
    return {
      callId: this.callId,
      tries: this.tries,
      progress: this.#sent ? "sent" : "parked",
      outcome: sent ? "unknown" : "not-run",
    };
  }

  #errorOf(error: ConnectError, mark: Mark | undefined): HoldfastError {
    const outcome = outcomeOf(mark, this.tries);
    return new HoldfastError(error.rawMessage, {
      callId: this.callId,
      tries: this.tries,
      progress: "answered",
      outcome,
      reason: reasonFrom(error),
      code: error.code,
      metadata: error.metadata,
      details: error.details,
      cause: error,
    });
  }

  #parkedTooLong(): HoldfastError {
    const trouble = this.#owner.trouble();
    const text = `${liveReasons.PARK_TIMEOUT.text} (${this.#readyTimeoutMs} ms)`;
    return liveError("PARK_TIMEOUT", trouble === undefined ? text : `${text}: ${trouble}`, this.#facts());
  }

  /** Once it was sent the budget alone counts; while it waits for another sending it is parked all the same. */
  #budgetEnded(): HoldfastError {
    if (!this.#sent) return this.#parkedTooLong();
    const text = `${reasons.BUDGET_ENDED.text} (budget of ${this.#budgetMs} ms, it may have run)`;
    return reasonError("BUDGET_ENDED", text, this.#facts());
  }
}

/** What an error's mark says of the call. */
function outcomeOf(mark: Mark | undefined, tries: number): Outcome {
  if (mark === undefined || mark === "refused") return "refused";
  // It did not begin, and there was no try before that may have.
  return (mark === "none" || mark === "later") && tries === 1 ? "not-run" : "unknown";
}

/** `Promise.withResolvers`, which the oldest supported Node lacks. */
function withResolvers(): {
  promise: Promise<Message>;
  resolve: (reply: Message) => void;
  reject: (error: unknown) => void;
} {
  let settle: { resolve: (reply: Message) => void; reject: (error: unknown) => void } | undefined;
  const promise = new Promise<Message>((resolve, reject) => {
    settle = { resolve, reject };
  });
  if (settle === undefined) throw new TypeError("a promise calls its executor at once");
  return { promise, ...settle };
}
