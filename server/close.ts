/**
 * Closing without a storm: new work is refused with a time to come back that differs for each client, streams end
 * normally, connections are told to go one after the other, and what runs may finish.
 *
 *   open ──close()──▶ draining ──all is done, or the time is over──▶ ending ──▶ closed
 *
 * Source: design "No storms"; reliability decision D27.
 */
import type { ConnectError } from "@connectrpc/connect";
import { type Clock, sleep, type Timer } from "../runtime/base/clock.ts";
import { drainSignalMs } from "../runtime/base/constants.ts";
import type { Log } from "../runtime/base/log.ts";
import type { Random } from "../runtime/base/random.ts";
import { type Admission, comeBack } from "./admission.ts";
import type { Listener } from "./http/listen.ts";
import type { Journal } from "./journal/answer.ts";
import type { OpenStreams } from "./streams.ts";
import type { Wires } from "./wire/accept.ts";

export interface CloseOptions {
  /** Ms that running calls get to finish; 0: none, everything is cut at once. Default 25 s. */
  readonly within?: number;
}

export const closeWithinMs = 25_000;

/** How long clients stay away: a millisecond for each, between these. */
export const spreadMsLeast = 1_000;
export const spreadMsMost = 10_000;

/** The time over which the clients of so many connections are spread. */
export function spreadMsOf(connectionCount: number): number {
  return Math.min(spreadMsMost, Math.max(spreadMsLeast, connectionCount));
}

export interface ClosingParts {
  readonly listeners: ReadonlySet<Listener>;
  readonly admission: Admission;
  readonly journal: Journal;
  readonly streams: OpenStreams;
  readonly wires: Pick<Wires, "drain" | "idle" | "close">;
  /** Aborted for the last seconds. */
  readonly shutdown: AbortController;
  /** Ends what else there is: stores, signal handlers. */
  readonly end: () => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The end of a server. */
export class Closing {
  readonly #parts: ClosingParts;
  #spreadMs = spreadMsLeast;
  #closed: Promise<void> | undefined;

  constructor(parts: ClosingParts) {
    this.#parts = parts;
  }

  get draining(): boolean {
    return this.#closed !== undefined;
  }

  /** What new work is refused with; undefined while the server is open. */
  refusal(): ConnectError | undefined {
    return this.draining ? comeBack("DRAINING", this.#apart()) : undefined;
  }

  /** Closes; the second call waits for the first. */
  close(options: CloseOptions = {}): Promise<void> {
    const { within = closeWithinMs } = options;
    if (!(within >= 0))
      return Promise.reject(new RangeError("holdfast: close's within is a number of ms, 0 or more."));
    this.#closed ??= this.#close(within);
    return this.#closed;
  }

  /** A moment inside the spread, another one for everybody. */
  #apart(): number {
    return this.#parts.random.fraction() * this.#spreadMs;
  }

  async #close(withinMs: number): Promise<void> {
    const { admission, listeners, log } = this.#parts;
    this.#spreadMs = spreadMsOf(
      [...listeners].reduce((sum, { connectionCount }) => sum + connectionCount, 0),
    );
    // After this turn: `draining` must be true when those that wait are told.
    await Promise.resolve();
    admission.refuseWaiting(() => comeBack("DRAINING", this.#apart()));
    for (const listener of listeners) listener.drain(() => this.#apart());
    this.#parts.wires.drain(() => this.#apart());
    const timers = this.#endStreams();
    const drained = withinMs > 0 && (await this.#within(withinMs, this.#drained()));
    for (const timer of timers) timer.cancel();
    if (!drained) await this.#abort(withinMs > 0);
    this.#parts.wires.close();
    for (const listener of listeners) await listener.close();
    await this.#parts.end();
    log.info("the server is closed", { drained });
  }

  /** A client that can be told comes back in its own time; for the others their ends are spread. */
  #endStreams(): readonly Timer[] {
    const { streams, clock } = this.#parts;
    return streams.list().flatMap((stream) => {
      if (!stream.resumes) return [clock.timer(this.#apart(), () => stream.end(0))];
      stream.end(this.#apart());
      return [];
    });
  }

  async #drained(): Promise<void> {
    const { listeners, streams, wires } = this.#parts;
    await Promise.all([
      this.#worked(),
      streams.idle(),
      wires.idle(),
      ...[...listeners].map((listener) => listener.emptied()),
    ]);
  }

  async #worked(): Promise<void> {
    await Promise.all([this.#parts.admission.idle(), this.#parts.journal.idle()]);
  }

  async #abort(patient: boolean): Promise<void> {
    const { journal, shutdown, log } = this.#parts;
    journal.abortRunning();
    shutdown.abort(comeBack("DRAINING", this.#apart()));
    if (patient && (await this.#within(drainSignalMs, this.#worked()))) return;
    const runningCount = this.#parts.admission.runningCount;
    if (runningCount > 0) log.warn("the server closes with handlers running", { runningCount });
  }

  /** Whether something came inside a time. */
  async #within(waitMs: number, done: Promise<void>): Promise<boolean> {
    const stop = new AbortController();
    const came = done.then(() => true);
    const late = sleep(this.#parts.clock, waitMs, stop.signal).then(() => false);
    const first = await Promise.race([came, late]);
    stop.abort();
    return first;
  }
}
