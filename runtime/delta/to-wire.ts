/**
 * Changes as they travel: shaped once for each codec, however many holders get them.
 *
 * Source: design "Wire: State deltas".
 */
import {
  create,
  type DescField,
  type DescMessage,
  type Message,
  type MessageInitShape,
  ScalarType,
} from "@bufbuild/protobuf";
import {
  ChangeSchema,
  type Error as LinkError,
  OperationsSchema,
  type OperationSchema,
  type Payload,
  PayloadSchema,
  type Step as WireStep,
  StepSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Codec, Plain } from "../codec/codec.ts";
import { setEntry } from "../codec/map-key.ts";
import { fillSlot } from "../codec/slot.ts";
import { type Change, type Fields, type Operation, putValue, type Step } from "./operation.ts";

/** How an error of a state is written; the wire's own way is above this folder. */
export type WriteError = (failure: Error) => LinkError;

/** Remembers what was shaped, as long as the change or the value itself is remembered. */
class Shaped {
  /** Things are many, codecs two. */
  readonly #byCodec = new WeakMap<Codec, WeakMap<object, Plain>>();

  get(thing: object, codec: Codec, shape: () => Plain): Plain {
    let plains = this.#byCodec.get(codec);
    if (plains === undefined) this.#byCodec.set(codec, (plains = new WeakMap<object, Plain>()));
    let plain = plains.get(thing);
    if (plain === undefined) plains.set(thing, (plain = shape()));
    return plain;
  }
}

const changes = new Shaped();
const values = new Shaped();

/**
 * A change as the content of a frame's slot.
 *
 * @throws CodecError when the codec refuses a value, such as a message in an Any that its registry does not know.
 */
export function shapedChange(codec: Codec, desc: DescMessage, change: Change, writeError: WriteError): Plain {
  return changes.get(change, codec, () =>
    codec.shape(ChangeSchema, create(ChangeSchema, wireChange(codec, desc, change, writeError))),
  );
}

/** A state's whole value as the content of a slot: the same for all who bind to it. */
export function shapedValue(codec: Codec, desc: DescMessage, value: Message): Plain {
  return values.get(value, codec, () => codec.shape(desc, value));
}

function wireChange(
  codec: Codec,
  desc: DescMessage,
  change: Change,
  writeError: WriteError,
): MessageInitShape<typeof ChangeSchema> {
  const { version } = change;
  if (change.kind === "failed") {
    return { version, kind: { case: "failed", value: writeError(change.failure) } };
  }
  if (change.operations === undefined) {
    const value = fillSlot(PayloadSchema, shapedValue(codec, desc, change.value));
    return { version, kind: { case: "value", value } };
  }
  const operations = change.operations.map((operation) => wireOperation(codec, operation));
  return { version, kind: { case: "operations", value: create(OperationsSchema, { operations }) } };
}

function wireOperation(codec: Codec, operation: Operation): MessageInitShape<typeof OperationSchema> {
  const { field } = operation;
  return { path: operation.path.map(wireStep), field: field.number, kind: wireKind(codec, operation) };
}

function wireKind(
  codec: Codec,
  operation: Operation,
): NonNullable<MessageInitShape<typeof OperationSchema>["kind"]> {
  const { field } = operation;
  switch (operation.kind) {
    case "set":
      return { case: "set", value: payload(codec, field, operation.part) };
    case "append":
      return { case: "append", value: operation.text };
    case "splice": {
      const { index, deleteCount, insert } = operation;
      if (insert.length === 0) return { case: "splice", value: { index, deleteCount } };
      return {
        case: "splice",
        value: { index, deleteCount, insert: payload(codec, field, partOf(field, insert)) },
      };
    }
    case "put":
      return { case: "put", value: payload(codec, field, partOf(field, operation.entries)) };
    case "remove": {
      const entries: Fields = {};
      for (const key of operation.keys) setEntry(entries, key, emptyValue(field));
      return { case: "remove", value: payload(codec, field, partOf(field, entries)) };
    }
  }
}

/** A message that has this field alone. */
function partOf(field: DescField, value: unknown): Message {
  const part = create(field.parent);
  putValue(part, field, value);
  return part;
}

function payload(codec: Codec, field: DescField, part: Message): Payload {
  return fillSlot(PayloadSchema, codec.shape(field.parent, part));
}

/** Something that fits as the value of a key which only goes. */
function emptyValue(field: DescField): unknown {
  if (field.message !== undefined) return create(field.message);
  if (field.enum !== undefined) return field.enum.values[0]?.number ?? 0;
  return emptyScalars.get(field.scalar) ?? 0;
}

const longs = [
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
];
const emptyScalars: ReadonlyMap<ScalarType, unknown> = new Map<ScalarType, unknown>([
  [ScalarType.STRING, ""],
  [ScalarType.BOOL, false],
  [ScalarType.BYTES, new Uint8Array()],
  ...longs.map((type) => [type, 0n] as const),
]);

function wireStep({ field, at }: Step): WireStep {
  return create(StepSchema, { field: field.number, at: wirePlace(field, at) });
}

function wirePlace(field: DescField, at: Step["at"]): NonNullable<MessageInitShape<typeof StepSchema>["at"]> {
  if (at === undefined) return { case: undefined };
  if (typeof at === "number") return { case: "index", value: at };
  switch (field.fieldKind === "map" ? field.mapKey : ScalarType.STRING) {
    case ScalarType.STRING:
      return { case: "stringKey", value: at };
    case ScalarType.BOOL:
      return { case: "boolKey", value: at === "true" };
    case ScalarType.UINT32:
    case ScalarType.UINT64:
    case ScalarType.FIXED32:
    case ScalarType.FIXED64:
      return { case: "unsignedKey", value: BigInt(at) };
    default:
      return { case: "integerKey", value: BigInt(at) };
  }
}
