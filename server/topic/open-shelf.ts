/** Finds where durable topics lie: in the store's database, or beside a store that has none. */
import { isSqlDatabase } from "../store/sql-database.ts";
import type { Store } from "../store/store.ts";
import { memoryShelf } from "./memory-shelf.ts";
import type { TopicShelf } from "./shelf.ts";
import { sqlShelf } from "./sql-shelf.ts";

/**
 * The shelf of a store, inside one of its transactions.
 *
 * @throws TypeError for a store whose transactions are of a kind that there is no shelf for.
 */
export function shelfIn(store: Store, tx: unknown): TopicShelf {
  if (tx === undefined) return memoryShelf(store);
  if (store.facts.synchronous && isSqlDatabase(tx)) return sqlShelf(tx);
  throw new TypeError(
    "holdfast: a durable topic keeps its items in the server's store, and cannot in one of this kind. Use " +
      "sqliteStore(file), or a topic without { durable: true }.",
  );
}
