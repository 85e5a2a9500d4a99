/**
 * A start: from the newest checkpoint and the log after it, or from the whole log, which come to the same state.
 *
 * Damage at the end of the log, with no whole envelope after it, is a write that did not end: it is set aside
 * where a person finds it, and the log ends with the last whole envelope. Damage before that is none that a
 * program may pass over, so the start stops and says what to do. Neither overwrites anything.
 *
 * Source: design "The engine: state from a log"; reliability decisions, fault F17.
 */
import { create, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import type { RecordEnvelope } from "../../gen/holdfast/store/v1/engine_pb.ts";
import type { Log } from "../../runtime/base/log.ts";
import { StoreError, type Store } from "../store/store.ts";
import { newestCheckpoint, type Position } from "./checkpoint.ts";
import type { EngineLog, LogRow } from "./log.ts";
import { envelopeOfRow, hasUnknownFields } from "./record.ts";

/** Rows that are read in one transaction: others may write between two. */
const slice = 2_000;

export interface StartParts<State extends DescMessage> {
  readonly name: string;
  readonly store: Store;
  readonly log: EngineLog;
  readonly schema: State;
  readonly initial: MessageInitShape<State> | undefined;
  /** Folds an envelope in. Gives whether it had fields that this build does not know. */
  readonly fold: (state: MessageShape<State>, envelope: RecordEnvelope) => boolean;
  /** Whether checkpoints are used. */
  readonly from: "checkpoint" | "log";
  readonly nowMs: number;
  readonly says: Log;
}

/** What a start read. */
export interface StartReport {
  /** Of the checkpoint that it began with; 0: it began with the first envelope. */
  readonly checkpointSeq: number;
  /** Envelopes that were applied after it. */
  readonly appliedCount: number;
  /** What was set aside as damaged: the number that it began with and the count of rows. Usually undefined. */
  readonly setAside: { readonly fromSeq: number; readonly count: number } | undefined;
}

export interface Started<State> extends Position<State> {
  readonly report: StartReport;
  /** Whether the log or the state has fields that this build does not know: a newer one has been here. */
  readonly newer: boolean;
}

/** Reads a state. Rejects with StoreError for a damaged log, and for records that cannot be applied. */
export async function readStart<State extends DescMessage>(
  parts: StartParts<State>,
): Promise<Started<MessageShape<State>>> {
  const { store, log, name, says } = parts;
  const checkpoint =
    parts.from === "log"
      ? undefined
      : newestCheckpoint(await store.write(() => log.checkpoints.read()), parts.schema, (seq, why) =>
          says.error(`engine ${name}: the checkpoint at ${seq} is passed over: ${why}`),
        );
  const begin = checkpoint ?? { state: create(parts.schema, parts.initial), seq: 0, atMs: 0 };
  const { state } = begin;
  let { seq, atMs } = begin;
  let newer = checkpoint !== undefined && hasUnknownFields(checkpoint.state);
  for (;;) {
    const after = seq;
    const rows = await store.write(() => log.read(after, slice));
    for (const row of rows) {
      const envelope = row.seq === seq + 1 ? envelopeOfRow(row) : undefined;
      if (envelope === undefined) {
        const setAside = await cutTail(parts, seq + 1, row);
        return { state, seq, atMs, newer, report: reportOf(begin.seq, seq, setAside) };
      }
      newer = applied(parts, state, envelope) || newer;
      ({ seq, atMs } = row);
    }
    if (rows.length === 0) break;
  }
  return { state, seq, atMs, newer, report: reportOf(begin.seq, seq, undefined) };
}

function reportOf(checkpointSeq: number, seq: number, setAside: StartReport["setAside"]): StartReport {
  return { checkpointSeq, appliedCount: seq - checkpointSeq, setAside };
}

function applied<State extends DescMessage>(
  { fold, name }: StartParts<State>,
  state: MessageShape<State>,
  envelope: RecordEnvelope,
): boolean {
  try {
    return fold(state, envelope);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new StoreError(
      `engine ${name}: envelope ${envelope.seq} (${envelope.command}) could not be applied: ${said}. A record that ` +
        "is in the log has happened, so `apply` must take it. Nothing was changed.",
      true,
      error,
    );
  }
}

/** Sets aside what is at the end of the log and damaged; rejects when something whole follows. */
async function cutTail<State extends DescMessage>(
  { store, log, name, nowMs, says }: StartParts<State>,
  seq: number,
  found: LogRow,
): Promise<NonNullable<StartReport["setAside"]>> {
  const whole = await firstWhole(store, log, seq - 1);
  if (whole !== undefined) {
    const trimmed = seq === 1 ? " (a log that is trimmed starts from its checkpoints alone)" : "";
    const what = found.seq === seq ? `envelope ${seq} is damaged` : `envelope ${seq} is missing${trimmed}`;
    throw new StoreError(
      `engine ${name}: ${what}, and ${whole} after it is whole, so this is no write that was cut short. Nothing ` +
        "was changed. Restore a backup of the store. Or give up that command and all after it: move the rows of " +
        `the table holdfast_log with engine = '${name}' and seq >= ${seq} elsewhere, and start again.`,
      true,
    );
  }
  const count = await store.write(() => log.setAside(seq, nowMs));
  says.error(
    `engine ${name}: the log's end was damaged. It now ends with envelope ${seq - 1}; ${count} rows from ${seq} on ` +
      "lie in the table holdfast_log_aside. Their commands count as never run, whatever their callers were told",
  );
  return { fromSeq: seq, count };
}

/** The number of the first whole envelope after one, which is the damaged one. */
async function firstWhole(store: Store, log: EngineLog, afterSeq: number): Promise<number | undefined> {
  for (let seq = afterSeq; ; ) {
    const from = seq;
    const rows = await store.write(() => log.read(from, slice));
    const whole = rows.find((row) => envelopeOfRow(row) !== undefined);
    if (whole !== undefined) return whole.seq;
    const last = rows.at(-1);
    if (last === undefined) return undefined;
    seq = last.seq;
  }
}
