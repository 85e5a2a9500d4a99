/**
 * Envelopes and records as bytes, each row with a check sum: a database notices a torn write, but not a bit that
 * has turned on the disk.
 *
 * A record is decoded anew for each use of it. `apply` may put a part of one into the state, and were the two
 * copies of the state to share it, a change in one would be seen in the other.
 */
import { crc32 } from "node:zlib";
import {
  create,
  type DescMessage,
  fromBinary,
  isMessage,
  type Message,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type EngineRecord,
  EngineRecordSchema,
  type RecordEnvelope,
  RecordEnvelopeSchema,
} from "../../gen/holdfast/store/v1/engine_pb.ts";
import type { CallKey } from "../store/store.ts";
import type { LogRow } from "./log.ts";

/** Names a call in the log. An ID has no space in it, so two keys never make the same text. */
export function callText(key: CallKey): string {
  return `${key.id} ${key.space}`;
}

/** The check sum of a row's bytes. */
export function checkSum(bytes: Uint8Array): number {
  return crc32(bytes);
}

export function rowOfEnvelope(envelope: RecordEnvelope): LogRow {
  const bytes = toBinary(RecordEnvelopeSchema, envelope);
  return {
    seq: Number(envelope.seq),
    atMs: Number(envelope.atMs),
    call: envelope.call === undefined ? undefined : callText(envelope.call),
    bytes,
    crc: checkSum(bytes),
  };
}

/** The envelope of a row; undefined for a row that is not as it was written. */
export function envelopeOfRow(row: LogRow): RecordEnvelope | undefined {
  if (checkSum(row.bytes) !== row.crc) return undefined;
  let envelope: RecordEnvelope;
  try {
    envelope = fromBinary(RecordEnvelopeSchema, row.bytes);
  } catch {
    return undefined;
  }
  return Number(envelope.seq) === row.seq ? envelope : undefined;
}

/** The messages that may be records, by their names. */
export class RecordTypes<Record extends DescMessage> {
  readonly #schemas: ReadonlyMap<string, Record>;

  constructor(schemas: readonly Record[]) {
    this.#schemas = new Map(schemas.map((schema) => [schema.typeName, schema]));
  }

  /** @throws TypeError for what is no message, or one that `records` does not list. */
  encode(record: unknown): EngineRecord {
    const schema = isMessage(record) ? this.#schemas.get(record.$typeName) : undefined;
    if (schema === undefined) {
      const given = isMessage(record) ? record.$typeName : typeof record;
      throw new TypeError(
        `an engine's record is a message of its \`records\`, made with create(); this one is ${given}`,
      );
    }
    return create(EngineRecordSchema, {
      type: schema.typeName,
      value: toBinary(schema, record as MessageShape<Record>),
    });
  }

  /** @throws TypeError for a type that `records` does not list, the codec's error for what is damaged. */
  decode({ type, value }: EngineRecord): MessageShape<Record> {
    const schema = this.#schemas.get(type);
    if (schema === undefined) {
      throw new TypeError(
        `its record ${type} is unknown to this build. List it in the engine's \`records\`, or run the build that ` +
          "wrote it",
      );
    }
    return fromBinary(schema, value);
  }
}

/** Whether a message, or one inside it, has fields that this build does not know. */
export function hasUnknownFields(message: Message): boolean {
  if (message.$unknown !== undefined && message.$unknown.length > 0) return true;
  return Object.values(message).some(holdsUnknown);
}

function holdsUnknown(value: unknown): boolean {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return false;
  if (isMessage(value)) return hasUnknownFields(value);
  return Object.values(value).some(holdsUnknown); // a list, a map, or a oneof with its value
}
