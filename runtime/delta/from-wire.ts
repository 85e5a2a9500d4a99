/**
 * Changes as they came, checked against the schema of who reads them, and applied.
 *
 * A field that the reader's schema does not know is skipped, as codecs skip it. Everything else that does not fit
 * is an error: the replica is then no longer what the provider has, and the wire is closed.
 *
 * Source: design "Wire: State deltas".
 */
import type { DescField, DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import {
  type Error as LinkError,
  type Operation as WireOperation,
  type Change as WireChange,
  ChangeSchema,
  type Payload,
  PayloadSchema,
  type Step as WireStep,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { CodecError } from "../codec/codec-error.ts";
import type { Codec, Plain } from "../codec/codec.ts";
import { openSlot } from "../codec/slot.ts";
import { applyOperations } from "./apply.ts";
import { type Change, type Fields, type Operation, ownValue, type Step } from "./operation.ts";
import { settled } from "./settled.ts";

/** How an error of a state is read; the wire's own way is above this folder. */
export type ReadError = (failure: LinkError) => Error;

/** The value that a replica has. */
export interface Replica<Desc extends DescMessage> {
  readonly version: number;
  readonly value: MessageShape<Desc> | undefined;
}

/**
 * The change in a frame's slot, with the value that it leads to.
 *
 * @throws CodecError when it does not fit the schema or the replica.
 */
export function readChange<Desc extends DescMessage>(
  codec: Codec,
  desc: Desc,
  plain: Plain,
  replica: Replica<Desc>,
  readError: ReadError,
): Change<MessageShape<Desc>> {
  const change = codec.unshape(ChangeSchema, plain);
  const { version, kind } = change;
  if (version <= replica.version) {
    throw new CodecError(`a change to version ${version} of a state that is at ${replica.version}`);
  }
  switch (kind.case) {
    case "value":
      return { kind: "value", version, value: readValue(codec, desc, kind.value), operations: undefined };
    case "operations": {
      if (replica.value === undefined) throw new CodecError("operations on a state that has no value");
      const operations = readOperations(codec, desc, change);
      return { kind: "value", version, value: applyOperations(desc, replica.value, operations), operations };
    }
    case "failed":
      return { kind: "failed", version, failure: readError(kind.value) };
    case undefined:
      throw new CodecError("a change that says nothing");
  }
}

/** A state's whole value, frozen. */
export function readValue<Desc extends DescMessage>(
  codec: Codec,
  desc: Desc,
  payload: Payload,
): MessageShape<Desc> {
  return settled(desc, codec.unshape(desc, openSlot(PayloadSchema, payload)));
}

function readOperations(codec: Codec, desc: DescMessage, change: WireChange): readonly Operation[] {
  if (change.kind.case !== "operations") return [];
  return change.kind.value.operations.flatMap((operation) => {
    const place = placeOf(desc, operation);
    return place === undefined ? [] : [readOperation(codec, place, operation)];
  });
}

interface FieldPlace {
  readonly path: readonly Step[];
  readonly field: DescField;
}

/** Where it works; undefined when a field on the way is one that the reader does not know. */
function placeOf(desc: DescMessage, operation: WireOperation): FieldPlace | undefined {
  let target = desc;
  const path: Step[] = [];
  for (const step of operation.path) {
    const field = fieldOf(target, step.field);
    if (field === undefined) return undefined;
    if (field.message === undefined)
      throw new CodecError(`a step into ${field.toString()}, which is no message`);
    path.push({ field, at: placeInField(field, step) });
    target = field.message;
  }
  const field = fieldOf(target, operation.field);
  return field === undefined ? undefined : { path, field };
}

const byNumber = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>();

function fieldOf(desc: DescMessage, number: number): DescField | undefined {
  let fields = byNumber.get(desc);
  if (fields === undefined) {
    fields = new Map(desc.fields.map((field) => [field.number, field]));
    byNumber.set(desc, fields);
  }
  return fields.get(number);
}

function placeInField(field: DescField, { at }: WireStep): Step["at"] {
  switch (at.case) {
    case undefined:
      if (field.fieldKind === "message") return undefined;
      break;
    case "index":
      if (field.fieldKind === "list") return at.value;
      break;
    default:
      if (field.fieldKind === "map") return String(at.value);
  }
  throw new CodecError(`a step into ${field.toString()} that does not fit a ${field.fieldKind}`);
}

function readOperation(codec: Codec, place: FieldPlace, { kind }: WireOperation): Operation {
  const { field } = place;
  switch (kind.case) {
    case "set":
      return { kind: "set", ...place, part: partIn(codec, field, kind.value) };
    case "append":
      return { kind: "append", ...place, text: kind.value };
    case "splice": {
      const { index, deleteCount, insert } = kind.value;
      const elements = insert === undefined ? [] : ownValue(partIn(codec, field, insert), field);
      if (!Array.isArray(elements)) throw new CodecError(`a splice of ${field.toString()}, which is no list`);
      return { kind: "splice", ...place, index, deleteCount, insert: elements };
    }
    case "put":
      return { kind: "put", ...place, entries: entriesIn(codec, field, kind.value) };
    case "remove":
      return { kind: "remove", ...place, keys: Object.keys(entriesIn(codec, field, kind.value)) };
    case undefined:
      throw new CodecError(`an operation on ${field.toString()} that this version does not know`);
  }
}

function partIn(codec: Codec, field: DescField, payload: Payload): Message {
  return codec.unshape(field.parent, openSlot(PayloadSchema, payload));
}

function entriesIn(codec: Codec, field: DescField, payload: Payload): Fields {
  if (field.fieldKind !== "map") throw new CodecError(`entries for ${field.toString()}, which is no map`);
  return ownValue(partIn(codec, field, payload), field) as Fields;
}
