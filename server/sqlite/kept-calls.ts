/** The kept calls of a file, and how much each caller has of them. Every function here runs inside a transaction. */
import type { Code } from "@connectrpc/connect";
import type { Reason } from "../../runtime/base/reasons.ts";
import type { CallKey, Entry, LaneSeat, Outcome, RefusalDetail } from "../store/store.ts";
import type { SqliteConnection, SqliteValue } from "./driver.ts";

/** What a call costs beside its reply and its texts, with its share of the indexes; measured at about 300. */
const rowBytes = 320;

/** How much of a caller is kept. */
export interface Usage {
  readonly callCount: number;
  readonly byteCount: number;
}

export interface KeptCalls {
  find(key: CallKey): Entry | undefined;
  /** The number of a kept call's row, and whether it has only started; undefined for none. */
  look(key: CallKey): { readonly row: number; readonly started: boolean } | undefined;
  keep(entry: Entry, laneRow: number | undefined): void;
  drop(row: number): void;
  /** Drops the calls of a lane up to a number. */
  dropSettled(laneRow: number, settled: number): void;
  /** Drops calls that ended before a time, the oldest first, and gives how many. */
  dropOlder(beforeMs: number, countMost: number): number;
  usage(quota: string): Usage;
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

interface Dropped {
  readonly id: number;
  readonly quota: string;
  readonly size_bytes: number;
}

export function keptCalls(connection: SqliteConnection): KeptCalls {
  const find = connection.prepare("SELECT * FROM holdfast_calls WHERE space = ? AND call_id = ?");
  const look = connection.prepare("SELECT id, kind FROM holdfast_calls WHERE space = ? AND call_id = ?");
  const insert = connection.prepare(
    `INSERT INTO holdfast_calls (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
  );
  const remove = connection.prepare(
    "DELETE FROM holdfast_calls WHERE id = ? RETURNING id, quota, size_bytes",
  );
  const settled = connection.prepare(
    "SELECT id, quota, size_bytes FROM holdfast_calls WHERE lane_id = ? AND seq <= ?",
  );
  const older = connection.prepare(
    "SELECT id, quota, size_bytes FROM holdfast_calls WHERE ended_at_ms < ? ORDER BY ended_at_ms LIMIT ?",
  );
  const oldest = connection.prepare("SELECT min(ended_at_ms) AS at_ms FROM holdfast_calls");
  const usage = connection.prepare("SELECT call_count, byte_count FROM holdfast_usage WHERE quota = ?");
  const count = connection.prepare(
    `INSERT INTO holdfast_usage (quota, call_count, byte_count) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET call_count = call_count + excluded.call_count,
                               byte_count = byte_count + excluded.byte_count`,
  );
  const forgetUsage = connection.prepare("DELETE FROM holdfast_usage WHERE quota = ? AND call_count <= 0");

  const drop = (rows: readonly unknown[]): number => {
    const freed = new Map<string, Usage>();
    for (const row of rows as readonly Dropped[]) {
      const before = freed.get(row.quota) ?? { callCount: 0, byteCount: 0 };
      freed.set(row.quota, {
        callCount: before.callCount + 1,
        byteCount: before.byteCount + row.size_bytes,
      });
      remove.all(row.id);
    }
    for (const [quota, { callCount, byteCount }] of freed) {
      count.run(quota, -callCount, -byteCount);
      forgetUsage.run(quota);
    }
    return rows.length;
  };

  return {
    find(key) {
      const row = find.get(key.space, key.id);
      return row === undefined || row === null ? undefined : entryOf(key, row as CallRow);
    },
    look(key) {
      const row = look.get(key.space, key.id) as { id: number; kind: string } | undefined;
      return row === undefined ? undefined : { row: row.id, started: row.kind === "started" };
    },
    keep(entry, laneRow) {
      const { outcome, fingerprint } = entry;
      const written = outcomeColumns(outcome);
      const sizeBytes = sizeOf(entry, written);
      insert.run(
        entry.space,
        entry.id,
        entry.quota,
        entry.method,
        fingerprint.version,
        fingerprint.schema,
        fingerprint.print,
        laneRow ?? null,
        entry.seat?.lane ?? null,
        entry.seat?.seq ?? null,
        entry.firstSentMs ?? null,
        entry.endedAtMs,
        outcome.kind,
        ...written,
        sizeBytes,
      );
      count.run(entry.quota, 1, sizeBytes);
    },
    drop(row) {
      const rows = remove.all(row) as readonly Dropped[];
      for (const { quota, size_bytes } of rows) {
        count.run(quota, -1, -size_bytes);
        forgetUsage.run(quota);
      }
    },
    dropSettled: (laneRow, upTo) => void drop(settled.all(laneRow, upTo)),
    dropOlder: (beforeMs, countMost) => drop(older.all(beforeMs, countMost)),
    usage(quota) {
      const row = usage.get(quota) as { call_count: number; byte_count: number } | undefined;
      return { callCount: row?.call_count ?? 0, byteCount: row?.byte_count ?? 0 };
    },
    oldestMs() {
      const row = oldest.get() as { at_ms: number | null } | undefined;
      return row?.at_ms ?? undefined;
    },
  };
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
