/**
 * Admission: how many handlers run at once, for one caller and in all. A request waits for its turn before its
 * body is read, inside its own deadline, and is sent away when too many wait already.
 *
 * A try that is likely to be a repeat, and a heartbeat, do not wait here: a repeat joins its call or is answered
 * from the journal and costs next to nothing, and shedding it saves nothing. It takes its turn only if the
 * journal turns out to run it.
 *
 * Source: reliability decision D26.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock, Timer } from "../runtime/base/clock.ts";
import { retryDetail } from "../runtime/base/errors.ts";
import type { Stop } from "../runtime/base/late-signal.ts";
import { serverError } from "../runtime/base/server-reasons.ts";
import type { Random } from "../runtime/base/random.ts";
import { type AdmissionLimits, AdmissionState } from "./admission-state.ts";

/** A request's turn to run its handler. */
export interface Turn {
  /** Takes the turn if it need not be waited for, or is taken already; false: {@link start} waits, or says no. */
  startNow(): boolean;
  /**
   * Resolves when the handler may start, and at once when the turn is taken already.
   *
   * @throws HoldfastError OVERLOADED, or DRAINING, or a ConnectError when the client waits no longer.
   */
  start(): Promise<void>;
  /** The handler has ended, or will not run. More than once is once. */
  leave(): void;
}

/** When a request waits no longer. */
export interface Patience {
  readonly stop: Stop;
  /** Ms of the monotonic clock. */
  readonly deadline: number | undefined;
}

/** For what is not counted. */
export const freeTurn: Turn = {
  startNow: () => true,
  start: () => Promise.resolve(),
  leave: () => undefined,
};

/** A client that was sent away comes back after a time between these. */
const comeBackMsLeast = 1_000;
const comeBackMsMost = 5_000;

export class Admission {
  readonly #state: AdmissionState<() => void>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #stops = new Set<(error: ConnectError) => void>();
  #idle: (() => void)[] = [];

  constructor(parts: { readonly limits: AdmissionLimits; readonly clock: Clock; readonly random: Random }) {
    this.#state = new AdmissionState(parts.limits);
    this.#clock = parts.clock;
    this.#random = parts.random;
  }

  /** How many handlers run now. */
  get runningCount(): number {
    return this.#state.runningCount;
  }

  get waitingCount(): number {
    return this.#state.waitingCount;
  }

  /** The turn of one request of a caller. */
  turn(caller: string, patience: Patience): Turn {
    return new CountedTurn(caller, patience, this);
  }

  /** Sends away all that wait. */
  refuseWaiting(error: () => ConnectError): void {
    this.#state.dropAll();
    for (const stop of [...this.#stops]) stop(error());
  }

  /** Resolves when no handler runs. */
  idle(): Promise<void> {
    if (this.#state.runningCount === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Takes a place if one is free now; each is given back by {@link leave}. */
  enterNow(caller: string): boolean {
    return this.#state.enterNow(caller);
  }

  /** Takes a place, waiting for it; rejects when it is not to be had. */
  enter(caller: string, patience: Patience): Promise<void> {
    return new Promise((resolve, reject) => {
      let timer: Timer | undefined;
      const settle = (): void => {
        timer?.cancel();
        patience.stop.removeEventListener("abort", gone);
        this.#stops.delete(stop);
      };
      const started = (): void => {
        settle();
        resolve();
      };
      const stop = (error: ConnectError): void => {
        settle();
        this.#state.drop(caller, started);
        reject(error);
      };
      const gone = (): void => stop(new ConnectError("the client is gone", Code.Canceled));
      if (patience.stop.aborted) {
        gone();
        return;
      }
      const place = this.#state.enter(caller, started);
      if (place === "run") started();
      else if (place === "shed") stop(this.#overloaded());
      else {
        this.#stops.add(stop);
        patience.stop.addEventListener("abort", gone);
        if (patience.deadline === undefined) return;
        const late = (): void =>
          stop(new ConnectError("the deadline passed before the call's turn came", Code.DeadlineExceeded));
        timer = this.#clock.timer(patience.deadline - this.#clock.monotonic(), late, { background: true });
      }
    });
  }

  leave(caller: string): void {
    for (const start of this.#state.leave(caller)) start();
    if (this.#state.runningCount > 0 || this.#idle.length === 0) return;
    const waiting = this.#idle;
    this.#idle = [];
    for (const resolve of waiting) resolve();
  }

  #overloaded(): ConnectError {
    const waitMs = comeBackMsLeast + this.#random.fraction() * (comeBackMsMost - comeBackMsLeast);
    return comeBack("OVERLOADED", waitMs);
  }
}

class CountedTurn implements Turn {
  readonly #caller: string;
  readonly #patience: Patience;
  readonly #admission: Admission;
  #inside = false;

  constructor(caller: string, patience: Patience, admission: Admission) {
    this.#caller = caller;
    this.#patience = patience;
    this.#admission = admission;
  }

  startNow(): boolean {
    this.#inside ||= !this.#patience.stop.aborted && this.#admission.enterNow(this.#caller);
    return this.#inside;
  }

  async start(): Promise<void> {
    if (this.startNow()) return;
    await this.#admission.enter(this.#caller, this.#patience);
    this.#inside = true;
  }

  leave(): void {
    if (!this.#inside) return;
    this.#inside = false;
    this.#admission.leave(this.#caller);
  }
}

/** An error that says when to come back, in the words of every protocol. */
export function comeBack(reason: "OVERLOADED" | "DRAINING" | "JOURNAL_FULL", waitMs: number): ConnectError {
  return serverError(reason, undefined, {
    metadata: { "retry-after": `${Math.ceil(waitMs / 1000)}` },
    details: [retryDetail(waitMs)],
  });
}
