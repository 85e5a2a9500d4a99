/** How a key, its lane and its caller's quota stand, in one look: it is asked twice for each command. */
import type { CallKey } from "../store/store.ts";
import type { SqliteConnection } from "./driver.ts";

/** Numbers are of rows; null where there is none. */
export interface Standing {
  readonly call_row: number | null;
  readonly kind: string | null;
  readonly lane_row: number | null;
  readonly watermark: number | null;
  readonly last_at_ms: number | null;
  readonly call_count: number | null;
  readonly byte_count: number | null;
}

export function standingOf(
  connection: SqliteConnection,
): (key: CallKey, lane: string | undefined, quota: string | undefined) => Standing {
  const look = connection.prepare(
    `SELECT call.id AS call_row, call.kind, lane.id AS lane_row, lane.watermark, lane.last_at_ms,
            usage.call_count, usage.byte_count
       FROM (SELECT 1)
       LEFT JOIN holdfast_calls AS call ON call.space = ? AND call.call_id = ?
       LEFT JOIN holdfast_lanes AS lane ON lane.space = ? AND lane.lane = ?
       LEFT JOIN holdfast_usage AS usage ON usage.quota = ?`,
  );
  return (key, lane, quota) =>
    look.get(key.space, key.id, key.space, lane ?? null, quota ?? null) as Standing;
}
