/** The lanes of a file: up to where each is settled. Every function here runs inside a transaction. */
import type { SqliteConnection } from "./driver.ts";
import type { Standing } from "./standing.ts";

export interface Lanes {
  /** Moves a lane's watermark up, never back, and gives the number of its row. */
  advance(known: Standing, space: string, lane: string, settled: number, nowMs: number): number;
  /** Drops lanes whose last call ended before a time, and gives how many. */
  dropOlder(beforeMs: number, countMost: number): number;
}

/** A lane's last call is noted this exactly, which spares an index: far below what lanes are kept beyond need. */
const lastAtStepMs = 60_000;

export function lanesOf(connection: SqliteConnection): Lanes {
  const insert = connection.prepare(
    "INSERT INTO holdfast_lanes (space, lane, watermark, last_at_ms) VALUES (?, ?, ?, ?) RETURNING id",
  );
  const move = connection.prepare("UPDATE holdfast_lanes SET watermark = ? WHERE id = ?");
  const touch = connection.prepare("UPDATE holdfast_lanes SET last_at_ms = ? WHERE id = ?");
  const drop = connection.prepare(
    `DELETE FROM holdfast_lanes WHERE id IN
       (SELECT id FROM holdfast_lanes WHERE last_at_ms < ? ORDER BY last_at_ms LIMIT ?)`,
  );
  return {
    advance({ laneRow: row, watermark, lastAtMs }, space, lane, settled, nowMs) {
      if (row === null) return (insert.get(space, lane, settled, nowMs) as { id: number }).id;
      if (settled > (watermark ?? 0)) move.run(settled, row);
      if (Math.abs(nowMs - (lastAtMs ?? 0)) >= lastAtStepMs) touch.run(nowMs, row);
      return row;
    },
    dropOlder: (beforeMs, countMost) => Number(drop.run(beforeMs, countMost).changes),
  };
}
