/**
 * How a program hears of items that it cannot get: by its callback and the counters, and by what its `gaps` says.
 *
 * Source: design "Streams: The client".
 */
import { liveError } from "../base/live-reasons.ts";
import type { Gap, GapMode } from "../base/streams.ts";

export class GapTeller {
  lostCount = 0;
  restartCount = 0;
  readonly #mode: GapMode;
  readonly #onGap: ((gap: Gap) => void) | undefined;

  constructor(mode: GapMode, onGap: ((gap: Gap) => void) | undefined) {
    this.#mode = mode;
    this.#onGap = onGap;
  }

  /**
   * The loop has come to a gap.
   *
   * @returns what the loop gets in its place; undefined: nothing, it goes on.
   * @throws HoldfastError ITEMS_LOST where the program asked for it; what `onGap` throws.
   */
  tell(gap: Gap): Gap | undefined {
    if (gap.$gap === "lost") this.lostCount += gap.count;
    else this.restartCount += 1;
    this.#onGap?.(gap);
    if (this.#mode === "throw") throw liveError("ITEMS_LOST", textOf(gap));
    return this.#mode === "yield" ? gap : undefined;
  }
}

function textOf(gap: Gap): string {
  if (gap.$gap === "restarted") return "the stream's numbering began anew: what lay between is not known";
  return `the server no longer has ${gap.count === 1 ? "1 item" : `${gap.count} items`} of this stream`;
}
