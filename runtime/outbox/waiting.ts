/**
 * What the outbox holds of a command that is no entry: it waits until the entries made before it have left, and
 * then goes its own way. One with `outbox: LATE` becomes an entry at an end without a settled answer.
 *
 * Source: design "The outbox".
 */
import { HoldfastError } from "../base/errors.ts";
import type { Stop } from "../base/late-signal.ts";
import type { Keep } from "../call/keep.ts";
import type { Stamp } from "../call/stamp.ts";
import { type Fate, fateOf } from "./fate.ts";

/** What such a command needs of its outbox. */
export interface WaitingHost {
  /** Resolves when no entry is before it. */
  clear(signal: Stop): Promise<void>;
  /** Puts the command in; false: it could not be kept. Only for LATE. */
  putIn(error: HoldfastError, fate: Fate): Promise<boolean>;
  waits(error: HoldfastError, fate: Fate): HoldfastError;
  /** The call is over. */
  over(): void;
}

export class Waiting implements Keep {
  readonly stored = false;
  /** Undefined: a command without an outbox, which has a stamp of its link. */
  readonly stamp: Stamp | undefined;
  readonly #host: WaitingHost;
  #passed = false;

  constructor(stamp: Stamp | undefined, host: WaitingHost) {
    this.stamp = stamp;
    this.#host = host;
  }

  async turn(signal: Stop): Promise<undefined> {
    if (this.#passed) return;
    await this.#host.clear(signal);
    this.#passed = true;
  }

  /** It is in nobody's hands but this call's. */
  async look(): Promise<void> {}

  async sending(tag: string | undefined): Promise<void> {
    this.stamp?.sending(tag);
  }

  async notSent(): Promise<void> {
    this.stamp?.notSent();
  }

  async replied(): Promise<void> {
    this.stamp?.settle();
    this.#host.over();
  }

  async failed(error: unknown): Promise<unknown> {
    try {
      const known = this.stamp !== undefined && error instanceof HoldfastError ? error : undefined;
      const fate = known === undefined ? "leaves" : fateOf(known, false);
      if (known !== undefined && fate !== "leaves" && (await this.#host.putIn(known, fate))) {
        return this.#host.waits(known, fate);
      }
      this.stamp?.settle();
      return error;
    } finally {
      this.#host.over();
    }
  }
}
