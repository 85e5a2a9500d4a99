/** Durable topics in two tables of the store's own database. A build that does not know them can ignore them. */
import type { SqlDatabase } from "../store/sql-database.ts";
import type { RingBounds } from "./ring.ts";
import type { ShelvedItem, TopicShelf } from "./shelf.ts";

// A topic's row stays for ever: its number is never given twice under one epoch of the store.
const tables = `
  CREATE TABLE IF NOT EXISTS holdfast_topics (
    id INTEGER PRIMARY KEY,
    topic TEXT NOT NULL UNIQUE,
    seq INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS holdfast_topic_items (
    topic_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    item BLOB NOT NULL,
    PRIMARY KEY (topic_id, seq)
  ) WITHOUT ROWID;
`;

/** Old items go when so many are too many: one DELETE for many items. */
const dropEvery = 64;
/** Items that are read at a time, from the newest on. */
const pageCount = 64;

interface TopicRow {
  readonly id: number;
  readonly seq: number;
}

interface ItemRow {
  readonly seq: number;
  readonly item: Uint8Array;
}

/** Opens the shelf in a database, inside a transaction, and makes its tables where they are missing. */
export function sqlShelf(database: SqlDatabase): TopicShelf {
  database.exec(tables);
  const number = database.prepare(
    `INSERT INTO holdfast_topics (topic, seq) VALUES (?, 1)
     ON CONFLICT (topic) DO UPDATE SET seq = seq + 1 RETURNING id, seq`,
  );
  const insert = database.prepare("INSERT INTO holdfast_topic_items (topic_id, seq, item) VALUES (?, ?, ?)");
  const drop = database.prepare("DELETE FROM holdfast_topic_items WHERE topic_id = ? AND seq <= ?");
  const find = database.prepare("SELECT id, seq FROM holdfast_topics WHERE topic = ?");
  const page = database.prepare(
    `SELECT seq, item FROM holdfast_topic_items WHERE topic_id = ? AND seq > ? AND seq <= ?
     ORDER BY seq DESC LIMIT ${pageCount}`,
  );
  return {
    rollsBack: true,
    append(topic, bytes, keepCount) {
      const { id, seq } = number.get(topic) as TopicRow;
      insert.run(id, seq, bytes);
      if (seq % dropEvery === 0 && seq > keepCount) drop.run(id, seq - keepCount);
      return seq;
    },
    read(topic, afterSeq, bounds) {
      const row = find.get(topic) as TopicRow | undefined;
      if (row === undefined) return { lastSeq: 0, items: [] };
      const pages = (upToSeq: number): readonly ItemRow[] =>
        page.all(row.id, afterSeq, upToSeq) as readonly ItemRow[];
      return { lastSeq: row.seq, items: newest(row.seq, pages, bounds) };
    },
  };
}

/** From the newest item back, as far as bounds and rows allow; a hole ends it. */
function newest(
  lastSeq: number,
  pages: (upToSeq: number) => readonly ItemRow[],
  { countMost, bytesMost }: RingBounds,
): readonly ShelvedItem[] {
  const items: ShelvedItem[] = [];
  let bytes = 0;
  for (;;) {
    const nextSeq = lastSeq - items.length;
    const rows = pages(nextSeq);
    for (const { seq, item } of rows) {
      bytes += item.length;
      const full = items.length >= countMost || (bytes > bytesMost && items.length > 0);
      if (full || seq !== lastSeq - items.length) return items.reverse();
      items.push({ seq, bytes: new Uint8Array(item) }); // a driver may give part of a larger buffer
    }
    if (rows.length < pageCount) return items.reverse();
  }
}
