/** The kept calls of a file, and how much each caller has of them. Every function here runs inside a transaction. */
import type { Code } from "@connectrpc/connect";
import type { Reason } from "../../runtime/base/reasons.ts";
import type { CallKey, Entry, LaneSeat, Outcome, RefusalDetail } from "../store/store.ts";
import type { SqliteConnection, SqliteValue } from "./driver.ts";

/** What a call costs beside its reply and its texts, with its share of the indexes; measured at about 300. */
const rowBytes = 320;

/** What one commit changes. */
export interface Change {
  /** The row that goes, of the same call: it had started. */
  readonly startedRow: number | undefined;
  /** The lane's calls up to `settled` go. */
  readonly lane: { readonly row: number; readonly settled: number } | undefined;
  readonly kept: Entry | undefined;
}

export interface KeptCalls {
  find(key: CallKey): Entry | undefined;
  change(change: Change): void;
  /** Drops calls that ended before a time, the oldest first, and gives how many. */
  dropOlder(beforeMs: number, countMost: number): number;
  /** When the oldest of all ended, by the store's time; undefined without any. */
  oldestMs(): number | undefined;
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
  readonly code: number | null;
  readonly reason: string | null;
  readonly message: string | null;
  readonly details: string | null;
}

/** A row that may go: its number, whose it is, what it costs and when it ended. */
type Going = readonly [id: number, quota: string, sizeBytes: number, endedAtMs: number];

export function keptCalls(connection: SqliteConnection): KeptCalls {
  const find = connection.prepare("SELECT * FROM holdfast_calls WHERE space = ? AND call_id = ?");
  const insert = connection.prepare(
    `INSERT INTO holdfast_calls (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
  );
  const started = goingOf(connection, "WHERE id = ?");
  const settledIn = goingOf(connection, "WHERE lane_id = ? AND seq <= ?");
  const oldest = goingOf(connection, "ORDER BY id LIMIT ?");
  // A DELETE that returns what it took makes a table in memory for it, which costs more than to look first.
  const drop = connection.prepare("DELETE FROM holdfast_calls WHERE id = ?");
  const dropAll = (rows: readonly Going[]): readonly Going[] => {
    for (const [id] of rows) drop.run(id);
    return rows;
  };
  const usage = usageOf(connection);

  return {
    find(key) {
      const row = find.get(key.space, key.id);
      return row === undefined || row === null ? undefined : entryOf(key, row as CallRow);
    },
    change({ startedRow, lane, kept }) {
      if (startedRow !== undefined) usage.add(dropAll(started(startedRow)), -1);
      const settled = lane === undefined ? [] : dropAll(settledIn(lane.row, lane.settled));
      if (kept === undefined) {
        usage.add(settled, -1);
        return;
      }
      const written = outcomeColumns(kept.outcome);
      const sizeBytes = sizeOf(kept, written);
      insert.run(...claimColumns(kept, lane?.row), kept.outcome.kind, ...written, sizeBytes);
      // A client that works on and settles what it has got keeps as much as before.
      const [only] = settled;
      const same = settled.length === 1 && only?.[1] === kept.quota && only[2] === sizeBytes;
      if (same) return;
      usage.add(settled, -1);
      usage.add([[0, kept.quota, sizeBytes, 0]], 1);
    },
    dropOlder(beforeMs, countMost) {
      const rows = oldest(countMost);
      const young = rows.findIndex(([, , , endedAtMs]) => endedAtMs >= beforeMs);
      const gone = young < 0 ? rows : rows.slice(0, young);
      dropAll(gone);
      usage.add(gone, -1);
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

/** Counts what each caller has. */
function usageOf(connection: SqliteConnection): { add(rows: readonly Going[], sign: 1 | -1): void } {
  const count = connection.prepare(
    `INSERT INTO holdfast_usage (quota, call_count, byte_count) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET call_count = call_count + excluded.call_count,
                               byte_count = byte_count + excluded.byte_count`,
  );
  const forget = connection.prepare("DELETE FROM holdfast_usage WHERE quota = ? AND call_count <= 0");
  return {
    add(rows, sign) {
      const changes = new Map<string, { calls: number; bytes: number }>();
      for (const [, quota, sizeBytes] of rows) {
        const { calls, bytes } = changes.get(quota) ?? { calls: 0, bytes: 0 };
        changes.set(quota, { calls: calls + sign, bytes: bytes + sign * sizeBytes });
      }
      for (const [quota, { calls, bytes }] of changes) {
        count.run(quota, calls, bytes);
        if (sign < 0) forget.run(quota);
      }
    },
  };
}

/** The columns from space to ended_at_ms. */
function claimColumns(entry: Entry, laneRow: number | undefined): readonly SqliteValue[] {
  const { fingerprint, seat } = entry;
  return [
    entry.space,
    entry.id,
    entry.quota,
    entry.method,
    fingerprint.version,
    fingerprint.schema,
    fingerprint.print,
    laneRow ?? null,
    seat?.lane ?? null,
    seat?.seq ?? null,
    entry.firstSentMs ?? null,
    entry.endedAtMs,
  ];
}

const columns = [
  "space",
  "call_id",
  "quota",
  "method",
  "print_version",
  "print_schema",
  "print",
  "lane_id",
  "lane",
  "seq",
  "first_sent_ms",
  "ended_at_ms",
  "kind",
  "reply",
  "code",
  "reason",
  "message",
  "details",
  "size_bytes",
];

/** The columns reply, code, reason, message and details. */
type OutcomeColumns = readonly [SqliteValue, SqliteValue, SqliteValue, SqliteValue, SqliteValue];

function outcomeColumns(outcome: Outcome): OutcomeColumns {
  switch (outcome.kind) {
    case "ran":
      return [outcome.reply, null, null, null, null];
    case "marker":
    case "started":
      return [null, null, null, null, null];
    case "refused":
      return [
        null,
        outcome.code,
        outcome.reason ?? null,
        outcome.message,
        outcome.details.length === 0 ? null : detailsText(outcome.details),
      ];
  }
}

function sizeOf(entry: Entry, written: OutcomeColumns): number {
  const texts = 2 * (entry.space.length + entry.id.length) + entry.quota.length + entry.method.length;
  const own = written.reduce<number>((sum, value) => sum + sizeOfValue(value), 0);
  return rowBytes + texts + own;
}

function sizeOfValue(value: SqliteValue): number {
  return typeof value === "string" || value instanceof Uint8Array ? value.length : 0;
}

function detailsText(details: readonly RefusalDetail[]): string {
  const plain = details.map(({ type, value }) => [type, Buffer.from(value).toString("base64")]);
  return JSON.stringify(plain);
}

function detailsOf(text: string | null): readonly RefusalDetail[] {
  if (text === null) return [];
  const plain = JSON.parse(text) as readonly (readonly [string, string])[];
  return plain.map(([type, value]) => ({ type, value: bytesOf(Buffer.from(value, "base64")) }));
}

/** What was written as a code is one. */
function codeOf(value: unknown): Code {
  return value as Code;
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
      return {
        kind: "refused",
        code: codeOf(row.code),
        reason: (row.reason ?? undefined) as Reason | undefined,
        message: row.message ?? "",
        details: detailsOf(row.details),
      };
  }
}
