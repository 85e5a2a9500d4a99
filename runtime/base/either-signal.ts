/**
 * An abort signal that aborts with the first of two, until it is let go. It is made, and the two are listened to, when
 * somebody looks at it.
 */
import type { Stop } from "./late-signal.ts";
import { onAbort } from "./signals.ts";

export class EitherSignal {
  readonly #one: { readonly signal: AbortSignal };
  readonly #other: Stop;
  #made: AbortController | undefined;
  #forgets: readonly (() => void)[] = [];
  #over = false;

  /** @param one - its signal may be made late too. */
  constructor(one: { readonly signal: AbortSignal }, other: Stop) {
    this.#one = one;
    this.#other = other;
  }

  get signal(): AbortSignal {
    if (this.#made !== undefined) return this.#made.signal;
    const made = new AbortController();
    this.#made = made;
    if (!this.#over) {
      const abort = (reason: unknown): void => made.abort(reason);
      this.#forgets = [onAbort(this.#one.signal, abort), onAbort(this.#other, abort)];
    }
    return made.signal;
  }

  /** From now on it aborts no more. */
  over(): void {
    this.#over = true;
    for (const forget of this.#forgets) forget();
    this.#forgets = [];
  }
}
