/** The lanes of a file: up to where each is settled. Every function here runs inside a transaction but `watermark`. */
import type { SqliteConnection } from "./driver.ts";

export interface Lanes {
  /** 0 for a lane that is unknown. */
  watermark(space: string, lane: string): number;
  /** Moves a lane's watermark up, never back, and gives the number of its row. */
  advance(space: string, lane: string, settled: number, nowMs: number): number;
  /** Drops lanes whose last call ended before a time, and gives how many. */
  dropOlder(beforeMs: number, countMost: number): number;
}

interface LaneRow {
  readonly id: number;
  readonly watermark: number;
  readonly last_at_ms: number;
}

/** A lane's last call is noted this exactly, which spares an index: far below what lanes are kept beyond need. */
const lastAtStepMs = 60_000;

export function lanesOf(connection: SqliteConnection): Lanes {
  const find = connection.prepare(
    "SELECT id, watermark, last_at_ms FROM holdfast_lanes WHERE space = ? AND lane = ?",
  );
  const insert = connection.prepare(
    "INSERT INTO holdfast_lanes (space, lane, watermark, last_at_ms) VALUES (?, ?, ?, ?) RETURNING id",
  );
  const move = connection.prepare("UPDATE holdfast_lanes SET watermark = ? WHERE id = ?");
  const touch = connection.prepare("UPDATE holdfast_lanes SET last_at_ms = ? WHERE id = ?");
  const drop = connection.prepare(
    `DELETE FROM holdfast_lanes WHERE id IN
       (SELECT id FROM holdfast_lanes WHERE last_at_ms < ? ORDER BY last_at_ms LIMIT ?)`,
  );
  const rowOf = (space: string, lane: string): LaneRow | undefined =>
    (find.get(space, lane) ?? undefined) as LaneRow | undefined;
  return {
    watermark: (space, lane) => rowOf(space, lane)?.watermark ?? 0,
    advance(space, lane, settled, nowMs) {
      const known = rowOf(space, lane);
      if (known === undefined) return (insert.get(space, lane, settled, nowMs) as { id: number }).id;
      if (settled > known.watermark) move.run(settled, known.id);
      if (Math.abs(nowMs - known.last_at_ms) >= lastAtStepMs) touch.run(nowMs, known.id);
      return known.id;
    },
    dropOlder: (beforeMs, countMost) => Number(drop.run(beforeMs, countMost).changes),
  };
}
