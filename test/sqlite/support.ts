/** Stores in files of a folder that goes with the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { type SqliteStore, type SqliteStoreOptions, sqliteStore } from "../../server/sqlite/sqlite-store.ts";

/** What better-sqlite3's and node:sqlite's databases have in common. */
export interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): {
    run(...values: unknown[]): unknown;
    get(...values: unknown[]): unknown;
    all(...values: unknown[]): readonly unknown[];
  };
  close(): void;
}

export interface Folder extends AsyncDisposable {
  readonly clock: VirtualClock;
  path(name: string): string;
  open(options?: SqliteStoreOptions, name?: string): SqliteStore;
  /** Another program's connection to the file. */
  connect(name?: string): Database;
}

export function folder(): Folder {
  const root = mkdtempSync(join(tmpdir(), "holdfast-sqlite-"));
  const clock = virtualClock();
  const opened: SqliteStore[] = [];
  const connected: Database[] = [];
  const path = (name: string): string => join(root, name);
  let seed = 0;
  return {
    clock,
    path,
    open(options = {}, name = "board.db") {
      seed += 1;
      const store = sqliteStore(path(name), { clock, random: seededRandom(seed), ...options });
      opened.push(store);
      return store;
    },
    connect(name = "board.db") {
      const BetterSqlite3 = createRequire(import.meta.url)("better-sqlite3") as new (
        file: string,
      ) => Database;
      const database = new BetterSqlite3(path(name));
      connected.push(database);
      return database;
    },
    async [Symbol.asyncDispose]() {
      for (const store of opened) await store.close();
      for (const database of connected) database.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** The user's own database of a store. */
export function databaseOf(store: SqliteStore): Database {
  return store.database as Database;
}
