/** Finds where an engine's log lies: in the store's database, or beside a store that has none. */
import { isSqlDatabase } from "../store/sql-database.ts";
import type { Store } from "../store/store.ts";
import type { EngineLog } from "./log.ts";
import { memoryLog, memoryRows } from "./memory-log.ts";
import { sqlLog } from "./sql-log.ts";

/** A log, and what the transactions are recognised by that it belongs in. */
export interface OpenLog {
  readonly log: EngineLog;
  readonly tx: unknown;
}

/**
 * Opens the log of an engine in a store.
 *
 * @throws TypeError for a store whose transactions are of a kind that no log is written for.
 */
export function openLog(store: Store, name: string): Promise<OpenLog> {
  return store.write((tx) => {
    if (tx === undefined) return { log: memoryLog(memoryRows(store, name)), tx };
    if (store.facts.synchronous && isSqlDatabase(tx)) return { log: sqlLog(tx, name), tx };
    throw new TypeError(
      "holdfast: an engine keeps its log in the store, and has none for this kind. Use sqliteStore(file), or " +
        "memoryStore() for a state that may go with the process.",
    );
  });
}
