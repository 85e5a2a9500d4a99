/** The entry of the store in a SQLite file: `holdfast/server/sqlite`. */
export type { DriverName } from "./driver.ts";
export { type SqliteStore, type SqliteStoreOptions, sqliteStore } from "./sqlite-store.ts";
