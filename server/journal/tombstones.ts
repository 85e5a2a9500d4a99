/**
 * The IDs of commands that are sent at most once. Their client never sends one twice, but a proxy or a browser
 * may resend it by itself; such copies come within seconds and are refused for ten minutes.
 *
 * Source: reliability decision D13.
 */
import { atMostOnceKeepMs } from "../../runtime/base/constants.ts";

/** About 20 MB. Above it the oldest go: a shorter protection is better than refused work. */
const tombstonesMost = 100_000;

export class Tombstones {
  /** Key to the monotonic instant of its end, in the order of these. */
  readonly #ends = new Map<string, number>();

  /** Sets one up; false when there is one already, so that this is a copy. */
  add(key: string, monotonicMs: number): boolean {
    for (const [oldest, end] of this.#ends) {
      if (end > monotonicMs && this.#ends.size < tombstonesMost) break;
      this.#ends.delete(oldest);
    }
    if (this.#ends.has(key)) return false;
    this.#ends.set(key, monotonicMs + atMostOnceKeepMs);
    return true;
  }

  get count(): number {
    return this.#ends.size;
  }
}
