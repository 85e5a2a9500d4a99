/**
 * Finds out that a connection is dead which gives no event for it: no byte for `idleMs` of awake time.
 *
 * Bytes feed it, not timers. A page in the background gets its timers once a minute, and a laptop's come hours
 * late: a tick that is twice late says nothing of the connection, so that one probe decides. And whatever has
 * arrived by then is read before anything is judged.
 *
 * It counts while the connection is read; a program that is slow to take items has no dead connection.
 *
 * Source: design "The heartbeat"; reliability decision D45; field case W3.
 */
import type { Clock, Timer } from "../base/clock.ts";

export interface IdleOptions {
  readonly clock: Clock;
  readonly idleMs: number;
  /** Asks the other end for a sign; resolves with whether one came. Absent: only bytes tell. */
  readonly probe: (() => Promise<boolean>) | undefined;
  /** It is dead. Called once. */
  readonly onDead: (why: "idle" | "silent") => void;
}

/** Ticks in one idle time: as often as the other end gives a sign. */
const ticksPerIdle = 3;

export class IdleWatch {
  readonly #options: IdleOptions;
  #lastByteAt: number;
  #timer: Timer | undefined;
  #running = false;
  #asking = false;
  /** Counts bytes' arrivals, to see whether one came since a probe was sent. */
  #fedCount = 0;

  constructor(options: IdleOptions) {
    this.#options = options;
    this.#lastByteAt = options.clock.monotonic();
  }

  /** A byte came at this time of the monotonic clock. Cheap: no timer is set anew. */
  note(atMs: number): void {
    this.#fedCount += 1;
    this.#lastByteAt = atMs;
  }

  /** The connection is read from now on. */
  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.note(this.#options.clock.monotonic());
    this.#schedule(this.#options.idleMs);
  }

  /** Nobody reads, or the connection is over. */
  stop(): void {
    this.#running = false;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** The machine may have slept, or the network changed: a probe decides now. */
  ask(): void {
    if (!this.#running || this.#asking || this.#options.probe === undefined) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    void this.#askNow(this.#options.probe);
  }

  #schedule(silenceLeftMs: number): void {
    const { clock, idleMs } = this.#options;
    const tickMs = Math.min(silenceLeftMs, idleMs / ticksPerIdle);
    const dueAt = clock.monotonic() + tickMs;
    this.#timer = clock.timer(tickMs, () => this.#tick(clock.monotonic() - dueAt >= idleMs / ticksPerIdle));
  }

  #tick(late: boolean): void {
    const leftMs = this.#leftMs();
    if (leftMs > 0) {
      this.#schedule(leftMs);
      return;
    }
    // What came while nobody could look is read first: a turn of the event loop brings it.
    this.#timer = this.#options.clock.timer(0, () => {
      const stillMs = this.#leftMs();
      if (stillMs > 0) this.#schedule(stillMs);
      else if (late && this.#options.probe !== undefined) void this.#askNow(this.#options.probe);
      else this.#dead("idle");
    });
  }

  async #askNow(probe: () => Promise<boolean>): Promise<void> {
    const before = this.#fedCount;
    this.#asking = true;
    const alive = await probe();
    this.#asking = false;
    if (!this.#running) return;
    if (this.#fedCount > before) {
      this.#schedule(this.#leftMs());
    } else if (alive) {
      // The server is there. Whether this connection is, its next sign will tell.
      const { clock, idleMs } = this.#options;
      this.#lastByteAt = Math.max(this.#lastByteAt, clock.monotonic() - idleMs / 2);
      this.#schedule(this.#leftMs());
    } else {
      this.#dead("silent");
    }
  }

  #leftMs(): number {
    const { clock, idleMs } = this.#options;
    return this.#lastByteAt + idleMs - clock.monotonic();
  }

  #dead(why: "idle" | "silent"): void {
    this.stop();
    this.#options.onDead(why);
  }
}
