/**
 * What the outbox holds of a command that takes the place of one that waits. While the call of that one is under
 * way here, it waits for that call's end; then it takes the seat.
 *
 * Source: design "The outbox" (`merge`, `key`).
 */
import { HoldfastError } from "../base/errors.ts";
import type { Stop } from "../base/late-signal.ts";
import { untilAborted } from "../base/signals.ts";
import type { Keep } from "../call/keep.ts";
import type { Stamp } from "../call/stamp.ts";
import type { Ending } from "./ending.ts";
import { type Fate, fateOf } from "./fate.ts";
import type { Seat } from "./seat.ts";

/** What a repeat needs of its outbox. */
export interface RepeatHost {
  /** The call that is under way for this entry here. */
  seatOf(): Seat | undefined;
  /** How it ended, if it has left in this process. */
  ended(): Ending | undefined;
  /** Takes the seat; only when nobody has it. */
  sit(): Seat;
  waits(error: HoldfastError, fate: Fate): HoldfastError;
  over(): void;
}

export class Repeat implements Keep {
  readonly stored = true;
  readonly stamp: Stamp;
  readonly #host: RepeatHost;
  #seat: Seat | undefined;
  /** The other call had an outcome, and it is this one's. */
  #shared = false;

  constructor(stamp: Stamp, host: RepeatHost) {
    this.stamp = stamp;
    this.#host = host;
  }

  async turn(signal: Stop): Promise<Uint8Array | undefined> {
    while (this.#seat === undefined) {
      const ended = this.#host.ended();
      if (ended !== undefined) return this.#share(ended);
      const before = this.#host.seatOf();
      if (before === undefined) {
        this.#seat = this.#host.sit();
        break;
      }
      const end = await untilAborted(before.end, signal);
      if (end.kind === "left") return this.#share(end.ending);
    }
    return this.#seat.turn(signal);
  }

  #share(ending: Ending): Uint8Array {
    this.#shared = true;
    if (ending.kind === "reply") return ending.reply;
    throw ending.error;
  }

  async look(): Promise<void> {
    await this.#seat?.look();
  }

  async sending(tag: string | undefined): Promise<void> {
    await this.#seat?.sending(tag);
  }

  async notSent(): Promise<void> {
    await this.#seat?.notSent();
  }

  async replied(reply: () => Uint8Array): Promise<void> {
    await this.#seat?.replied(reply);
    this.#host.over();
  }

  async failed(error: unknown): Promise<unknown> {
    try {
      if (this.#seat !== undefined) return await this.#seat.failed(error);
      if (this.#shared || !(error instanceof HoldfastError) || error.reason === "ABORTED") return error;
      this.#host.seatOf()?.tellRepeat();
      return this.#host.waits(error, fateOf(error, true));
    } finally {
      this.#host.over();
    }
  }
}
