/**
 * The lanes of a file: up to where each is settled, and which of its calls wait for that. What changes a lane
 * runs inside a transaction.
 *
 * A lane's watermark is written with each kept call, in its own row, so a command that moves it writes nothing
 * more. The lane's row has it as of its last touch; the newest of its calls has it as of now. What was asked of
 * a lane once stays in memory: one server owns the file, so nobody else moves it.
 */
import type { SqliteConnection } from "./driver.ts";

/** A kept call of a lane. */
export interface LaneCall {
  /** The number of its row. */
  readonly id: number;
  readonly seq: number;
  readonly quota: string;
  readonly sizeBytes: number;
}

/** A lane as it is known in memory. */
export interface Lane {
  readonly space: string;
  /** The number of its row. */
  readonly row: number;
  readonly watermark: number;
  /** Its calls above the watermark, in the order of seq; undefined when they are too many for memory. */
  readonly waiting: LaneCall[] | undefined;
}

export interface Lanes {
  /** 0 for a lane that is unknown. */
  watermark(space: string, lane: string): number;
  /**
   * Moves a lane's watermark up to `settled`, never back, and gives the calls that it has passed, which the
   * caller drops. The caller writes the watermark with a call, or by `note`.
   */
  advance(space: string, lane: string, settled: number, nowMs: number): readonly [Lane, readonly LaneCall[]];
  /** Writes a watermark that no kept call carries. */
  note(lane: Lane): void;
  /** Drops lanes whose last call ended before a time and that have none any more, and gives how many. */
  dropOlder(beforeMs: number, countMost: number): number;
  /** What is in memory may not be what is in the file: after a rollback, or when calls were purged. */
  forget(): void;
}

interface KnownLane extends Lane {
  watermark: number;
  touchedAtMs: number;
}

/** A lane's last call is noted this exactly, which spares a write for each. */
const touchEveryMs = 60_000;
/** What is in memory: a call takes about 100 bytes. */
const lanesMost = 2_000;
const waitingMost = 256;
const none: readonly LaneCall[] = [];

export function lanesOf(connection: SqliteConnection): Lanes {
  const rows = laneRows(connection);
  /** By lane alone: hardly ever have two callers the same one, and then they take turns here. */
  const known = new Map<string, KnownLane>();

  const laneOf = (space: string, lane: string): KnownLane | undefined => {
    const found = known.get(lane);
    if (found?.space === space) return found;
    const read = rows.read(space, lane);
    if (read === undefined) return undefined;
    if (known.size >= lanesMost) known.clear();
    known.set(lane, read);
    return read;
  };

  return {
    watermark: (space, lane) => laneOf(space, lane)?.watermark ?? 0,
    advance(space, lane, settled, nowMs) {
      let found = laneOf(space, lane);
      if (found === undefined) {
        rows.make(space, lane, nowMs);
        found = laneOf(space, lane);
        if (found === undefined) throw new TypeError("a lane that was made is there");
      }
      let passed = none;
      if (settled > found.watermark) {
        passed = found.waiting === undefined ? rows.upTo(found.row, settled) : take(found.waiting, settled);
        found.watermark = settled;
      }
      if (Math.abs(nowMs - found.touchedAtMs) >= touchEveryMs) {
        rows.touch(found, nowMs);
        found.touchedAtMs = nowMs;
      }
      return [found, passed];
    },
    note: rows.note,
    dropOlder: rows.dropOlder,
    forget: () => known.clear(),
  };
}

/** A call was written. */
export function join({ waiting }: Lane, call: LaneCall): void {
  if (waiting === undefined) return;
  const last = waiting.at(-1);
  if (last === undefined || last.seq <= call.seq) waiting.push(call);
  else waiting.splice(waiting.findLastIndex(({ seq }) => seq <= call.seq) + 1, 0, call);
}

/** A call was dropped that the watermark had not passed. */
export function leave({ waiting }: Lane, id: number): void {
  const index = waiting?.findIndex((call) => call.id === id) ?? -1;
  if (index >= 0) waiting?.splice(index, 1);
}

function take(waiting: LaneCall[], settled: number): readonly LaneCall[] {
  const above = waiting.findIndex(({ seq }) => seq > settled);
  return waiting.splice(0, above < 0 ? waiting.length : above);
}

type LaneColumns = readonly [id: number, lastAtMs: number, watermark: number, newest: number | null];
type CallColumns = readonly [id: number, seq: number, quota: string, sizeBytes: number];

/** What the tables say of lanes. */
function laneRows(connection: SqliteConnection) {
  const find = connection.prepareReader(
    `SELECT id, last_at_ms, watermark,
            (SELECT settled FROM holdfast_calls WHERE lane_id = lane.id ORDER BY id DESC LIMIT 1) AS newest
       FROM holdfast_lanes AS lane WHERE space = ? AND lane = ?`,
  );
  const calls = connection.prepareReader(
    `SELECT id, seq, quota, size_bytes FROM holdfast_calls WHERE lane_id = ? AND seq <= ? ORDER BY seq LIMIT ?`,
  );
  const insert = connection.prepare(
    "INSERT INTO holdfast_lanes (space, lane, watermark, last_at_ms) VALUES (?, ?, 0, ?)",
  );
  const touch = connection.prepare("UPDATE holdfast_lanes SET watermark = ?, last_at_ms = ? WHERE id = ?");
  const note = connection.prepare("UPDATE holdfast_lanes SET watermark = ? WHERE id = ?");
  const drop = connection.prepare(
    `DELETE FROM holdfast_lanes WHERE id IN
       (SELECT id FROM holdfast_lanes AS lane WHERE last_at_ms < ?
           AND NOT EXISTS (SELECT 1 FROM holdfast_calls WHERE lane_id = lane.id)
         ORDER BY last_at_ms LIMIT ?)`,
  );
  const callsOf = (row: number, seqMost: number, countMost: number): LaneCall[] => {
    const read = calls.all(row, seqMost, countMost) as unknown as readonly CallColumns[];
    return read.map(([id, seq, quota, sizeBytes]) => ({ id, seq, quota, sizeBytes }));
  };
  return {
    read(space: string, lane: string): KnownLane | undefined {
      const row = find.get(space, lane) as unknown as LaneColumns | undefined;
      if (row === undefined) return undefined;
      const [id, touchedAtMs, touched, newest] = row;
      const waiting = callsOf(id, Number.MAX_SAFE_INTEGER, waitingMost + 1);
      return {
        space,
        row: id,
        watermark: Math.max(touched, newest ?? 0),
        touchedAtMs,
        waiting: waiting.length > waitingMost ? undefined : waiting,
      };
    },
    make: (space: string, lane: string, nowMs: number) => void insert.run(space, lane, nowMs),
    upTo: (row: number, settled: number) => callsOf(row, settled, Number.MAX_SAFE_INTEGER),
    touch: ({ row, watermark }: Lane, nowMs: number) => void touch.run(watermark, nowMs, row),
    note: ({ row, watermark }: Lane) => void note.run(watermark, row),
    dropOlder: (beforeMs: number, countMost: number) => Number(drop.run(beforeMs, countMost).changes),
  };
}
