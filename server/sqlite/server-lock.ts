/**
 * One holdfast server a file. The journal knows in memory which calls run, so a second server on the same file
 * would run some of them again.
 *
 * The lock is SQLite's own, taken exclusively on an empty file beside the database for as long as the server
 * lives: the system drops it with the process however that ends, so there is no stale lock to judge. The
 * file stays when the server ends; to remove it would open a race.
 */
import { StoreError } from "../store/store.ts";
import { type DriverName, openConnection } from "./driver.ts";
import { readMark } from "./mark-file.ts";
import { isBusy } from "./sqlite-errors.ts";

export function lockPath(file: string): string {
  return `${file}-lock`;
}

/**
 * Takes the lock; call what it returns to give it back.
 *
 * @throws StoreError naming the server that holds it.
 */
export function takeServerLock(file: string, driver: DriverName): () => void {
  const connection = openConnection(lockPath(file), driver);
  try {
    connection.exec("PRAGMA busy_timeout = 0");
    connection.exec("PRAGMA journal_mode = MEMORY"); // nothing is ever written, so no further file is needed
    connection.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    connection.close();
    if (!isBusy(error)) throw error;
    const holder = readMark(file)?.server ?? "a process that has not named itself yet";
    throw new StoreError(
      `${file} is served by another holdfast server already (${holder}). One server a file: end that one, or ` +
        "give this one a file of its own. Programs that are no holdfast servers may use the file meanwhile.",
      true,
      error,
    );
  }
  return () => connection.close();
}
