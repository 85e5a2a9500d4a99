/**
 * The handle that a store with an embedded database gives to every transaction: a database of better-sqlite3 or of
 * node:sqlite, which are alike in what is used here. Parts that keep something of their own in the same commit as a
 * call (the engine's log, topics) speak through it, and know neither.
 */
type Value = string | number | Uint8Array | null;

export interface SqlStatement {
  run(...values: readonly Value[]): { readonly changes: number | bigint };
  get(...values: readonly Value[]): unknown;
  all(...values: readonly Value[]): readonly unknown[];
}

/** What both drivers' databases have. */
export interface SqlDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqlStatement;
}

/** Whether a transaction's handle is such a database. */
export function isSqlDatabase(tx: unknown): tx is SqlDatabase {
  if (typeof tx !== "object" || tx === null) return false;
  const { exec, prepare } = tx as Partial<Record<"exec" | "prepare", unknown>>;
  return typeof exec === "function" && typeof prepare === "function";
}
