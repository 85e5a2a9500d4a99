/**
 * A command with an outbox, in its place among the calls of its reference. The link's own call loop sends it, to the
 * object's path: it is kept in the outbox whatever becomes of the reference, and leaves also when no reference is there
 * any more. Here is only the order: it goes when those before it have gone, and those behind it wait for its end.
 *
 * Source: design "Held objects: Parking", "The outbox".
 */
import type { Stop } from "../base/late-signal.ts";
import { untilAborted } from "../base/signals.ts";

export class PostedCall {
  readonly turn: (signal: Stop) => Promise<void>;
  #letGo: () => void = () => undefined;

  constructor() {
    const gone = new Promise<void>((resolve) => {
      this.#letGo = resolve;
    });
    this.turn = (signal) => untilAborted(gone, signal);
  }

  /** Nothing is before it any more. */
  letGo(): void {
    this.#letGo();
  }
}
