/**
 * A store in the memory of one process: for tests, and for servers whose state may go with them.
 *
 * It is bounded, so it drops calls before their time when a caller has too many. It then raises that
 * caller's fence, and a repeat of what it dropped is refused as forgotten, never run again. For the same
 * reason its fence starts at its own start: whatever was first sent before may have run in an earlier life.
 *
 * Two gaps stay, both of them only when a call is dropped early: a plain client tells no first sending, so
 * its repeat runs again; and a client that did not know the server's time yet tells an age, which a slow way
 * here makes look younger than the fence. A SQL store has neither.
 *
 * It has no database, so a transaction's `tx` is undefined: the callback's reply is kept with its key in one
 * step, and what else it changes is the program's own memory, which nothing rolls back.
 *
 * Source: design "Stores"; reliability decisions D7, D8.
 */
import type { Clock } from "../../runtime/base/clock.ts";
import { systemClock } from "../../runtime/base/clock.ts";
import { callKeepMs } from "../../runtime/base/constants.ts";
import type { Random } from "../../runtime/base/random.ts";
import { systemRandom } from "../../runtime/base/random.ts";
import { memoryFences } from "./memory-fences.ts";
import { memoryLanes } from "./memory-lanes.ts";
import { memorySessions } from "./memory-sessions.ts";
import {
  type CallKey,
  type Claim,
  type Committed,
  type Entry,
  type Found,
  keyText,
  type Outcome,
  type Store,
  type StoreAtOnce,
  StoreError,
} from "./store.ts";

export interface MemoryStoreOptions {
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Makes the epoch and the secret. Default: the system's. */
  readonly random?: Random;
  /** How long a call is kept from the end of its run, in ms above 0. Default 24 h. */
  readonly keepMs?: number;
  /**
   * Calls kept for one caller, 1 or more. Above it the oldest go. Default 4,096: a caller may have 2,112 under way
   * (runningPerCallerMost and those that wait), and each is kept until its client has said that it settled it.
   */
  readonly callsPerCallerMost?: number;
  /** Bytes kept for one caller. Above it the oldest go. Default 8 MiB. */
  readonly bytesPerCallerMost?: number;
  /** Bytes kept in all. Above it the oldest of anybody go. Default 256 MiB. */
  readonly bytesMost?: number;
  /** Lanes remembered in all, about 200 bytes each. Above it the longest unused go. Default 65,536. */
  readonly lanesMost?: number;
}

/** How long a call is kept beyond its time, so that two clocks that differ never meet a gap. */
const keepBeyondMs = 3_600_000;
/** What a call costs beside its reply and its texts: the objects around them. Measured at about 1,150. */
const entryBytes = 1_280;

/**
 * Opens a store in memory.
 *
 * @throws RangeError for a limit that is not above zero.
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store<undefined> {
  for (const [name, value] of Object.entries(options)) {
    if (typeof value === "number" && !(value > 0)) {
      throw new RangeError(`memoryStore: ${name} is ${value}, it must be above zero`);
    }
  }
  return new MemoryStore(options);
}

const kept: Committed = { kind: "kept" };

/** What one caller has kept: a chain, since a call is looked for by its key alone, and taken out from anywhere. */
interface Usage {
  readonly quota: string;
  bytes: number;
  callCount: number;
  /** The ends of the chain, in the order in which the calls ended. */
  oldest: Kept | undefined;
  newest: Kept | undefined;
}

/** A kept call at its place in its caller's chain. */
interface Kept {
  readonly key: string;
  readonly entry: Entry;
  readonly bytes: number;
  readonly usage: Usage;
  older: Kept | undefined;
  newer: Kept | undefined;
}

class MemoryStore implements Store<undefined> {
  readonly facts: Store["facts"];
  readonly sessions: Store<undefined>["sessions"] = memorySessions();
  readonly #clock: Clock;
  readonly #callsPerCallerMost: number;
  readonly #bytesPerCallerMost: number;
  readonly #bytesMost: number;
  readonly #fences;
  readonly #lanes;
  /** In the order in which the calls ended. */
  readonly #entries = new Map<string, Kept>();
  readonly #usages = new Map<string, Usage>();
  #bytes = 0;
  #closed = false;
  readonly #atOnce: StoreAtOnce = {
    find: (key, lane) => this.#find(key, lane),
    keep: (claim, outcome) => {
      this.#assertOpen();
      const key = claim.text ?? keyText(claim);
      const known = this.#entries.get(key);
      return takenBy(known) ?? this.#put(key, known, claim, outcome);
    },
  };

  constructor(options: MemoryStoreOptions) {
    const random = options.random ?? systemRandom;
    this.#clock = options.clock ?? systemClock;
    this.#callsPerCallerMost = options.callsPerCallerMost ?? 4_096;
    this.#bytesPerCallerMost = options.bytesPerCallerMost ?? 8 * 1_048_576;
    this.#bytesMost = options.bytesMost ?? 256 * 1_048_576;
    const startMs = Math.floor(this.#clock.now());
    this.facts = {
      epoch: Buffer.from(random.bytes(6)).toString("base64url"),
      completeSinceMs: startMs,
      secret: random.bytes(32),
      keepMs: options.keepMs ?? callKeepMs,
      durable: false,
      synchronous: false,
    };
    const fences = memoryFences(startMs);
    this.#fences = fences;
    this.#lanes = memoryLanes(options.lanesMost ?? 65_536, (space, firstSentMs) => {
      fences.raise(space, firstSentMs);
    });
  }

  get atOnce(): StoreAtOnce {
    return this.#atOnce;
  }

  async find(key: CallKey, lane: string | undefined): ReturnType<Store["find"]> {
    return this.#find(key, lane);
  }

  #find(key: CallKey, lane: string | undefined): Found {
    this.#assertOpen();
    return {
      kept: this.#entries.get(key.text ?? keyText(key))?.entry,
      forgottenBeforeMs: this.#fences.of(key.space),
      watermark: lane === undefined ? 0 : this.#lanes.watermark(key.space, lane),
      fullForMs: undefined, // it drops the oldest in place of refusing the newest
    };
  }

  async commit(
    claim: Parameters<Store["commit"]>[0],
    decide: (tx: undefined) => Outcome | undefined | Promise<Outcome | undefined>,
  ): ReturnType<Store["commit"]> {
    this.#assertOpen();
    const key = claim.text ?? keyText(claim);
    const taken = takenBy(this.#entries.get(key));
    if (taken !== undefined) return taken;
    const outcome = await decide(undefined);
    return this.#put(key, this.#entries.get(key), claim, outcome);
  }

  /** @param known - what is kept under the key now, and goes. */
  #put(key: string, known: Kept | undefined, claim: Claim, outcome: Outcome | undefined): Committed {
    this.#assertOpen();
    if (known !== undefined) this.#drop(known);
    if (outcome === undefined) return kept;
    const { space, id, quota, method, fingerprint, seat, settled, firstSentMs } = claim;
    const endedAtMs = this.#clock.now();
    const entry = { space, id, quota, method, fingerprint, seat, firstSentMs, outcome, endedAtMs };
    const usage = this.#keep(key, entry);
    if (seat !== undefined) {
      const call = { settled, nowMs: endedAtMs, firstSentMs: firstSentMs ?? 0, key };
      for (const passed of this.#lanes.advance(space, seat, call)) {
        const its = this.#entries.get(passed);
        if (its !== undefined) this.#drop(its);
      }
    }
    this.#makeRoom(usage);
    return kept;
  }

  async write<T>(work: (tx: undefined) => T | Promise<T>): Promise<T> {
    this.#assertOpen();
    return work(undefined);
  }

  async purge(countMost: number): Promise<number> {
    this.#assertOpen();
    const nowMs = this.#clock.now();
    const beforeMs = nowMs - this.facts.keepMs - keepBeyondMs;
    let droppedCount = 0;
    for (const its of this.#entries.values()) {
      if (its.entry.endedAtMs >= beforeMs || droppedCount >= countMost) break;
      this.#drop(its);
      droppedCount += 1;
    }
    droppedCount += this.#lanes.purge(beforeMs, countMost - droppedCount);
    // A call first sent before this is refused for its age alone, so that its fence says nothing any more.
    return droppedCount + this.#fences.purge(beforeMs, countMost - droppedCount);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#entries.clear();
    this.#usages.clear();
    this.#bytes = 0;
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreError("the store is closed", false);
  }

  #keep(key: string, entry: Entry): Usage {
    const { quota } = entry;
    let usage = this.#usages.get(quota);
    if (usage === undefined) {
      usage = { quota, bytes: 0, callCount: 0, oldest: undefined, newest: undefined };
      this.#usages.set(quota, usage);
    }
    const bytes = sizeOf(entry);
    const its: Kept = { key, entry, bytes, usage, older: usage.newest, newer: undefined };
    this.#entries.set(key, its);
    if (usage.newest === undefined) usage.oldest = its;
    else usage.newest.newer = its;
    usage.newest = its;
    usage.callCount += 1;
    usage.bytes += bytes;
    this.#bytes += bytes;
    return usage;
  }

  #drop(its: Kept): void {
    const { key, bytes, usage, older, newer } = its;
    this.#entries.delete(key);
    if (older === undefined) usage.oldest = newer;
    else older.newer = newer;
    if (newer === undefined) usage.newest = older;
    else newer.older = older;
    // What is dropped may be garbage of an old generation, which would keep all that came after it.
    its.older = undefined;
    its.newer = undefined;
    usage.callCount -= 1;
    usage.bytes -= bytes;
    this.#bytes -= bytes;
    if (usage.callCount === 0) this.#usages.delete(usage.quota);
  }

  /** Drops before their time what is beyond the limits, oldest first, and raises the fences for it. */
  #makeRoom(usage: Usage): void {
    while (usage.callCount > this.#callsPerCallerMost || usage.bytes > this.#bytesPerCallerMost)
      this.#forget(usage.oldest);
    while (this.#bytes > this.#bytesMost) this.#forget(this.#entries.values().next().value);
  }

  #forget(its: Kept | undefined): void {
    if (its === undefined) return;
    const { seat, space, firstSentMs } = its.entry;
    this.#drop(its);
    if (seat !== undefined) this.#lanes.remove(space, seat);
    if (firstSentMs !== undefined) this.#fences.raise(space, firstSentMs);
  }
}

/** A run that has only begun takes nothing. */
function takenBy(known: Kept | undefined): Committed | undefined {
  if (known === undefined || known.entry.outcome.kind === "started") return undefined;
  return { kind: "taken", entry: known.entry };
}

function sizeOf(entry: Entry): number {
  const texts = entry.space.length + entry.id.length + entry.method.length;
  const { outcome } = entry;
  switch (outcome.kind) {
    case "ran":
      return entryBytes + texts + outcome.reply.length;
    case "marker":
    case "started":
      return entryBytes + texts;
    case "refused": {
      const details = outcome.details.reduce((sum, one) => sum + one.value.length + one.type.length, 0);
      return entryBytes + texts + 2 * outcome.message.length + details;
    }
  }
}
