/**
 * The two ways to a SQLite file, behind one small face: `node:sqlite` where Node has it, so that nothing need
 * be installed, else `better-sqlite3`. Both run in the caller's thread and answer at once, which is what lets a
 * transaction's callback, the kept reply and the key share one commit without anything in between.
 */
import { createRequire } from "node:module";
import { StoreError } from "../store/store.ts";

/** Names a driver. */
export type DriverName = "node:sqlite" | "better-sqlite3";

/** What SQLite takes and gives. */
export type SqliteValue = string | number | bigint | Uint8Array | null;
export type SqliteRow = Readonly<Record<string, SqliteValue>>;

/** A row's values in the order of its columns. */
export type SqliteValues = readonly SqliteValue[];

export interface SqliteStatement {
  run(...values: readonly SqliteValue[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
  get(...values: readonly SqliteValue[]): unknown;
  all(...values: readonly SqliteValue[]): readonly unknown[];
}

/**
 * A statement whose rows come as bare values: an object with a name for each column costs more than a small
 * row's reading, and some are read for every command.
 */
export interface SqliteReader {
  get(...values: readonly SqliteValue[]): SqliteValues | undefined;
  all(...values: readonly SqliteValue[]): readonly SqliteValues[];
}

/** The part of both drivers' statement that is alike, and how each is told to leave the names out. */
interface DriverStatement extends SqliteStatement {
  /** Of better-sqlite3. */
  raw?(on: true): unknown;
  /** Of node:sqlite, from Node 22.16 on. */
  setReturnArrays?(on: true): unknown;
}

/** The part of both drivers' database that is alike. */
interface SqliteHandle {
  exec(sql: string): unknown;
  prepare(sql: string): DriverStatement;
  close(): unknown;
  /** Of better-sqlite3. */
  readonly inTransaction?: boolean;
  /** Of node:sqlite, from Node 22.16 on. */
  readonly isTransaction?: boolean;
}

/** An open file. */
export interface SqliteConnection {
  readonly driver: DriverName;
  /** The driver's own database. */
  readonly handle: unknown;
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  /** Prepares a query whose columns have different names. */
  prepareReader(sql: string): SqliteReader;
  /** Whether a transaction is open; true where the driver cannot tell. */
  readonly inTransaction: boolean;
  close(): void;
}

type OpenFile = (file: string) => SqliteHandle;

const require = createRequire(import.meta.url);

/** The version that runs on every Node that holdfast does. */
const installCommand = "npm install better-sqlite3@12.11.1";

/**
 * Opens a file, and makes it where it is missing.
 *
 * @throws StoreError when no driver can be loaded, with the command that installs one; the driver's own error
 * when the file cannot be opened.
 */
export function openConnection(file: string, wanted: DriverName | undefined): SqliteConnection {
  const [driver, open] = findDriver(wanted);
  const handle = open(file);
  return {
    driver,
    handle,
    exec: (sql) => void handle.exec(sql),
    prepare: (sql) => handle.prepare(sql),
    prepareReader: (sql) => readerOf(handle.prepare(sql)),
    get inTransaction() {
      return handle.inTransaction ?? handle.isTransaction ?? true;
    },
    close: () => void handle.close(),
  };
}

function readerOf(statement: DriverStatement): SqliteReader {
  if (statement.raw !== undefined || statement.setReturnArrays !== undefined) {
    statement.raw?.(true);
    statement.setReturnArrays?.(true);
    return statement as unknown as SqliteReader;
  }
  const valuesOf = (row: unknown): SqliteValues => Object.values(row as SqliteRow);
  return {
    get: (...values) => {
      const row = statement.get(...values);
      return row === undefined ? undefined : valuesOf(row);
    },
    all: (...values) => statement.all(...values).map(valuesOf),
  };
}

function findDriver(wanted: DriverName | undefined): readonly [DriverName, OpenFile] {
  const builtIn = wanted === "better-sqlite3" ? undefined : nodeSqlite();
  if (builtIn !== undefined) return ["node:sqlite", builtIn];
  if (wanted === "node:sqlite") {
    throw new StoreError(
      `sqliteStore: this Node (${process.version}) has no node:sqlite. Use Node 22.13 or newer, or leave the ` +
        `driver out and run: ${installCommand}`,
      true,
    );
  }
  return ["better-sqlite3", betterSqlite3()];
}

function nodeSqlite(): OpenFile | undefined {
  // Bundlers and older Nodes know no such module, so it is asked for by name at run time.
  const found: unknown = process.getBuiltinModule("node:sqlite");
  if (typeof found !== "object" || found === null || !("DatabaseSync" in found)) return undefined;
  const { DatabaseSync } = found as { DatabaseSync: new (file: string) => SqliteHandle };
  return (file) => new DatabaseSync(file);
}

function betterSqlite3(): OpenFile {
  let Database: new (file: string) => SqliteHandle;
  try {
    Database = require("better-sqlite3") as typeof Database;
    // Its native part is loaded by the first database, which may be missing although the package is there.
    new Database(":memory:").close();
  } catch (error) {
    throw new StoreError(
      `sqliteStore: no SQLite driver can be loaded. Run: ${installCommand}\n` +
        "(with npm 12 and newer also: npm approve-scripts better-sqlite3, which lets it compile its native " +
        "part), or use Node 22.13 or newer, which has node:sqlite built in.",
      true,
      error,
    );
  }
  return (file) => new Database(file);
}
