/**
 * What people ask of each other: in the memory of this process, and for a few minutes, since a question that nobody
 * heard in time is better asked again.
 */

/** How long a nudge waits for somebody who is not there. */
const nudgeKeepMs = 5 * 60_000;
/** For one person; the oldest goes. */
const nudgeCountMost = 20;

/** What somebody asks: the message `Ask` of the schema. */
export interface Nudge {
  readonly number: number;
  readonly id: string;
  readonly by: string;
}

export class Nudges {
  readonly #byHolder = new Map<string, (Nudge & { readonly atMs: number })[]>();
  #lastNumber = 0;

  add(holder: string, id: string, by: string, nowMs: number): void {
    this.#lastNumber += 1;
    const waiting = this.#byHolder.get(holder) ?? [];
    waiting.push({ number: this.#lastNumber, id, by, atMs: nowMs });
    this.#byHolder.set(holder, waiting.slice(-nudgeCountMost));
  }

  /**
   * What a person's program has not shown yet. The reply that carries it may be lost, so it is given again until a
   * heartbeat says up to where it was shown.
   */
  for(holder: string, shownUpTo: number, nowMs: number): Nudge[] {
    const waiting = (this.#byHolder.get(holder) ?? []).filter(({ atMs }) => nowMs - atMs < nudgeKeepMs);
    if (waiting.length === 0) this.#byHolder.delete(holder);
    else this.#byHolder.set(holder, waiting);
    // A program that outlived the process knows higher numbers than there are.
    const shown = shownUpTo > this.#lastNumber ? 0 : shownUpTo;
    return waiting.filter(({ number }) => number > shown);
  }
}
