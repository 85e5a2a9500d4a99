/**
 * Opens a file for a store: lock, settings, tables, and what the store is. All of it happens before the server
 * takes its first call, so that what is wrong with a file is said at the start.
 */
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Random } from "../../runtime/base/random.ts";
import { type StoreVersion, stepsToRun, versionAfter } from "../store/migrate.ts";
import { StoreError } from "../store/store.ts";
import { type DriverName, openConnection, type SqliteConnection, type SqliteValue } from "./driver.ts";
import { lockWaitMsMost } from "./group-commit.ts";
import { readMark, writeMark } from "./mark-file.ts";
import { steps } from "./schema.ts";
import { takeServerLock } from "./server-lock.ts";
import { storeErrorOf } from "./sqlite-errors.ts";

/** The name of a database that lives in memory and ends with its connection. */
export const inMemory = ":memory:";

/** An open file and what it says of itself. */
export interface OpenFile {
  readonly file: string;
  readonly connection: SqliteConnection;
  readonly epoch: string;
  readonly completeSinceMs: number;
  readonly secret: Uint8Array;
  /** Why everything that was first sent before now counts as forgotten; undefined when nothing was lost. */
  readonly lost: string | undefined;
  /** Gives the database and the file beside it a new mark. Inside no transaction. */
  remark(): void;
  /** Closes the file and gives back the lock. */
  close(): void;
}

export interface OpenParts {
  readonly driver: DriverName | undefined;
  readonly random: Random;
  readonly nowMs: number;
}

/**
 * @throws StoreError saying what is wrong with the file and what to do.
 */
export function openFile(given: string, parts: OpenParts): OpenFile {
  if (given === "") throw new TypeError('sqliteStore takes the path of a file, or ":memory:".');
  const file = given === inMemory ? given : resolve(given);
  if (file !== inMemory && !existsSync(dirname(file))) {
    throw new StoreError(`the folder of ${file} is not there. Make it: mkdir -p ${dirname(file)}`, true);
  }
  let connection: SqliteConnection | undefined;
  let unlock: (() => void) | undefined;
  const close = (): void => {
    connection?.close();
    unlock?.();
  };
  try {
    connection = openConnection(file, parts.driver);
    if (file !== inMemory) unlock = takeServerLock(file, connection.driver);
    configure(connection, file);
    migrate(connection, file);
    return { file, connection, close, ...identify(connection, file, parts) };
  } catch (error) {
    close();
    throw storeErrorOf(error, file);
  }
}

/** Sets what durability rests on, and looks whether SQLite has taken it. */
function configure(connection: SqliteConnection, file: string): void {
  connection.exec(`PRAGMA busy_timeout = ${lockWaitMsMost}`);
  const mode = pragma(connection, "PRAGMA journal_mode = WAL");
  if (mode !== "wal" && file !== inMemory) {
    throw new StoreError(
      `${file} cannot use SQLite's write-ahead log (its journal mode stays ${String(mode)}), which needs a local ` +
        "disk and memory that programs share. Put the file on a local disk.",
      true,
    );
  }
  connection.exec("PRAGMA synchronous = FULL");
  const synchronous = pragma(connection, "PRAGMA synchronous");
  if (synchronous !== 2) {
    throw new StoreError(`${file}: SQLite did not take synchronous=FULL (${String(synchronous)})`, true);
  }
}

function pragma(connection: SqliteConnection, sql: string): unknown {
  const row = connection.prepare(sql).get();
  return typeof row === "object" && row !== null ? Object.values(row)[0] : undefined;
}

/** Brings the tables to this build's version, in one transaction. */
function migrate(connection: SqliteConnection, file: string): void {
  connection.exec("BEGIN IMMEDIATE");
  try {
    const found = foundVersion(connection);
    const missing = stepsToRun(steps, found, file);
    for (const { statements } of missing) connection.exec(statements);
    if (missing.length > 0) {
      const { version, leastVersion } = versionAfter(found, missing);
      writeMeta(connection, "version", version);
      writeMeta(connection, "least_version", leastVersion);
    }
    connection.exec("COMMIT");
  } catch (error) {
    if (connection.inTransaction) connection.exec("ROLLBACK");
    throw error;
  }
}

function foundVersion(connection: SqliteConnection): StoreVersion {
  const table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'holdfast_meta'";
  if (connection.prepare(table).all().length === 0) return { version: 0, leastVersion: 0 };
  return {
    version: Number(readMeta(connection, "version") ?? 0),
    leastVersion: Number(readMeta(connection, "least_version") ?? 0),
  };
}

function readMeta(connection: SqliteConnection, name: string): SqliteValue | undefined {
  const rows = connection.prepare("SELECT value FROM holdfast_meta WHERE name = ?").all(name);
  return (rows[0] as { value: SqliteValue } | undefined)?.value;
}

function writeMeta(connection: SqliteConnection, name: string, value: SqliteValue): void {
  const sql =
    "INSERT INTO holdfast_meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value";
  connection.prepare(sql).run(name, value);
}

/** Finds out whether the database is the one that was here last, and gives it a new name if it is not. */
function identify(
  connection: SqliteConnection,
  file: string,
  { random, nowMs }: OpenParts,
): Pick<OpenFile, "epoch" | "completeSinceMs" | "secret" | "lost" | "remark"> {
  const oldMark = readMeta(connection, "mark");
  const lost = file === inMemory ? undefined : whatIsLost(oldMark, file);
  const isNew = oldMark === undefined;
  if (isNew) writeMeta(connection, "secret", random.bytes(32));
  if (isNew || lost !== undefined) {
    writeMeta(connection, "complete_since_ms", Math.floor(nowMs));
    writeMeta(connection, "epoch", Buffer.from(random.bytes(6)).toString("base64url"));
  }
  let mark = isNew ? undefined : String(oldMark);
  const remark = (): void => {
    const next = Buffer.from(random.bytes(9)).toString("base64url");
    if (file !== inMemory) writeMark(file, mark === undefined ? [next] : [mark, next], nowMs);
    writeMeta(connection, "mark", next);
    if (file !== inMemory) writeMark(file, [next], nowMs);
    mark = next;
  };
  remark();
  return {
    epoch: String(readMeta(connection, "epoch")),
    completeSinceMs: Number(readMeta(connection, "complete_since_ms")),
    secret: new Uint8Array(readMeta(connection, "secret") as Uint8Array),
    lost,
    remark,
  };
}

function whatIsLost(mark: SqliteValue | undefined, file: string): string | undefined {
  const beside = readMark(file);
  if (mark === undefined) {
    return beside === undefined ? undefined : "the file is empty, and another one was here before";
  }
  if (beside === undefined) return "the file beside it that tells a restored backup is missing";
  return beside.marks.includes(String(mark)) ? undefined : "the file is an older one, such as a backup";
}
