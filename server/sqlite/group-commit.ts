/**
 * Commands that arrive together share one commit, and so one sync to disk, which is what a durable command
 * costs. What a user's callback writes has a savepoint of its own, so one that fails takes nothing with it. The
 * store's own statements have none: SQLite copies each page that they change for it, and when one of them fails
 * something is wrong with the file. Nobody is answered before the commit has returned.
 *
 * A whole batch runs in one synchronous piece, from its BEGIN to its COMMIT. Were the turn given up in between,
 * a query on the same connection would read what is not durable yet and could show it to a client. What
 * arrives while the disk syncs makes the next batch.
 *
 * The write lock is asked for without waiting and, when another program holds it, again a little later: SQLite's
 * own wait would stop the whole process for as long.
 *
 * Source: reliability decisions D14, D15.
 */
import type { Clock } from "../../runtime/base/clock.ts";
import { StoreError } from "../store/store.ts";
import type { SqliteConnection, SqliteStatement } from "./driver.ts";
import { isBusy, isConstraint } from "./sqlite-errors.ts";

export interface GroupCommitParts {
  readonly connection: SqliteConnection;
  readonly clock: Clock;
  /** Writes in one commit at most; 1: a commit for each. */
  readonly writesMost: number;
  /** Makes an error of SQLite one of the store. */
  readonly explain: (error: unknown) => StoreError;
  /** Writes that were applied do not stand: what is remembered of them is wrong. */
  readonly lost: () => void;
}

/** Runs statements of a user's callback: when they throw, nothing of them stands, and the error is theirs. */
export type Guard = <T>(statements: () => T) => T;

/** A batch takes in no more after this, so that its first write is not kept waiting by the last. */
const batchMsMost = 5;
/** How long the lock of another program is waited for. */
export const lockWaitMsMost = 5_000;
/** Enough for all that were in the batch to have come again. */
const aloneCountMost = 256;
const lockRetryMsLeast = 1;
const lockRetryMsMost = 50;

interface Write {
  readonly apply: (guard: Guard) => unknown;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

/** Tells a write how it ended. */
type Settle = () => void;

// Taken when the file loads: a test that fakes the system's timers later does not stop it.
// eslint-disable-next-line no-restricted-globals -- no time is read or waited for, only the turn ends
const atTurnEnd = setImmediate;

export class GroupCommit {
  readonly #parts: GroupCommitParts;
  readonly #begin: SqliteStatement;
  readonly #commit: SqliteStatement;
  readonly #savepoint: SqliteStatement;
  readonly #release: SqliteStatement;
  readonly #rollBackTo: SqliteStatement;
  #waiting: Write[] = [];
  /** A batch is to come, or waits for the lock. */
  #scheduled = false;
  /** Monotonic ms since when another program has held the lock. */
  #lockedSinceMs: number | undefined;
  #lockRetryMs = lockRetryMsLeast;
  /** So many writes get a commit of their own, to find the one that none can be made with. */
  #aloneCount = 0;
  /** What the write at work threw inside its guard. */
  #guarded: { readonly error: unknown } | undefined;
  readonly #guard: Guard;
  #refusal: StoreError | undefined;
  #idle: (() => void)[] = [];

  constructor(parts: GroupCommitParts) {
    const { connection } = parts;
    this.#parts = parts;
    this.#guard = (statements) => this.#runGuarded(statements);
    this.#begin = connection.prepare("BEGIN IMMEDIATE");
    this.#commit = connection.prepare("COMMIT");
    this.#savepoint = connection.prepare("SAVEPOINT holdfast");
    this.#release = connection.prepare("RELEASE holdfast");
    this.#rollBackTo = connection.prepare("ROLLBACK TO holdfast");
  }

  /** Why nothing is taken any more; undefined while it is. */
  get refusal(): StoreError | undefined {
    return this.#refusal;
  }

  /**
   * Runs `apply` in the next batch. Resolves with what it returned once that is durable. What its `guard` throws
   * it hands on before it has written anything of its own; the promise rejects with that, and nothing of it
   * stands. Any other error of `apply` rolls the whole batch back.
   */
  add<T>(apply: (guard: Guard) => T): Promise<T> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal);
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ apply, resolve, reject });
      this.#schedule();
    });
  }

  /** Takes nothing more; resolves when what waits is done. */
  async end(): Promise<void> {
    this.#refusal ??= new StoreError("the store is closed", false);
    if (this.#scheduled) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    atTurnEnd(() => this.#run());
  }

  #run(): void {
    try {
      if (!this.#takeLock()) return;
      const settles = this.#batch();
      for (const settle of settles) settle();
    } catch (error) {
      this.#fail(error);
    }
    this.#scheduled = false;
    if (this.#waiting.length > 0) this.#schedule();
    else for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Begins the transaction; false when that is tried again later. */
  #takeLock(): boolean {
    const { connection, clock } = this.#parts;
    try {
      connection.exec("PRAGMA busy_timeout = 0");
      this.#begin.run();
    } catch (error) {
      this.#lockedSinceMs ??= clock.monotonic();
      if (!isBusy(error) || clock.monotonic() - this.#lockedSinceMs >= lockWaitMsMost) throw error;
      clock.timer(this.#lockRetryMs, () => this.#run());
      this.#lockRetryMs = Math.min(lockRetryMsMost, 2 * this.#lockRetryMs);
      return false;
    } finally {
      connection.exec(`PRAGMA busy_timeout = ${lockWaitMsMost}`);
    }
    this.#lockedSinceMs = undefined;
    this.#lockRetryMs = lockRetryMsLeast;
    return true;
  }

  /** Runs the writes that wait and commits them; gives how each is told. */
  #batch(): readonly Settle[] {
    const { clock } = this.#parts;
    const writesMost = this.#aloneCount > 0 ? 1 : this.#parts.writesMost;
    this.#aloneCount = Math.max(0, this.#aloneCount - 1);
    const startMs = clock.monotonic();
    const taken: Write[] = [];
    const settles: Settle[] = [];
    try {
      for (const write of this.#waiting) {
        if (taken.length >= writesMost || clock.monotonic() - startMs >= batchMsMost) break;
        taken.push(write);
        settles.push(this.#apply(write));
      }
      this.#waiting.splice(0, taken.length);
    } catch (error) {
      this.#waiting.splice(0, taken.length);
      return this.#lose(taken, error);
    }
    try {
      this.#commit.run();
    } catch (error) {
      return isConstraint(error) ? this.#refuse(taken, error) : this.#breakOff(taken, error);
    }
    return settles;
  }

  #apply(write: Write): Settle {
    this.#guarded = undefined;
    let value: unknown;
    try {
      value = write.apply(this.#guard);
    } catch (error) {
      const guarded = (this.#guarded as { readonly error: unknown } | undefined)?.error === error;
      if (!guarded || !this.#parts.connection.inTransaction) throw error;
      return () => write.reject(error);
    }
    return () => write.resolve(value as never);
  }

  #runGuarded<T>(statements: () => T): T {
    const { connection } = this.#parts;
    let value: T;
    this.#savepoint.run();
    try {
      value = statements();
    } catch (error) {
      this.#guarded = { error };
      if (connection.inTransaction) {
        this.#rollBackTo.run();
        this.#release.run();
      }
      throw error;
    }
    if (!connection.inTransaction) throw new Error("a transaction's callback ended the transaction itself");
    this.#release.run();
    return value;
  }

  /**
   * A batch cannot go on: the disk is full, a statement of the store failed, or a callback has said COMMIT or
   * ROLLBACK. What was written before a COMMIT of a callback stands, with its key, and its repeat is told so.
   */
  #lose(taken: readonly Write[], cause: unknown): readonly Settle[] {
    this.#rollBack();
    const said = cause instanceof Error ? cause.message : String(cause);
    const broken = cause instanceof StoreError && cause.broken;
    const error = new StoreError(`a batch of commands was rolled back: ${said}`, broken, cause);
    return taken.map((write) => () => write.reject(error));
  }

  /**
   * A write holds what no commit takes. Alone it is told so by the very error; among others nobody knows which
   * one it is, so none stands, and those that come again are committed one by one.
   */
  #refuse(taken: readonly Write[], cause: unknown): readonly Settle[] {
    if (taken.length > 1) {
      this.#aloneCount = aloneCountMost;
      return this.#lose(taken, cause);
    }
    this.#rollBack();
    return taken.map((write) => () => write.reject(cause));
  }

  /** After a commit that failed nobody can say what is on the disk, so nothing more is taken. */
  #breakOff(taken: readonly Write[], cause: unknown): readonly Settle[] {
    this.#rollBack();
    const { message } = this.#parts.explain(cause);
    const error = new StoreError(`a commit failed, so the store is closed: ${message}`, true, cause);
    this.#refusal = error;
    const all = [...taken, ...this.#waiting.splice(0)];
    return all.map((write) => () => write.reject(error));
  }

  #rollBack(): void {
    this.#parts.lost();
    try {
      if (this.#parts.connection.inTransaction) this.#parts.connection.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back by itself
    }
  }

  /** No transaction could begin: all that wait are told, and may come again. */
  #fail(cause: unknown): void {
    const error = this.#parts.explain(cause);
    if (error.broken) this.#refusal ??= error;
    this.#lockedSinceMs = undefined;
    for (const write of this.#waiting.splice(0)) write.reject(error);
  }
}
