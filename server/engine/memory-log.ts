/**
 * A log beside a store in memory. It lives as long as the store does, so that a test can start an engine anew on
 * it. Such a store cannot roll back, which the engine makes up for by `undo`.
 */
import { type CheckpointRow, checkpointsKept, type EngineLog, type LogRow } from "./log.ts";

/** What a memory log holds; a test may damage it. */
export interface MemoryRows {
  readonly rows: LogRow[];
  readonly aside: LogRow[];
  checkpoints: CheckpointRow[];
}

const byStore = new WeakMap<object, Map<string, MemoryRows>>();

/** The rows of an engine's log beside a store. */
export function memoryRows(store: object, name: string): MemoryRows {
  const logs = byStore.get(store) ?? new Map<string, MemoryRows>();
  byStore.set(store, logs);
  const rows = logs.get(name) ?? { rows: [], aside: [], checkpoints: [] };
  logs.set(name, rows);
  return rows;
}

/** Makes the log over such rows. */
export function memoryLog(held: MemoryRows): EngineLog {
  const byCall = new Map<string, LogRow>();
  const { rows } = held;
  const add = (row: LogRow): void => {
    if (row.call !== undefined) byCall.set(row.call, row);
  };
  for (const row of rows) add(row);
  /** The place of the first row with this number or a greater one. */
  const placeOf = (seq: number): number => {
    const at = rows.findIndex((row) => row.seq >= seq);
    return at === -1 ? rows.length : at;
  };
  const forget = (dropped: readonly LogRow[]): void => {
    for (const row of dropped) {
      if (row.call !== undefined && byCall.get(row.call) === row) byCall.delete(row.call);
    }
  };
  return {
    lastSeq: () => Math.max(rows.at(-1)?.seq ?? 0, held.checkpoints[0]?.seq ?? 0),
    append(row) {
      rows.push(row);
      add(row);
    },
    undo(seq) {
      if (rows.at(-1)?.seq === seq) forget(rows.splice(-1));
    },
    find(call, sinceMs) {
      const row = byCall.get(call);
      return row === undefined || row.atMs < sinceMs ? undefined : row;
    },
    read(afterSeq, countMost) {
      const from = placeOf(afterSeq + 1);
      return rows.slice(from, from + countMost);
    },
    setAside(fromSeq) {
      const moved = rows.splice(placeOf(fromSeq));
      forget(moved);
      held.aside.push(...moved);
      return moved.length;
    },
    checkpoints: {
      read: () => held.checkpoints,
      put(row) {
        held.checkpoints = [row, ...held.checkpoints].slice(0, checkpointsKept);
      },
      trim(belowSeq, beforeMs) {
        let count = 0;
        while (rows[count] !== undefined && isBefore(rows[count], belowSeq, beforeMs)) count += 1;
        forget(rows.splice(0, count));
      },
    },
  };
}

function isBefore(row: LogRow | undefined, belowSeq: number, beforeMs: number): boolean {
  return row !== undefined && row.seq < belowSeq && row.atMs < beforeMs;
}
