/**
 * The lanes of a store in memory: up to where each is settled, and which kept calls wait to be passed. What
 * the watermark has passed is dropped at once, since its client has the outcome; the lane's own row then
 * tells a late copy apart from a new call. A row that goes early leaves that to its space's fence.
 */
import { LaneNames } from "./lane-names.ts";
import type { LaneSeat } from "./store.ts";

const nothing: readonly string[] = [];

export interface MemoryLanes {
  watermark(space: string, lane: string): number;
  /** Seats a kept call, moves the watermark up to `settled`, and returns the keys that it has passed. */
  advance(
    space: string,
    seat: LaneSeat,
    call: {
      readonly settled: number;
      readonly nowMs: number;
      readonly firstSentMs: number;
      readonly key: string;
    },
  ): readonly string[];
  /** A call of the lane was dropped for want of room. */
  remove(space: string, seat: LaneSeat): void;
  /** Drops lanes whose last call ended before a time, and returns how many. */
  purge(beforeMs: number, countMost: number): number;
}

interface Row {
  readonly space: string;
  watermark: number;
  lastAtMs: number;
  /** The latest first sending among all calls that the lane ever had. */
  firstSentMs: number;
  /** The kept calls above the watermark: seq to key. */
  readonly waiting: Map<number, string>;
}

/** @param forget - told of a lane's space and its latest first sending when the lane goes before its time. */
export function memoryLanes(
  lanesMost: number,
  forget: (space: string, firstSentMs: number) => void,
): MemoryLanes {
  /** The longest unused first. */
  const rows = new Map<string, Row>();
  let newest: Row | undefined;
  const names = new LaneNames();
  return {
    watermark: (space, lane) => rows.get(names.of(space, lane))?.watermark ?? 0,
    advance(space, seat, { settled, nowMs, firstSentMs, key }) {
      const at = names.of(space, seat.lane);
      const row = rows.get(at) ?? { space, watermark: 0, lastAtMs: 0, firstSentMs: 0, waiting: new Map() };
      row.lastAtMs = nowMs;
      row.firstSentMs = Math.max(row.firstSentMs, firstSentMs);
      row.waiting.set(seat.seq, key);
      const passed = pass(row, seat.seq, settled);
      if (row !== newest) {
        rows.delete(at);
        rows.set(at, row);
        newest = row;
        dropUnused();
      }
      return passed;
    },
    remove(space, seat) {
      rows.get(names.of(space, seat.lane))?.waiting.delete(seat.seq);
    },
    purge(beforeMs, countMost) {
      let droppedCount = 0;
      for (const [at, row] of rows) {
        if (row.lastAtMs >= beforeMs || droppedCount >= countMost) break;
        rows.delete(at);
        if (row === newest) newest = undefined;
        droppedCount += 1;
      }
      return droppedCount;
    },
  };

  function dropUnused(): void {
    for (const [at, row] of rows) {
      if (rows.size <= lanesMost) return;
      rows.delete(at);
      if (row === newest) newest = undefined;
      forget(row.space, row.firstSentMs);
    }
  }
}

/** Moves the watermark, and takes out of the row what it has passed, the call just seated included. */
function pass(row: Row, newSeq: number, settled: number): readonly string[] {
  const from = row.watermark + 1;
  row.watermark = Math.max(row.watermark, settled);
  if (row.watermark < from && newSeq >= from) return nothing;
  const keys: string[] = [];
  take(row, newSeq, keys);
  // A client may claim any number, so the shorter way of the two bounds the work.
  if (row.watermark - from < row.waiting.size) {
    for (let seq = from; seq <= row.watermark; seq += 1) take(row, seq, keys);
  } else {
    for (const seq of row.waiting.keys()) take(row, seq, keys);
  }
  return keys;
}

/** Takes a call out of its row if the watermark has passed it. */
function take(row: Row, seq: number, keys: string[]): void {
  const key = seq <= row.watermark ? row.waiting.get(seq) : undefined;
  if (key === undefined) return;
  row.waiting.delete(seq);
  keys.push(key);
}
