/**
 * A store in a SQLite file, the embedded default for a server that is to keep what it promised: what a handler
 * writes through `ctx.transaction`, the kept reply and the key are one commit of that file.
 *
 * The user's own tables live in the same file, and other programs may read and write them meanwhile; holdfast
 * servers there is one.
 *
 * Source: design "Stores"; reliability decisions D8, D14, D15, D18, D19.
 */
import { type Clock, systemClock } from "../../runtime/base/clock.ts";
import { callKeepMs } from "../../runtime/base/constants.ts";
import { type Log, silentLog } from "../../runtime/base/log.ts";
import { type Random, systemRandom } from "../../runtime/base/random.ts";
import type { Tx } from "../../runtime/base/register.ts";
import {
  type CallKey,
  type Claim,
  type Committed,
  type Found,
  type Outcome,
  type Store,
} from "../store/store.ts";
import type { DriverName } from "./driver.ts";
import { GroupCommit } from "./group-commit.ts";
import { type KeptCalls, keptCalls } from "./kept-calls.ts";
import { type Lanes, lanesOf } from "./lanes.ts";
import { type OpenFile, openFile } from "./open-file.ts";
import { storeErrorOf } from "./sqlite-errors.ts";
import { sqliteSessions } from "./sessions.ts";
import { type Standing, standingOf } from "./standing.ts";
import { storeTime } from "./store-time.ts";

export interface SqliteStoreOptions {
  /** Which driver opens the file. Default: `node:sqlite` where Node has it, else `better-sqlite3`. */
  readonly driver?: DriverName;
  /** How long a call is kept from the end of its run, in ms above 0. Default 24 h. */
  readonly keepMs?: number;
  /** Calls kept for one caller, 1 or more. At it new commands are refused, repeats answered. Default 100,000. */
  readonly callsPerCallerMost?: number;
  /** Bytes kept for one caller, above 0. At it new commands are refused, repeats answered. Default 64 MiB. */
  readonly bytesPerCallerMost?: number;
  /** Commands that share a commit at most, 1 or more. Default 64: beyond it a sync costs next to nothing each. */
  readonly commandsPerCommitMost?: number;
  /** Hears of a restored backup. Default: says nothing. */
  readonly log?: Log;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Makes the epoch, the secret and the marks. Default: the system's. */
  readonly random?: Random;
}

/** A store in a SQLite file. */
export interface SqliteStore extends Store {
  /**
   * The driver's own database: a `Database` of better-sqlite3 or a `DatabaseSync` of node:sqlite. For making
   * tables at the start and for reading. What commands write goes through `ctx.transaction`, what else a
   * program writes through {@link Store.write}; a transaction begun here would hold up both.
   */
  readonly database: Tx;
}

/** How long a call is kept beyond its time, so that two clocks that differ never meet a gap. */
const keepBeyondMs = 3_600_000;
/** The least time between two marks: what a backup can be older without being noticed. */
const remarkEveryMs = 60_000;

/**
 * Opens a store in a file, which is made if it is missing, and in `":memory:"` one that ends with the process.
 * Beside `board.db` and SQLite's own `board.db-wal` and `board.db-shm` lie `board.db-lock` and `board.db-mark`.
 *
 * @throws StoreError saying what is wrong and what to do: no driver is installed, another server has the file,
 * it is damaged, cannot be written, or was written by a newer release.
 * @throws RangeError for a limit that is not above zero.
 */
export function sqliteStore(file: string, options: SqliteStoreOptions = {}): SqliteStore {
  for (const [name, value] of Object.entries(options)) {
    if (typeof value === "number" && !(value > 0)) {
      throw new RangeError(`sqliteStore: ${name} is ${value}, it must be above zero`);
    }
  }
  const { driver, clock = systemClock, random = systemRandom, log = silentLog } = options;
  const opened = openFile(file, { driver, random, nowMs: clock.now() });
  if (opened.lost !== undefined) {
    log.warn(
      `${opened.file}: ${opened.lost}. Calls that were first sent before now are refused as forgotten`,
    );
  }
  try {
    return new OpenSqliteStore(opened, clock, options);
  } catch (error) {
    opened.close();
    throw storeErrorOf(error, opened.file);
  }
}

class OpenSqliteStore implements SqliteStore {
  readonly facts: Store["facts"];
  readonly sessions: Store["sessions"];
  readonly database: Tx;
  readonly #opened: OpenFile;
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #callsPerCallerMost: number;
  readonly #bytesPerCallerMost: number;
  readonly #commits: GroupCommit;
  readonly #calls: KeptCalls;
  readonly #lanes: Lanes;
  readonly #look: ReturnType<typeof standingOf>;
  readonly #free = new KnownFree();
  /** Whether something was committed since the last mark. */
  #changed = false;
  #markedAtMs: number;
  #closed: Promise<void> | undefined;

  constructor(opened: OpenFile, clock: Clock, options: SqliteStoreOptions) {
    const { connection } = opened;
    this.#opened = opened;
    this.#clock = clock;
    this.#now = storeTime(clock);
    this.#callsPerCallerMost = options.callsPerCallerMost ?? 100_000;
    this.#bytesPerCallerMost = options.bytesPerCallerMost ?? 64 * 1_048_576;
    this.#commits = new GroupCommit({
      connection,
      clock,
      writesMost: options.commandsPerCommitMost ?? 64,
      explain: (error) => storeErrorOf(error, opened.file),
      lost: () => this.#lanes.forget(),
    });
    this.#calls = keptCalls(connection);
    this.#lanes = lanesOf(connection);
    this.#look = standingOf(connection);
    this.#markedAtMs = clock.monotonic();
    this.database = connection.handle;
    this.sessions = sqliteSessions({
      connection,
      commits: this.#commits,
      run: (work) => {
        this.#changed = true;
        return synchronous(work(this.database as never));
      },
      own: (statements) => this.#own(statements),
    });
    this.facts = {
      epoch: opened.epoch,
      completeSinceMs: opened.completeSinceMs,
      secret: opened.secret,
      keepMs: options.keepMs ?? callKeepMs,
      durable: true,
      synchronous: true,
    };
  }

  async find(key: CallKey, lane: string | undefined, quota?: string): Promise<Found> {
    this.#assertOpen();
    try {
      const standing = this.#look(key, quota);
      if (standing.callRow === null) this.#free.add(key);
      return {
        kept: standing.callRow === null ? undefined : this.#calls.find(key),
        forgottenBeforeMs: this.facts.completeSinceMs,
        watermark: lane === undefined ? 0 : this.#lanes.watermark(key.space, lane),
        fullForMs: this.#fullForMs(standing),
      };
    } catch (error) {
      throw storeErrorOf(error, this.#opened.file);
    }
  }

  commit(
    claim: Claim,
    decide: (tx: Tx) => Outcome | undefined | Promise<Outcome | undefined>,
  ): Promise<Committed> {
    return this.#commits.add((guard) => {
      const startedRow = this.#free.take(claim)
        ? null
        : this.#own(() => this.#look(claim, undefined).callRow);
      const entry = startedRow === null ? undefined : this.#own(() => this.#calls.find(claim));
      if (entry !== undefined && entry.outcome.kind !== "started") return { kind: "taken", entry };
      const outcome = guard(() => synchronous(decide(this.database)));
      this.#own(() => this.#keep(claim, outcome, startedRow ?? undefined));
      this.#changed = true;
      return { kind: "kept" };
    });
  }

  write<T>(work: (tx: Tx) => T | Promise<T>): Promise<T> {
    return this.#commits.add((guard) => {
      const result = guard(() => synchronous(work(this.database)));
      this.#changed = true;
      return result;
    });
  }

  async purge(countMost: number): Promise<number> {
    this.#assertOpen();
    const beforeMs = this.#now() - this.facts.keepMs - keepBeyondMs;
    const droppedCount = await this.#commits.add(() =>
      this.#own(() => {
        const callCount = this.#calls.dropOlder(beforeMs, countMost);
        this.#lanes.forget();
        return callCount + this.#lanes.dropOlder(beforeMs, countMost - callCount);
      }),
    );
    if (this.#changed && this.#clock.monotonic() - this.#markedAtMs >= remarkEveryMs) this.#remark();
    return droppedCount;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const broken = this.#commits.refusal?.broken === true;
    await this.#commits.end();
    try {
      if (this.#changed && !broken) this.#remark();
    } finally {
      this.#opened.close();
    }
  }

  #keep(claim: Claim, outcome: Outcome | undefined, startedRow: number | undefined): void {
    const { space, seat, settled } = claim;
    const endedAtMs = this.#now();
    if (seat === undefined) {
      this.#calls.change({ claim, outcome, endedAtMs, startedRow, lane: undefined, passed: [] });
      return;
    }
    const [lane, passed] = this.#lanes.advance(space, seat.lane, settled, endedAtMs);
    this.#calls.change({ claim, outcome, endedAtMs, startedRow, lane, passed });
    if (outcome === undefined) this.#lanes.note(lane);
  }

  /** What the caller waits for when its quota is full: at the soonest, for the oldest call of all. */
  #fullForMs({ callCount, byteCount }: Standing): number | undefined {
    const full = (callCount ?? 0) >= this.#callsPerCallerMost || (byteCount ?? 0) >= this.#bytesPerCallerMost;
    if (!full) return undefined;
    const oldestMs = this.#calls.oldestMs() ?? 0;
    return Math.max(0, oldestMs + this.facts.keepMs + keepBeyondMs - this.#now());
  }

  #assertOpen(): void {
    if (this.#commits.refusal !== undefined) throw this.#commits.refusal;
  }

  /** Runs statements of the store's own, whose errors are the store's. */
  #own<T>(statements: () => T): T {
    try {
      return statements();
    } catch (error) {
      throw storeErrorOf(error, this.#opened.file);
    }
  }

  #remark(): void {
    this.#opened.remark();
    this.#changed = false;
    this.#markedAtMs = this.#clock.monotonic();
  }
}

/**
 * Keys that were looked up and not found. One server owns the file, so such a key stays free until a commit of
 * this process takes it, and the commit need not look again.
 */
class KnownFree {
  /** By ID alone: where two callers have chosen the same one, only the last is known. */
  readonly #spaces = new Map<string, string>();

  add({ space, id }: CallKey): void {
    if (this.#spaces.size >= 10_000) this.#spaces.clear(); // of calls that were looked up and never kept
    this.#spaces.set(id, space);
  }

  /** Whether the key is known to be free; from now on it is not. */
  take({ space, id }: CallKey): boolean {
    return this.#spaces.get(id) === space && this.#spaces.delete(id);
  }
}

/** A promise would go on after the commit, outside every transaction. */
function synchronous<T>(result: T | Promise<T>): T {
  if (!(result instanceof Promise)) return result;
  result.catch(() => undefined); // what becomes of it is nobody's any more
  throw new TypeError(
    "a transaction's callback returned a promise, so it was rolled back. With SQLite it must be synchronous: do " +
      "what takes time before ctx.transaction, and only read and write the database inside.",
  );
}
