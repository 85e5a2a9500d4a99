/**
 * The seam between an engine and where its log lies: rows that carry an envelope each, and checkpoints.
 *
 * Every function is synchronous and is called inside a transaction of the store that the log belongs to, so that
 * a record, the kept call and its key are one commit. A store with a database holds the log in tables of its own
 * (`sql-log.ts`), the one in memory beside itself (`memory-log.ts`).
 *
 * Source: design "The engine: state from a log".
 */

/** One row of a log. */
export interface LogRow {
  /** 1, 2, 3 … */
  readonly seq: number;
  readonly atMs: number;
  /** Names the call; undefined for one without an ID. Not unique: an ID may come again when it is forgotten. */
  readonly call: string | undefined;
  /** A RecordEnvelope in binary protobuf. */
  readonly bytes: Uint8Array;
  /** CRC-32 of `bytes`. */
  readonly crc: number;
}

/** A checkpoint as it lies in the store. */
export interface CheckpointRow {
  readonly seq: number;
  /** An EngineCheckpoint in binary protobuf. */
  readonly bytes: Uint8Array;
  readonly crc: number;
}

/** A log. What a function throws ends the transaction that it is called in. */
export interface EngineLog {
  /** The number of the newest row or checkpoint in this transaction; 0: there is none. */
  lastSeq(): number;
  append(row: LogRow): void;
  /** Takes back the append of a row whose transaction did not stand. Nothing to do where the store does that. */
  undo(seq: number): void;
  /** The newest row of a call that is not older than a time. */
  find(call: string, sinceMs: number): LogRow | undefined;
  /** Rows after a number in their order. */
  read(afterSeq: number, countMost: number): readonly LogRow[];
  /** Moves rows from a number on aside, where nobody reads them but a person. Gives how many. */
  setAside(fromSeq: number, atMs: number): number;
  readonly checkpoints: CheckpointShelf;
}

/** A log's checkpoints. */
export interface CheckpointShelf {
  /** The newest first. */
  read(): readonly CheckpointRow[];
  /** Adds one, and drops all but the newest two: the one before is for the day when this one is damaged. */
  put(row: CheckpointRow): void;
  /** Drops rows of the log below a number that are older than a time, and so in no start and no repeat. */
  trim(belowSeq: number, beforeMs: number): void;
}

/** Checkpoints that are kept. */
export const checkpointsKept = 2;
