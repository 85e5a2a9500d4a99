/** How many calls each caller has in a file, and how large. What counts runs inside a transaction. */
import type { SqliteConnection } from "./driver.ts";

/** A call that comes or goes. */
export interface Counted {
  readonly quota: string;
  readonly sizeBytes: number;
}

/** Counts calls that went, and the one that came. Writes nothing for a caller that has as much as before. */
export function usageOf(
  connection: SqliteConnection,
): (gone: readonly Counted[], came: Counted | undefined) => void {
  const count = connection.prepare(
    `INSERT INTO holdfast_usage (quota, call_count, byte_count) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET call_count = call_count + excluded.call_count,
                               byte_count = byte_count + excluded.byte_count`,
  );
  const forget = connection.prepare("DELETE FROM holdfast_usage WHERE quota = ? AND call_count <= 0");
  return (gone, came) => {
    const [first] = gone;
    // A client that works on and settles what it has got: by far the most frequent.
    if (gone.length === 1 && first?.quota === came?.quota && first?.sizeBytes === came?.sizeBytes) return;
    const changes = new Map<string, { callCount: number; byteCount: number }>();
    const add = ({ quota, sizeBytes }: Counted, sign: 1 | -1): void => {
      const { callCount, byteCount } = changes.get(quota) ?? { callCount: 0, byteCount: 0 };
      changes.set(quota, { callCount: callCount + sign, byteCount: byteCount + sign * sizeBytes });
    };
    for (const call of gone) add(call, -1);
    if (came !== undefined) add(came, 1);
    for (const [quota, { callCount, byteCount }] of changes) {
      if (callCount === 0 && byteCount === 0) continue;
      count.run(quota, callCount, byteCount);
      if (callCount < 0) forget.run(quota);
    }
  };
}
