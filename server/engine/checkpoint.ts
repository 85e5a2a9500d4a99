/**
 * Checkpoints: the state after an envelope, so that a start need not apply the whole log. A damaged one is passed
 * over for the one before it, and in the end for the log alone.
 */
import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { type EngineCheckpoint, EngineCheckpointSchema } from "../../gen/holdfast/store/v1/engine_pb.ts";
import type { CheckpointRow } from "./log.ts";
import { checkSum } from "./record.ts";

/** A state, and where it stands in its log. */
export interface Position<State> {
  readonly state: State;
  readonly seq: number;
  readonly atMs: number;
}

export function checkpointRow(
  stateType: string,
  at: { readonly seq: number; readonly atMs: number },
  state: Uint8Array,
): CheckpointRow {
  const checkpoint = create(EngineCheckpointSchema, {
    seq: BigInt(at.seq),
    atMs: BigInt(at.atMs),
    stateType,
    state,
  });
  const bytes = toBinary(EngineCheckpointSchema, checkpoint);
  return { seq: at.seq, bytes, crc: checkSum(bytes) };
}

/** The newest checkpoint that can be read; each one passed over is told of with the reason. */
export function newestCheckpoint<Schema extends DescMessage>(
  rows: readonly CheckpointRow[],
  schema: Schema,
  passedOver: (seq: number, why: string) => void,
): Position<MessageShape<Schema>> | undefined {
  for (const row of rows) {
    const read = readRow(row, schema);
    if (typeof read !== "string") return read;
    passedOver(row.seq, read);
  }
  return undefined;
}

/** The checkpoint of a row, or why it cannot be used. */
function readRow<Schema extends DescMessage>(
  row: CheckpointRow,
  schema: Schema,
): Position<MessageShape<Schema>> | string {
  if (checkSum(row.bytes) !== row.crc) return "its bytes are not as they were written";
  let checkpoint: EngineCheckpoint;
  try {
    checkpoint = fromBinary(EngineCheckpointSchema, row.bytes);
    if (checkpoint.stateType !== schema.typeName) {
      return `it holds a ${checkpoint.stateType}, and the engine's state is ${schema.typeName}`;
    }
    const state = fromBinary(schema, checkpoint.state);
    return { state, seq: Number(checkpoint.seq), atMs: Number(checkpoint.atMs) };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
