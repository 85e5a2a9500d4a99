/**
 * When checkpoints are made, and when they must not be.
 *
 * A build that has met fields which it does not know makes none: it has applied the records of a newer build
 * without them, and a checkpoint would hand that on to the newer build as the truth. So that one starts from its
 * own checkpoint and the log after it, and misses nothing.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Clock } from "../../runtime/base/clock.ts";
import type { Log } from "../../runtime/base/log.ts";
import type { Store } from "../store/store.ts";
import { checkpointRow } from "./checkpoint.ts";
import type { Copies } from "./copies.ts";
import type { EngineLog } from "./log.ts";

export interface CheckpointsParts {
  readonly name: string;
  readonly store: Store;
  readonly log: EngineLog;
  readonly copies: Copies<DescMessage>;
  readonly stateType: string;
  /** Commands between two. */
  readonly every: number;
  /** Of the newest one; 0: there is none. */
  readonly lastSeq: number;
  readonly trim: boolean;
  /** Whether a newer build has been here. */
  readonly newer: boolean;
  readonly clock: Clock;
  readonly says: Log;
}

export class Checkpoints {
  readonly #parts: CheckpointsParts;
  #lastSeq: number;
  #nextSeq: number;

  constructor(parts: CheckpointsParts) {
    this.#parts = parts;
    this.#lastSeq = parts.lastSeq;
    this.#nextSeq = parts.lastSeq + parts.every;
  }

  /** A command has become durable: makes a checkpoint when one is due, beside everything else. */
  passed(): void {
    const { copies, every, says, name } = this.#parts;
    if (copies.written.seq < this.#nextSeq) return;
    this.#nextSeq = copies.written.seq + every;
    this.make().catch((error: unknown) =>
      says.warn(`engine ${name}: no checkpoint was made; the next start applies more of the log`, { error }),
    );
  }

  async make(): Promise<void> {
    const { store, log, copies, stateType, trim, newer, clock, name } = this.#parts;
    if (newer) {
      throw new Error(
        `engine ${name}: a newer build has written records or a state with fields that this one does not know, so ` +
          "it makes no checkpoints. The log has everything; go on with the newer build when you can.",
      );
    }
    const { seq, atMs } = copies.written;
    if (seq === this.#lastSeq) return;
    const state = copies.bytes();
    if (!copies.agree(state)) {
      throw new Error(
        `engine ${name}: its state was changed by something else than apply: handle, reply or a query of it. ` +
          "They may look at the state, and copy from it with clone(). The log is right; start the server again.",
      );
    }
    const before = this.#lastSeq;
    await store.write(() => {
      log.checkpoints.put(checkpointRow(stateType, { seq, atMs }, state));
      // The checkpoint before this one may be needed yet, and with it the log from there on.
      if (trim) log.checkpoints.trim(before, Math.floor(clock.now()) - store.facts.keepMs);
    });
    this.#lastSeq = seq;
  }
}
