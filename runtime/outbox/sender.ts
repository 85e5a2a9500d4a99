/**
 * Sends what waits: one entry after the other, in their order, while this process holds the outbox's lock. An
 * entry whose call is under way here is not sent by it: the call gets the turn, and sends itself. A fault stops
 * the sending, so that the order holds; it goes on after a wait, or when the link is up.
 *
 * Source: design "The outbox"; reliability decisions D35-D37.
 */
import type { Clock } from "../base/clock.ts";
import { idleProbeWaitMsMost, outboxLockEveryMs } from "../base/constants.ts";
import { HoldfastError } from "../base/errors.ts";
import type { Stop } from "../base/late-signal.ts";
import { untilAborted } from "../base/signals.ts";
import { backoffMs } from "../call/backoff.ts";
import type { CallEnvironment } from "../call/call-environment.ts";
import { isSignInRefused, noServerError } from "./errors.ts";
import type { OutboxLease, OutboxStore } from "./outbox-store.ts";
import { promised } from "./promised.ts";
import type { Seat } from "./seat.ts";
import { nextSenderState, type SenderEvent, type SenderState, senderAtFirst } from "./sender-state.ts";
import type { Shelf, Shelved } from "./shelf.ts";

/** What became of an entry that the sender has sent. */
export type SendEnd =
  | { readonly kind: "left" }
  /** It could not be read or had left: the next one. */
  | { readonly kind: "gone" }
  /** It cannot be sent by this program: the others go on without it. */
  | { readonly kind: "skipped" }
  | { readonly kind: "stays"; readonly error: HoldfastError; readonly pauses: boolean };

export interface SenderOptions {
  readonly env: CallEnvironment;
  readonly store: OutboxStore;
  readonly shelf: Shelf;
  /** Sends one entry, until it has left, a fault, or the signal's abort. */
  readonly send: (entry: Shelved, signal: AbortSignal) => Promise<SendEnd>;
  /** After a look at the store: what this process made may have been sent by another one. */
  readonly looked: () => Promise<void>;
}

/** What runs under the lock between two entries. */
interface Job {
  readonly run: () => Promise<void>;
  readonly done: () => void;
}

/** An abort is told this much later at most, where another process has the lock. */
const aloneWaitMs = 2 * outboxLockEveryMs;

export class Sender {
  readonly #options: SenderOptions;
  readonly #seats = new Map<string, Seat>();
  readonly #jobs: Job[] = [];
  readonly #skipped = new Set<string>();
  readonly #closing = new AbortController();
  #state: SenderState = senderAtFirst;
  #running: Promise<void> | undefined;
  #again = false;
  /** What stopped the sending last. */
  #stopError: unknown;
  /** Programs that wait for a sending, and are kept alive for it. */
  #attendedCount = 0;
  /** Cuts what is being sent on nobody's behalf. */
  #cut = new AbortController();
  #timer: { cancel(): void } | undefined;
  #changed = promised<undefined>();
  /** While this process has the lock. */
  #lease: OutboxLease | undefined;

  constructor(options: SenderOptions) {
    this.#options = options;
    options.shelf.entries.subscribe(() => this.#tick());
  }

  get state(): SenderState {
    return this.#state;
  }

  seatOf(name: string): Seat | undefined {
    return this.#seats.get(name);
  }

  sit(seat: Seat): void {
    this.#seats.set(seat.name, seat);
  }

  stand(seat: Seat): void {
    if (this.#seats.get(seat.name) === seat) this.#seats.delete(seat.name);
  }

  /** Something may wait: sends it, unless a fault has just stopped the sending. */
  prompt(): void {
    if (this.#state.kind === "stopped" && !isNoServer(this.#state.error)) return;
    void this.wake();
  }

  /** Sends now. Resolves when nothing waits any more, or something keeps it from going on. */
  wake(): Promise<void> {
    this.#move({ kind: "wake" });
    if (this.#state.kind === "closed") return Promise.resolve();
    this.#again = true;
    this.#running ??= this.#run();
    return this.#running;
  }

  /** {@link wake} for a program that waits for its end. */
  async attended(): Promise<void> {
    this.#attendedCount += 1;
    try {
      await this.wake();
    } finally {
      this.#attendedCount -= 1;
    }
  }

  /** A command has gone in whose sign-in the server does not accept. */
  async pause(error: HoldfastError): Promise<void> {
    if (!isSignInRefused(error)) return;
    await this.#stays(error, true);
    await this.#afterPause();
  }

  /** Another person, or the same one again: what was paused goes on. */
  signedIn(): void {
    this.#move({ kind: "signed-in" });
    void this.wake();
  }

  /** Methods are known now that were not: what could not be sent may be sent now. */
  unskip(): void {
    this.#skipped.clear();
  }

  /**
   * Runs it while no other process can begin to send; false when that cannot be had within a moment. What a seat here
   * has the turn for may be under way beside it.
   */
  async alone(run: () => Promise<void>): Promise<boolean> {
    if (this.#lease?.lost.aborted === false) {
      await run();
      return true;
    }
    const limit = new AbortController();
    const timer = this.#options.env.clock.timer(aloneWaitMs, () => limit.abort());
    try {
      return await this.exclusively(run, limit.signal);
    } finally {
      timer.cancel();
    }
  }

  /** Runs it under the lock, with nothing being sent; false when the lock was not to be had. */
  async exclusively(run: () => Promise<void>, signal: AbortSignal): Promise<boolean> {
    const done = promised<true>();
    const job: Job = { run, done: () => done.resolve(true) };
    this.#jobs.push(job);
    this.#cut.abort();
    void this.wake();
    try {
      return await untilAborted(done.promise, signal);
    } catch {
      const at = this.#jobs.indexOf(job);
      if (at < 0) return done.promise; // it has begun
      this.#jobs.splice(at, 1);
      return false;
    }
  }

  /**
   * Resolves when every entry before this name has left, or when they are paused: then who comes later goes on.
   *
   * @throws the signal's reason; the stop's error when there is no server at all.
   */
  async clear(name: string, signal: Stop): Promise<void> {
    const seen = this.#stopError;
    for (;;) {
      if (this.#state.kind === "closed" || !this.#isBlocked(name)) return;
      if (this.#stopError !== seen && isNoServer(this.#stopError)) throw noServerError(this.#stopError);
      if (this.#state.kind !== "sending") this.prompt();
      await untilAborted(this.#changed.promise, signal);
    }
  }

  /** Ends the sending. Resolves when nothing of it runs any more. */
  async close(): Promise<void> {
    this.#move({ kind: "close" });
    this.#closing.abort();
    this.#cut.abort();
    this.#tick();
    await this.#running;
  }

  #isBlocked(name: string): boolean {
    const { shelf } = this.#options;
    return shelf.entries.value.some(
      (entry) =>
        entry.name < name &&
        !this.#skipped.has(entry.name) &&
        (this.#state.pause === undefined || this.#seats.has(entry.name)),
    );
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#closing.signal.aborted) {
      this.#again = false;
      this.#move({ kind: "begin" });
      try {
        await this.#resume();
        const error = await this.#underLock();
        this.#move(error === undefined ? { kind: "done" } : { kind: "fault", error });
      } catch (error) {
        this.#options.env.log.error("outbox: the store could not do what was asked", { error });
        this.#move({ kind: "fault", error });
      }
      if (this.#state.kind !== "stopped") {
        void this.#afterPause();
        continue;
      }
      // Whoever asked meanwhile would meet the same fault: the wait that follows is for them too.
      this.#again = false;
      this.#afterStop(this.#state.error);
    }
    // In the turn of the last look at `again`: a wake that comes later starts anew.
    this.#running = undefined;
  }

  /** A fault stopped it: who need not wait learns that, and a timer goes on. */
  #afterStop(error: unknown): void {
    const { env } = this.#options;
    this.#stopError = error;
    this.#tick();
    if (isNoServer(error)) for (const seat of this.#seats.values()) seat.stop(noServerError(error));
    this.#goOnWithin(this.#seats.size > 0 ? env.timing.waitMsMost : idleProbeWaitMsMost);
  }

  /** The more often it has failed, the later. */
  #goOnWithin(mostMs: number): void {
    const { env } = this.#options;
    const waitMs = backoffMs(this.#state.failures, env.timing.firstWaitMs, mostMs, env.random);
    this.#timer = env.clock.timer(waitMs, () => void this.wake(), { background: true });
  }

  /**
   * The refused token may have run out while the entry was sent: a source that has another one is not waited for, and
   * the sending goes on with it after a wait.
   */
  async #afterPause(): Promise<void> {
    const { env } = this.#options;
    const { pause } = this.#state;
    if (pause?.token === undefined || !isSignInRefused(pause.error)) return;
    const signal = AbortSignal.any([env.ending, this.#closing.signal]);
    const token = await env.signIn.refresh(pause.token, signal).catch(() => pause.token);
    if (this.#state.pause !== pause || this.#running !== undefined || token === pause.token) return;
    this.#goOnWithin(idleProbeWaitMsMost);
  }

  async #underLock(): Promise<unknown> {
    await this.#look();
    const lease = await this.#acquire();
    if (lease === undefined) return undefined;
    this.#lease = lease;
    try {
      await this.#look();
      for (;;) {
        if (this.#closing.signal.aborted) return undefined;
        if (lease.lost.aborted) {
          this.#again = true;
          return undefined;
        }
        // Nobody else takes anything out while the lock is held, and a whole look for each of a thousand is dear.
        await this.#options.shelf.glance();
        await this.#options.looked();
        await this.#runJobs();
        const next = this.#next();
        if (next === undefined) return undefined;
        const error =
          "seat" in next ? await this.#letGo(next.seat, lease) : await this.#send(next.entry, lease);
        if (error !== undefined) return error;
      }
    } finally {
      for (const seat of this.#seats.values()) seat.revoke();
      this.#lease = undefined;
      await lease.release();
    }
  }

  async #look(): Promise<void> {
    await this.#options.shelf.scan();
    await this.#options.looked();
  }

  /** The lock, as soon as it is free; undefined when nothing waits any more. */
  async #acquire(): Promise<OutboxLease | undefined> {
    const { env, store } = this.#options;
    while (!this.#closing.signal.aborted && (this.#jobs.length > 0 || this.#next() !== undefined)) {
      const lease = await store.lock();
      if (lease !== undefined) return lease;
      await sleepUnless(this.#closing.signal, env.clock, outboxLockEveryMs, this.#attendedCount === 0);
      await this.#look();
    }
    return undefined;
  }

  /** What is to be sent next: a call under way whose entry has left first, since it only waits for its reply. */
  #next(): { readonly seat: Seat } | { readonly entry: Shelved } | undefined {
    const { shelf } = this.#options;
    for (const seat of this.#seats.values()) if (!shelf.has(seat.name)) return { seat };
    for (const entry of shelf.entries.value) {
      const seat = this.#seats.get(entry.name);
      if (seat !== undefined) return { seat };
      if (this.#state.pause === undefined && !this.#skipped.has(entry.name)) return { entry };
    }
    return undefined;
  }

  /** A call under way has the turn until it is over or the lock is lost. */
  async #letGo(seat: Seat, lease: OutboxLease): Promise<unknown> {
    const { shelf } = this.#options;
    const elsewhere = shelf.has(seat.name) ? undefined : await shelf.takeNote(seat.stamp.callId);
    if (elsewhere === undefined) seat.grant();
    else seat.settledElsewhere(elsewhere);
    const lost = promised<undefined>();
    const lose = (): void => lost.resolve(undefined);
    if (lease.lost.aborted) lose();
    lease.lost.addEventListener("abort", lose, { once: true });
    const end = await Promise.race([seat.end, lost.promise]);
    lease.lost.removeEventListener("abort", lose);
    if (end === undefined) seat.revoke();
    if (end?.kind !== "stays") return undefined;
    return this.#stays(end.error, end.fate === "pauses");
  }

  async #send(entry: Shelved, lease: OutboxLease): Promise<unknown> {
    this.#cut = new AbortController();
    const cut = AbortSignal.any([this.#cut.signal, lease.lost, this.#closing.signal]);
    const end = await this.#options.send(entry, cut);
    if (end.kind === "skipped") this.#skipped.add(entry.name);
    if (end.kind !== "stays" || cut.aborted) return undefined;
    return this.#stays(end.error, end.pauses);
  }

  async #stays(error: HoldfastError, pauses: boolean): Promise<unknown> {
    if (!pauses) return error;
    // Another call may have asked for a fresh one meanwhile, which nobody has refused.
    const token = isSignInRefused(error) ? this.#options.env.signIn.refused : await this.#token();
    this.#move({ kind: "signed-out", pause: { token, error } });
    return undefined;
  }

  /** Another token than the refused one ends a pause. */
  async #resume(): Promise<void> {
    const { pause } = this.#state;
    if (pause !== undefined && (await this.#token()) !== pause.token) this.#move({ kind: "signed-in" });
  }

  /** The token of now; undefined without one, and while nobody is signed in. */
  async #token(): Promise<string | undefined> {
    const { signIn, ending } = this.#options.env;
    return signIn.token(AbortSignal.any([ending, this.#closing.signal])).catch(() => undefined);
  }

  async #runJobs(): Promise<void> {
    for (const job of this.#jobs.splice(0)) {
      await job.run();
      job.done();
    }
  }

  #move(event: SenderEvent): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const before = this.#state;
    this.#state = nextSenderState(before, event);
    if (this.#state !== before) this.#tick();
  }

  #tick(): void {
    const changed = this.#changed;
    this.#changed = promised();
    changed.resolve(undefined);
  }
}

function isNoServer(error: unknown): error is HoldfastError {
  return error instanceof HoldfastError && error.reason === "NO_SERVER";
}

/** A wait for another process keeps a program alive only where that program waits for it too. */
function sleepUnless(signal: AbortSignal, clock: Clock, delayMs: number, background: boolean): Promise<void> {
  const { promise, resolve } = promised<undefined>();
  const end = (): void => resolve(undefined);
  const timer = clock.timer(delayMs, end, { background });
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  return promise.then(() => {
    timer.cancel();
    signal.removeEventListener("abort", end);
  });
}
