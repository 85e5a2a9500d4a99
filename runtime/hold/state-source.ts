/**
 * The state of a reference as a program watches it. A loop that waits for its next change keeps the program alive, as
 * one over a value does: a wire reconnects in the background, and would not.
 *
 * Source: design "Held objects: Reference state".
 */
import type { Timer } from "../base/clock.ts";
import type { ReferenceState } from "../base/objects.ts";
import { Source } from "../base/watchable.ts";

export class StateSource extends Source<ReferenceState> {
  readonly #stayAwake: () => Timer;

  /** @param stayAwake - keeps the program alive until it is cancelled. */
  constructor(state: ReferenceState, stayAwake: () => Timer) {
    super(state);
    this.#stayAwake = stayAwake;
  }

  override [Symbol.asyncIterator](): AsyncIterator<ReferenceState, undefined> {
    const changes = super[Symbol.asyncIterator]();
    return {
      next: async () => {
        const awake = this.#stayAwake();
        try {
          return await changes.next();
        } finally {
          awake.cancel();
        }
      },
      return: async () => {
        await changes.return?.();
        return { done: true, value: undefined };
      },
    };
  }
}
