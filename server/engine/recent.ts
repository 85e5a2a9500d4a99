/**
 * The last calls with their notes, which the log does not keep. What falls out is found in the log, with the
 * command's own note in place of its own.
 */
import type { RecordEnvelope } from "../../gen/holdfast/store/v1/engine_pb.ts";

export interface RecentCall {
  readonly envelope: RecordEnvelope;
  readonly note: unknown;
}

/** Enough for the tries that follow each other; a later repeat does without its note. */
const callsMost = 1_024;

export class RecentCalls {
  /** In the order in which they came. */
  readonly #calls = new Map<string, RecentCall>();

  put(call: string, recent: RecentCall): void {
    this.#calls.delete(call);
    this.#calls.set(call, recent);
    for (const oldest of this.#calls.keys()) {
      if (this.#calls.size <= callsMost) return;
      this.#calls.delete(oldest);
    }
  }

  get(call: string): RecentCall | undefined {
    return this.#calls.get(call);
  }
}
