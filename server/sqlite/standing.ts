/** How a key, its lane and its caller's quota stand, in one look: it is asked twice for each command. */
import type { CallKey } from "../store/store.ts";
import type { SqliteConnection } from "./driver.ts";

/** Numbers are of rows; null where there is none. */
export interface Standing {
  readonly callRow: number | null;
  readonly laneRow: number | null;
  readonly watermark: number | null;
  readonly lastAtMs: number | null;
  readonly callCount: number | null;
  readonly byteCount: number | null;
}

type Columns = readonly [
  callRow: number | null,
  laneRow: number | null,
  watermark: number | null,
  lastAtMs: number | null,
  callCount: number | null,
  byteCount: number | null,
];

export function standingOf(
  connection: SqliteConnection,
): (key: CallKey, lane: string | undefined, quota: string | undefined) => Standing {
  // Of the call nothing but its row is asked for: that much its index knows, and the table is left alone.
  const look = connection.prepareReader(
    `SELECT call.id AS call_row, lane.id AS lane_row, lane.watermark, lane.last_at_ms,
            usage.call_count, usage.byte_count
       FROM (SELECT 1)
       LEFT JOIN holdfast_calls AS call ON call.space = ? AND call.call_id = ?
       LEFT JOIN holdfast_lanes AS lane ON lane.space = ? AND lane.lane = ?
       LEFT JOIN holdfast_usage AS usage ON usage.quota = ?`,
  );
  return (key, lane, quota) => {
    const row = look.get(key.space, key.id, key.space, lane ?? null, quota ?? null);
    const [callRow, laneRow, watermark, lastAtMs, callCount, byteCount] = row as unknown as Columns;
    return { callRow, laneRow, watermark, lastAtMs, callCount, byteCount };
  };
}
