/**
 * What clients have said to be settled while calls of their lanes run here. The store learns it with the next
 * call that it keeps; until then a late copy of a settled call would pass, so it is remembered here as well.
 * Nothing is remembered of a lane without a running call, so this is as small as what runs.
 *
 * Source: reliability decision D3.
 */
import { LaneNames } from "../store/lane-names.ts";

export class Settled {
  readonly #names = new LaneNames();
  readonly #lanes = new Map<string, { watermark: number; callCount: number }>();

  /** A call of the lane begins and says up to where the lane is settled. Ends with one {@link leave}. */
  enter(space: string, lane: string, settled: number): void {
    const key = this.#names.of(space, lane);
    const known = this.#lanes.get(key) ?? { watermark: 0, callCount: 0 };
    known.watermark = Math.max(known.watermark, settled);
    known.callCount += 1;
    this.#lanes.set(key, known);
  }

  /** A call of the lane is over, and what it said is in the store if anything is. */
  leave(space: string, lane: string): void {
    const key = this.#names.of(space, lane);
    const known = this.#lanes.get(key);
    if (known === undefined) return;
    known.callCount -= 1;
    if (known.callCount === 0) this.#lanes.delete(key);
  }

  /** Up to where the lane is settled, by the word of the calls that run; 0 without any. */
  watermark(space: string, lane: string): number {
    return this.#lanes.get(this.#names.of(space, lane))?.watermark ?? 0;
  }

  /** Lanes with a running call. */
  get laneCount(): number {
    return this.#lanes.size;
  }
}
