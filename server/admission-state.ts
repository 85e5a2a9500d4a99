/**
 * Who may run and who waits: counts and queues alone, without a clock or a promise.
 *
 * One caller must not starve the others, so each has its own limits, and callers that wait take turns.
 *
 * Source: design "Quality: Security"; reliability decision D26.
 */
import type { Limits } from "../runtime/base/limits.ts";

export type AdmissionLimits = Pick<
  Limits,
  "runningPerCallerMost" | "waitingPerCallerMost" | "runningMost" | "waitingMost"
>;

const nobody: readonly never[] = [];

/** How many requests of a caller run. */
interface Running {
  readonly caller: string;
  count: number;
}

/** `T` is what the caller of this class knows a request by. */
export class AdmissionState<T> {
  readonly #limits: AdmissionLimits;
  readonly #running = new Map<string, Running>();
  /** Who ran last keeps its count: calls come in rows of one caller, and each would make and drop it anew. */
  #last: Running | undefined;
  /** Requests that wait, by caller; the callers in the order of their next turn. */
  readonly #queues = new Map<string, Set<T>>();
  #runningCount = 0;
  #waitingCount = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  get runningCount(): number {
    return this.#runningCount;
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** A request comes: it runs, waits, or is sent away. */
  enter(caller: string, request: T): "run" | "wait" | "shed" {
    const queue = this.#queues.get(caller);
    if (queue === undefined && this.#hasRoom(caller)) {
      this.#run(caller);
      return "run";
    }
    const full = this.#waitingCount >= this.#limits.waitingMost;
    if (full || (queue?.size ?? 0) >= this.#limits.waitingPerCallerMost) return "shed";
    this.#waitingCount += 1;
    if (queue === undefined) this.#queues.set(caller, new Set([request]));
    else queue.add(request);
    return "wait";
  }

  /** A request comes and runs, if it need not wait. */
  enterNow(caller: string): boolean {
    if (this.#queues.has(caller) || !this.#hasRoom(caller)) return false;
    this.#run(caller);
    return true;
  }

  /** A request that ran is over; gives those that run now. */
  leave(caller: string): readonly T[] {
    const running = this.#of(caller);
    if (running === undefined || running.count === 0) return nobody;
    running.count -= 1;
    if (running.count === 0 && running !== this.#last) this.#running.delete(caller);
    this.#runningCount -= 1;
    return this.#queues.size === 0 ? nobody : this.#next();
  }

  /** A request that waits gives up. */
  drop(caller: string, request: T): void {
    const queue = this.#queues.get(caller);
    if (queue?.delete(request) !== true) return;
    this.#waitingCount -= 1;
    if (queue.size === 0) this.#queues.delete(caller);
  }

  /** All that wait, which wait no longer. */
  dropAll(): T[] {
    const all = [...this.#queues.values()].flatMap((queue) => [...queue]);
    this.#queues.clear();
    this.#waitingCount = 0;
    return all;
  }

  #next(): T[] {
    const started: T[] = [];
    for (const [caller, queue] of [...this.#queues]) {
      if (this.#runningCount >= this.#limits.runningMost) break;
      if (!this.#hasRoom(caller)) continue;
      const [request] = queue;
      if (request === undefined) continue;
      this.drop(caller, request);
      this.#run(caller);
      started.push(request);
      // Behind the others, if it has more.
      if (queue.size > 0) {
        this.#queues.delete(caller);
        this.#queues.set(caller, queue);
      }
    }
    return started;
  }

  #hasRoom(caller: string): boolean {
    const { runningPerCallerMost, runningMost } = this.#limits;
    return this.#runningCount < runningMost && (this.#of(caller)?.count ?? 0) < runningPerCallerMost;
  }

  #run(caller: string): void {
    let running = this.#of(caller);
    if (running === undefined) {
      running = { caller, count: 0 };
      this.#running.set(caller, running);
    }
    running.count += 1;
    this.#runningCount += 1;
    const last = this.#last;
    if (last === running) return;
    this.#last = running;
    if (last?.count === 0) this.#running.delete(last.caller);
  }

  #of(caller: string): Running | undefined {
    const last = this.#last;
    return last?.caller === caller ? last : this.#running.get(caller);
  }
}
