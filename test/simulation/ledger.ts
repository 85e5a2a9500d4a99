/**
 * The truth of a run: every effect that is durable, by the store's own word and not by the journal's. It outlives
 * every server, also where the store does not.
 */
import { type Store, StoreError } from "../../server/store/store.ts";
import type { Effect } from "./history.ts";

/** What a transaction has written, until it is durable. */
export interface Stage {
  /** Puts a key at the end of a list, and gives its place. */
  append(effect: Omit<Effect, "place">): number;
}

export class Ledger {
  readonly #lists = new Map<string, string[]>();
  readonly #elsewhere = new Set<string>();
  /** What the newest transaction writes: a disk writes one thing at a time. */
  staged: readonly Effect[] = [];
  readonly #onEffect: (effect: Effect) => void;

  constructor(onEffect: (effect: Effect) => void) {
    this.#onEffect = onEffect;
  }

  lengthOf(list: string): number {
    return this.#lists.get(list)?.length ?? 0;
  }

  keysOf(list: string): readonly string[] {
    return this.#lists.get(list) ?? [];
  }

  get listNames(): readonly string[] {
    return [...this.#lists.keys()];
  }

  /** An effect elsewhere: it stands at once, whatever becomes of the server. */
  actElsewhere(effect: Omit<Effect, "list" | "place">): void {
    this.#elsewhere.add(effect.callId);
    this.#onEffect({ ...effect, list: "", place: 0 });
  }

  hasActed(callId: string): boolean {
    return this.#elsewhere.has(callId);
  }

  begin(): Stage & { keep(): void } {
    const staged: Effect[] = [];
    this.staged = staged;
    return {
      append: (effect) => {
        const stagedCount = staged.filter(({ list }) => list === effect.list).length;
        const place = this.lengthOf(effect.list) + stagedCount + 1;
        staged.push({ ...effect, place });
        return place;
      },
      keep: () => {
        for (const effect of staged) {
          this.#lists.set(effect.list, [...this.keysOf(effect.list), effect.key]);
          this.#onEffect(effect);
        }
      },
    };
  }
}

/**
 * A store whose transactions write to the ledger: both stand in the same instant, or neither does.
 *
 * @param shared - whether several servers write to it.
 */
export function ledgerStore(
  inner: Store<undefined>,
  ledger: Ledger,
  durable: boolean,
  shared = false,
): Store<Stage | undefined> {
  return {
    facts: { ...inner.facts, durable },
    sessions: inner.sessions,
    find: async (key, lane, quota) => {
      const found = await inner.find(key, lane, quota);
      // What is in a database forgets nothing before its time.
      return durable ? { ...found, forgottenBeforeMs: 0 } : found;
    },
    commit: async (claim, decide) => {
      const { kept, watermark } = await inner.find(claim, claim.seat?.lane);
      // Another server may have passed and dropped the call while this one ran it.
      if (shared && kept === undefined && claim.seat !== undefined && claim.seat.seq <= watermark) {
        throw new StoreError("the call was settled on another server", false);
      }
      const stage = ledger.begin();
      const committed = await inner.commit(claim, () => decide(stage));
      if (committed.kind === "kept") stage.keep();
      return committed;
    },
    write: async (work) => {
      const stage = ledger.begin();
      const result = await inner.write(() => work(stage));
      stage.keep();
      return result;
    },
    purge: (countMost) => inner.purge(countMost),
    // The next server's process opens it again.
    close: async () => undefined,
  };
}
