/**
 * Frames for a holder whose wire is full: only the newest value of each state waits, and goes out when there is room
 * again. What waits is bounded by what the object itself has.
 *
 * Source: design "Wire: State deltas".
 */
import type { Clock, Timer } from "../base/clock.ts";
import type { Change } from "../delta/operation.ts";
import type { ServerEnd } from "../wire/server-end.ts";

/** A wire does not say when there is room: it is looked at this often while something waits. */
const lookEveryMs = 20;
/** Frames after which it is looked whether there still is. */
const sliceCount = 64;

/** Whose frames wait. */
export interface SlowHolder {
  frame(member: string, change: Change): void;
}

export class SlowFrames {
  readonly #end: ServerEnd;
  readonly #clock: Clock;
  readonly #waiting = new Map<SlowHolder, Map<string, Change>>();
  #timer: Timer | undefined;

  constructor(end: ServerEnd, clock: Clock) {
    this.#end = end;
    this.#clock = clock;
  }

  /** Takes a change that has to wait; false: it may go out now. */
  take(holder: SlowHolder, member: string, change: Change): boolean {
    const waiting = this.#waiting.get(holder);
    // No value overtakes an older one of its state.
    if (!this.#end.slow && waiting?.has(member) !== true) return false;
    if (waiting === undefined) this.#waiting.set(holder, new Map([[member, change]]));
    else waiting.set(member, change);
    this.#timer ??= this.#lookLater();
    return true;
  }

  /** What waited is out of date: the holder is told something else in its place. */
  forget(holder: SlowHolder): void {
    this.#waiting.delete(holder);
  }

  close(): void {
    this.#timer?.cancel();
    this.#waiting.clear();
  }

  #lookLater(): Timer {
    return this.#clock.timer(lookEveryMs, () => this.#look(), { background: true });
  }

  #look(): void {
    this.#timer = undefined;
    let count = 0;
    for (const [holder, changes] of this.#waiting) {
      if (this.#end.slow) break;
      this.#waiting.delete(holder);
      for (const [member, change] of changes) holder.frame(member, change);
      count += changes.size;
      if (count < sliceCount) continue;
      count = 0;
      this.#end.flush();
    }
    if (this.#waiting.size > 0) this.#timer = this.#lookLater();
  }
}
