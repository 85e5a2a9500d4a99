/**
 * A log in tables of the store's own database, so that a record is in the same commit as the kept call and its
 * key.
 */
import type { SqlDatabase } from "../store/sql-database.ts";
import { type CheckpointRow, checkpointsKept, type EngineLog, type LogRow } from "./log.ts";

interface SqlRow {
  readonly seq: number;
  readonly at_ms: number;
  readonly call: string | null;
  readonly envelope: Uint8Array;
  readonly crc: number;
}

interface SqlCheckpoint {
  readonly seq: number;
  readonly checkpoint: Uint8Array;
  readonly crc: number;
}

/** Opens an engine's log in a database, inside a transaction. Its tables are the store's to make, with its own. */
export function sqlLog(database: SqlDatabase, engine: string): EngineLog {
  const last = database.prepare(
    `SELECT max(
       coalesce((SELECT max(seq) FROM holdfast_log WHERE engine = ?), 0),
       coalesce((SELECT max(seq) FROM holdfast_log_checkpoints WHERE engine = ?), 0)
     ) AS seq`,
  );
  const insert = database.prepare(
    "INSERT INTO holdfast_log (engine, seq, at_ms, call, envelope, crc) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const columns = "seq, at_ms, call, envelope, crc";
  const find = database.prepare(
    // By name, or SQLite takes the order for the dearer part and walks the log back from its end.
    `SELECT ${columns} FROM holdfast_log INDEXED BY holdfast_log_by_call
     WHERE engine = ? AND call = ? ORDER BY seq DESC LIMIT 1`,
  );
  const read = database.prepare(
    `SELECT ${columns} FROM holdfast_log WHERE engine = ? AND seq > ? ORDER BY seq LIMIT ?`,
  );
  const copyAside = database.prepare(
    `INSERT INTO holdfast_log_aside (engine, set_aside_at_ms, ${columns})
     SELECT engine, ?, ${columns} FROM holdfast_log WHERE engine = ? AND seq >= ?`,
  );
  const remove = database.prepare("DELETE FROM holdfast_log WHERE engine = ? AND seq >= ?");
  return {
    lastSeq: () => (last.get(engine, engine) as { readonly seq: number }).seq,
    append: (row) => void insert.run(engine, row.seq, row.atMs, row.call ?? null, row.bytes, row.crc),
    undo: () => undefined, // the transaction has
    find(call, sinceMs) {
      const row = find.get(engine, call) as SqlRow | undefined;
      return row === undefined || row.at_ms < sinceMs ? undefined : rowOf(row);
    },
    read: (afterSeq, countMost) => (read.all(engine, afterSeq, countMost) as readonly SqlRow[]).map(rowOf),
    setAside(fromSeq, atMs) {
      copyAside.run(atMs, engine, fromSeq);
      return Number(remove.run(engine, fromSeq).changes);
    },
    checkpoints: sqlCheckpoints(database, engine),
  };
}

function sqlCheckpoints(database: SqlDatabase, engine: string): EngineLog["checkpoints"] {
  const read = database.prepare(
    "SELECT seq, checkpoint, crc FROM holdfast_log_checkpoints WHERE engine = ? ORDER BY seq DESC",
  );
  const put = database.prepare(
    "INSERT OR REPLACE INTO holdfast_log_checkpoints (engine, seq, checkpoint, crc) VALUES (?, ?, ?, ?)",
  );
  const drop = database.prepare(
    `DELETE FROM holdfast_log_checkpoints WHERE engine = ? AND seq NOT IN
       (SELECT seq FROM holdfast_log_checkpoints WHERE engine = ? ORDER BY seq DESC LIMIT ?)`,
  );
  const trim = database.prepare(
    // Times never fall along a log, so the first row that is young enough ends the search.
    `DELETE FROM holdfast_log WHERE engine = ? AND seq < min(?, coalesce(
       (SELECT seq FROM holdfast_log WHERE engine = ? AND at_ms >= ? ORDER BY seq LIMIT 1), ?))`,
  );
  return {
    read: () => (read.all(engine) as readonly SqlCheckpoint[]).map(checkpointOf),
    put({ seq, bytes, crc }) {
      put.run(engine, seq, bytes, crc);
      drop.run(engine, engine, checkpointsKept);
    },
    trim: (belowSeq, beforeMs) => void trim.run(engine, belowSeq, engine, beforeMs, belowSeq),
  };
}

// The drivers give bytes of their own kind, or part of a larger buffer.
function rowOf(row: SqlRow): LogRow {
  const bytes = new Uint8Array(row.envelope);
  return { seq: row.seq, atMs: row.at_ms, call: row.call ?? undefined, bytes, crc: row.crc };
}

function checkpointOf(row: SqlCheckpoint): CheckpointRow {
  return { seq: row.seq, bytes: new Uint8Array(row.checkpoint), crc: row.crc };
}
