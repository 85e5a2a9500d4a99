/** Folds an envelope's records into a state, each with where it comes from. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { RecordEnvelope } from "../../gen/holdfast/store/v1/engine_pb.ts";
import type { RecordTypes } from "./record.ts";
import type { Origin } from "./rules.ts";

export function originOf(envelope: RecordEnvelope): Origin {
  return {
    seq: Number(envelope.seq),
    atMs: Number(envelope.atMs),
    by: envelope.by === "" ? undefined : envelope.by,
  };
}

/** Makes the function that folds an envelope in, and gives the records that it folded. */
export function createFold<State, Record extends DescMessage>(
  types: RecordTypes<Record>,
  apply: (state: State, record: MessageShape<Record>, origin: Origin) => void,
): (state: State, envelope: RecordEnvelope) => readonly MessageShape<Record>[] {
  return (state, envelope) => {
    const origin = originOf(envelope);
    return envelope.records.map((each) => {
      const record = types.decode(each);
      apply(state, record, origin);
      return record;
    });
  };
}
