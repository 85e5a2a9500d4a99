/**
 * The file beside the database by which a restored backup is noticed.
 *
 * A database that was put back from a backup has forgotten calls and does not know it. So the database and a
 * small file beside it, which no backup should hold, carry the same random mark, changed at each start and
 * while the server works. When they differ, or the file is missing, the database is not the one that was here
 * last, and every call that was first sent before now may have been forgotten.
 *
 * The file also says which process serves the database, for the error of a second one.
 *
 * Source: reliability decision D18.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";

/** What the file says. */
export interface Mark {
  /** The database's mark is one of these: two while it is being changed. */
  readonly marks: readonly string[];
  /** Who serves the database. */
  readonly server: string;
}

export function markPath(file: string): string {
  return `${file}-mark`;
}

/** Undefined when there is no file, or none that can be read. */
export function readMark(file: string): Mark | undefined {
  try {
    const found = JSON.parse(readFileSync(markPath(file), "utf8")) as Partial<Mark> | null;
    if (!Array.isArray(found?.marks) || typeof found.server !== "string") return undefined;
    return { marks: found.marks.filter((mark) => typeof mark === "string"), server: found.server };
  } catch {
    return undefined;
  }
}

/** Writes the file so that a crash at any moment leaves the old one or the new one. */
export function writeMark(file: string, marks: readonly string[], sinceMs: number): void {
  const server = `process ${process.pid} on ${hostname()}, since ${new Date(sinceMs).toISOString()}`;
  const path = markPath(file);
  const draft = `${path}.new`;
  const written = openSync(draft, "w", 0o600);
  try {
    writeSync(written, `${JSON.stringify({ marks, server } satisfies Mark)}\n`);
    fsyncSync(written);
  } finally {
    closeSync(written);
  }
  renameSync(draft, path);
  syncFolder(dirname(path));
}

/** Makes a rename durable. Systems that cannot open a folder do it by themselves. */
function syncFolder(folder: string): void {
  let opened: number | undefined;
  try {
    opened = openSync(folder, "r");
    fsyncSync(opened);
  } catch {
    // nothing more can be done, and nothing wrong follows: an older mark only refuses too much
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}
