/**
 * What SQLite's errors mean for a store, and what to do next. The drivers name them in two ways
 * (better-sqlite3 by text, node:sqlite by number), which is told apart here and nowhere else.
 */
import { StoreError } from "../store/store.ts";

/** SQLite's primary result codes that mean something to a store. */
const names: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  19: "SQLITE_CONSTRAINT",
  26: "SQLITE_NOTADB",
};

/** The primary code's name, such as `SQLITE_BUSY`; undefined for an error that is not SQLite's. */
export function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, errcode } = error as { readonly code?: unknown; readonly errcode?: unknown };
  if (typeof errcode === "number") return names[errcode & 0xff] ?? "SQLITE_ERROR";
  if (typeof code !== "string") return undefined;
  return /^SQLITE_[A-Z]+/.exec(code)?.[0];
}

/** Whether somebody else holds a lock; the same may go well a moment later. */
export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === "SQLITE_BUSY" || code === "SQLITE_LOCKED";
}

/**
 * Whether a commit was refused for what its transaction holds, such as a foreign key that leads nowhere and is
 * looked at only then. Nothing is wrong with the file.
 */
export function isConstraint(error: unknown): boolean {
  return sqliteCode(error) === "SQLITE_CONSTRAINT";
}

interface Meaning {
  /** What happened to the file, and what to do. */
  readonly text: string;
  /** Whether the store can no longer be relied on. */
  readonly broken: boolean;
}

const damaged: Meaning = {
  text:
    "is damaged, or is not a SQLite file. holdfast has not written to it. Put it aside, and restore a backup " +
    'or save what can be read with: sqlite3 FILE ".recover"',
  broken: true,
};

const meanings: Readonly<Record<string, Meaning>> = {
  SQLITE_BUSY: {
    text:
      "was locked by another program for longer than its writers wait. Let that program end its transaction " +
      "sooner; the call may be sent again",
    broken: false,
  },
  SQLITE_READONLY: {
    text: "cannot be written. Give this user the right to write the file and its folder",
    broken: true,
  },
  SQLITE_IOERR: { text: "could not be read or written by the system. Look at the disk", broken: true },
  SQLITE_CORRUPT: damaged,
  SQLITE_NOTADB: damaged,
  SQLITE_FULL: { text: "cannot grow: the disk is full. Make room", broken: false },
  SQLITE_CANTOPEN: {
    text: "cannot be opened. Check that its folder is there and that this user may write in it",
    broken: true,
  },
};

/** The store's error for something that SQLite threw, in words that say what to do. */
export function storeErrorOf(error: unknown, file: string): StoreError {
  if (error instanceof StoreError) return error;
  const code = sqliteCode(error);
  const meaning = meanings[code === "SQLITE_LOCKED" ? "SQLITE_BUSY" : (code ?? "")];
  const said = error instanceof Error ? error.message : String(error);
  if (meaning === undefined) return new StoreError(`the store in ${file} failed: ${said}`, true, error);
  return new StoreError(`${file} ${meaning.text}. (${code ?? ""}: ${said})`, meaning.broken, error);
}
