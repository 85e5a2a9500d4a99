/**
 * Finds out that a peer is gone. A connection whose other end lost its network gives no event for a quarter
 * of an hour: Node and the system go on waiting. So while something is awaited and no byte comes, the peer
 * is asked for a sign.
 *
 * Source: design "No storms"; decision "Own the HTTP/2 session".
 */
import type { Clock, Timer } from "../base/clock.ts";

export interface PingWatchOptions {
  readonly clock: Clock;
  /** Ms without a byte after which the peer is asked. */
  readonly afterMs: () => number;
  /** Ms that it has for its answer. */
  readonly answerMs: number;
  /** Asks; the function is called with whether an answer came. May throw when the connection is over. */
  readonly ping: (answered: (ok: boolean) => void) => void;
  /** No sign came: the connection is dead. */
  readonly onSilent: () => void;
}

export class PingWatch {
  readonly #options: PingWatchOptions;
  #lastByteAt: number;
  #timer: Timer | undefined;

  constructor(options: PingWatchOptions) {
    this.#options = options;
    this.#lastByteAt = options.clock.monotonic();
  }

  /** The monotonic instant of the last sign of the peer. */
  get lastByteAt(): number {
    return this.#lastByteAt;
  }

  /** A byte came. Cheap: no timer is set anew. */
  note(): void {
    this.#lastByteAt = this.#options.clock.monotonic();
  }

  /** Something is awaited from now on. What was quiet before counts from now. */
  start(): void {
    this.note();
    if (this.#timer === undefined) this.#look(this.#options.afterMs());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Asks now; gives whether a sign came inside `waitMs`. */
  ask(waitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.timer(waitMs, () => resolve(false), { background: true });
      this.#ping((ok) => {
        timer.cancel();
        resolve(ok);
      });
    });
  }

  #look(waitMs: number): void {
    this.#timer = this.#options.clock.timer(
      waitMs,
      () => {
        const { clock, afterMs, answerMs, onSilent } = this.#options;
        const leftMs = this.#lastByteAt + afterMs() - clock.monotonic();
        if (leftMs > 0) {
          this.#look(leftMs);
          return;
        }
        const askedAt = clock.monotonic();
        this.#timer = clock.timer(
          answerMs,
          () => {
            this.#timer = undefined;
            // A byte of a stream is as good a sign as the answer.
            if (this.#lastByteAt > askedAt) this.#look(afterMs());
            else onSilent();
          },
          { background: true },
        );
        this.#ping((ok) => {
          if (!ok || this.#timer === undefined) return;
          this.#timer.cancel();
          this.#look(afterMs());
        });
      },
      { background: true },
    );
  }

  #ping(answered: (ok: boolean) => void): void {
    try {
      this.#options.ping((ok) => {
        if (ok) this.note();
        answered(ok);
      });
    } catch {
      answered(false); // the connection is over, and its own events say so
    }
  }
}
