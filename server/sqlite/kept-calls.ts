/** The kept calls of a file. Every function here but the look runs inside a transaction. */
import type { Code } from "@connectrpc/connect";
import type { Reason } from "../../runtime/base/reasons.ts";
import type { CallKey, Claim, Entry, LaneSeat, Outcome } from "../store/store.ts";
import type { SqliteConnection } from "./driver.ts";
import { join, type Lane, type LaneCall, leave } from "./lanes.ts";
import { usageOf } from "./usage.ts";

/** What a call costs beside its reply and its texts, with its share of the indexes; measured at about 300. */
const rowBytes = 320;

export interface KeptCalls {
  find(key: CallKey): Entry | undefined;
  /**
   * Makes room for a call, or for its end: drops the row that says it has started, and the calls that its lane's
   * watermark has passed. Writes the call where it has an outcome.
   */
  change(change: Change): void;
  /** Drops calls that ended before a time, the oldest first, and gives how many. */
  dropOlder(beforeMs: number, countMost: number): number;
  /** When the oldest of all ended, by the store's time; undefined without any. */
  oldestMs(): number | undefined;
}

/** What one commit changes. */
export interface Change {
  readonly claim: Claim;
  readonly outcome: Outcome | undefined;
  readonly endedAtMs: number;
  /** The row of the same call that goes: it had started. */
  readonly startedRow: number | undefined;
  readonly lane: Lane | undefined;
  /** The lane's calls that go. */
  readonly passed: readonly LaneCall[];
}

interface CallRow {
  readonly quota: string;
  readonly method: string;
  readonly print_version: number;
  readonly print_schema: Uint8Array;
  readonly print: Uint8Array;
  readonly lane: string | null;
  readonly seq: number | null;
  readonly first_sent_ms: number | null;
  readonly ended_at_ms: number;
  readonly kind: Outcome["kind"];
  readonly reply: Uint8Array | null;
  readonly refusal: string | null;
}

/** A row that may go: its number, whose it is, what it costs and when it ended. */
type Going = readonly [id: number, quota: string, sizeBytes: number, endedAtMs: number];

export function keptCalls(connection: SqliteConnection): KeptCalls {
  const find = connection.prepare(
    `SELECT call.*, lane.lane FROM holdfast_calls AS call LEFT JOIN holdfast_lanes AS lane ON lane.id = lane_id
      WHERE call.space = ? AND call_id = ?`,
  );
  const insert = insertOf(connection);
  const started = goingOf(connection, "WHERE id = ?");
  const oldest = goingOf(connection, "ORDER BY id LIMIT ?");
  // A DELETE that returns what it took makes a table in memory for it, which costs more than to look first.
  const drop = connection.prepare("DELETE FROM holdfast_calls WHERE id = ?");
  const count = usageOf(connection);
  const dropAll = (rows: readonly Going[]): void => {
    for (const [id] of rows) drop.run(id);
    count(
      rows.map(([, quota, sizeBytes]) => ({ quota, sizeBytes })),
      undefined,
    );
  };

  return {
    find(key) {
      const row = find.get(key.space, key.id);
      return row === undefined || row === null ? undefined : entryOf(key, row as CallRow);
    },
    change(change) {
      const { startedRow, lane, passed, outcome } = change;
      if (startedRow !== undefined) {
        dropAll(started(startedRow));
        if (lane !== undefined) leave(lane, startedRow);
      }
      for (const { id } of passed) drop.run(id);
      const kept = outcome === undefined ? undefined : insert(change, outcome);
      if (lane !== undefined && kept !== undefined) join(lane, kept);
      count(passed, kept);
    },
    dropOlder(beforeMs, countMost) {
      const rows = oldest(countMost);
      const young = rows.findIndex(([, , , endedAtMs]) => endedAtMs >= beforeMs);
      const gone = young < 0 ? rows : rows.slice(0, young);
      dropAll(gone);
      return gone.length;
    },
    oldestMs: () => oldest(1)[0]?.[3],
  };
}

function goingOf(
  connection: SqliteConnection,
  which: string,
): (...values: readonly number[]) => readonly Going[] {
  const query = connection.prepareReader(
    `SELECT id, quota, size_bytes, ended_at_ms FROM holdfast_calls ${which}`,
  );
  return (...values) => query.all(...values) as unknown as readonly Going[];
}

/** Writes a call; gives its row. */
function insertOf(connection: SqliteConnection): (change: Change, outcome: Outcome) => LaneCall {
  const insert = connection.prepare(
    `INSERT INTO holdfast_calls (space, call_id, quota, method, print_version, print_schema, print, lane_id, seq,
       settled, first_sent_ms, ended_at_ms, kind, reply, refusal, size_bytes)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  return ({ claim, endedAtMs, lane }, outcome) => {
    const { space, id, quota, method, fingerprint } = claim;
    const seq = claim.seat?.seq ?? null;
    const reply = outcome.kind === "ran" ? outcome.reply : null;
    const refusal = outcome.kind === "refused" ? refusalText(outcome) : null;
    const textCount = 2 * (space.length + id.length) + quota.length + method.length + (refusal?.length ?? 0);
    const sizeBytes = rowBytes + textCount + (reply?.length ?? 0);
    const { lastInsertRowid } = insert.run(
      space,
      id,
      quota,
      method,
      fingerprint.version,
      fingerprint.schema,
      fingerprint.print,
      lane?.row ?? null,
      seq,
      lane?.watermark ?? null,
      claim.firstSentMs ?? null,
      endedAtMs,
      outcome.kind,
      reply,
      refusal,
      sizeBytes,
    );
    return { id: Number(lastInsertRowid), seq: seq ?? 0, quota, sizeBytes };
  };
}

type Refusal = Extract<Outcome, { kind: "refused" }>;

/** What the column `refusal` holds, as JSON. */
interface RefusalColumn {
  readonly code: Code;
  readonly reason?: Reason | undefined;
  readonly message: string;
  /** Pairs of type and base64. */
  readonly details: readonly (readonly [type: string, value: string])[];
}

function refusalText({ code, reason, message, details }: Refusal): string {
  const plain = details.map(({ type, value }) => [type, Buffer.from(value).toString("base64")] as const);
  return JSON.stringify({ code, reason, message, details: plain } satisfies RefusalColumn);
}

function refusalOf(text: string): Refusal {
  const { code, reason, message, details } = JSON.parse(text) as RefusalColumn;
  return {
    kind: "refused",
    code,
    reason,
    message,
    details: details.map(([type, value]) => ({ type, value: bytesOf(Buffer.from(value, "base64")) })),
  };
}

/** The drivers give bytes of their own kind, or part of a larger buffer. */
function bytesOf(value: Uint8Array): Uint8Array {
  return new Uint8Array(value);
}

function entryOf(key: CallKey, row: CallRow): Entry {
  return {
    space: key.space,
    id: key.id,
    quota: row.quota,
    method: row.method,
    fingerprint: {
      version: row.print_version,
      schema: bytesOf(row.print_schema),
      print: bytesOf(row.print),
    },
    seat: seatOf(row),
    firstSentMs: row.first_sent_ms ?? undefined,
    outcome: outcomeOf(row),
    endedAtMs: row.ended_at_ms,
  };
}

function seatOf({ lane, seq }: CallRow): LaneSeat | undefined {
  return lane === null || seq === null ? undefined : { lane, seq };
}

function outcomeOf(row: CallRow): Outcome {
  switch (row.kind) {
    case "ran":
      return { kind: "ran", reply: bytesOf(row.reply ?? new Uint8Array()) };
    case "marker":
    case "started":
      return { kind: row.kind };
    case "refused":
      return refusalOf(row.refusal ?? "");
  }
}
