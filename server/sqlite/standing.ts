/** How a key and its caller's quota stand, in one look. */
import type { CallKey } from "../store/store.ts";
import type { SqliteConnection } from "./driver.ts";

/** Each is null where there is none. */
export interface Standing {
  /** The number of the call's row. */
  readonly callRow: number | null;
  readonly callCount: number | null;
  readonly byteCount: number | null;
}

type Columns = readonly [callRow: number | null, callCount: number | null, byteCount: number | null];

export function standingOf(
  connection: SqliteConnection,
): (key: CallKey, quota: string | undefined) => Standing {
  // Of the call nothing but its row is asked for: that much its index knows, and the table is left alone.
  const look = connection.prepareReader(
    `SELECT call.id AS call_row, usage.call_count, usage.byte_count
       FROM (SELECT 1)
       LEFT JOIN holdfast_calls AS call ON call.space = ? AND call.call_id = ?
       LEFT JOIN holdfast_usage AS usage ON usage.quota = ?`,
  );
  return ({ space, id }, quota) => {
    const [callRow, callCount, byteCount] = look.get(space, id, quota ?? null) as unknown as Columns;
    return { callRow, callCount, byteCount };
  };
}
