/**
 * Values of states, checked and frozen.
 *
 * A value is shared by the object, by every holder in its process and by every frame that carries it, so that
 * nobody may change it in place: a change beside a draft would be lost, or reach holders that were told nothing.
 * Frozen, it throws where it is made. And a value that does not fit the schema is refused here, where the mistake
 * is, not when the first holder elsewhere wants it.
 *
 * What is frozen already is taken as done: so only what is new costs.
 */
import { type DescField, type DescMessage, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import { CodecError, named } from "../codec/codec-error.ts";
import {
  checkedFloat,
  checkedInt32,
  checkedLong,
  checkedUint32,
  isUnsignedLong,
} from "../codec/scalar-range.ts";
import { type Chosen, fieldsOf } from "./operation.ts";

/**
 * Freezes a message with all that is in it, and gives it back.
 *
 * @param before - the settled value that it was made from: what it shares with that is not looked at.
 * @throws TypeError naming the field whose value does not fit it.
 */
export function settled<Desc extends DescMessage>(
  desc: Desc,
  message: MessageShape<Desc>,
  before?: MessageShape<Desc>,
): MessageShape<Desc> {
  try {
    settleMessage(desc, message, before, 0);
  } catch (error) {
    if (!(error instanceof Unfit)) throw error;
    throw new TypeError(`holdfast: ${desc.typeName}${error.path}: ${error.message}`);
  }
  return message;
}

/** How deep messages may lie in each other; the codecs' limit. */
const depthMost = 100;

class Unfit extends Error {
  readonly path: string;

  constructor(problem: string, path: string) {
    super(problem);
    this.path = path;
  }
}

function settleMessage(desc: DescMessage, message: unknown, before: unknown, depth: number): void {
  if (depth >= depthMost) throw new Unfit(`messages lie more than ${depthMost} deep in each other`, "");
  if (!isObject(message) || message["$typeName"] !== desc.typeName) {
    throw new Unfit(
      `expected a ${desc.typeName}, got ${named(message)}. Make it with create(schema, { … }) of @bufbuild/protobuf`,
      "",
    );
  }
  if (Object.isFrozen(message)) return;
  const old = isObject(before) ? before : {};
  for (const member of desc.members) {
    const { localName } = member;
    if (member.kind === "field") {
      if (Object.hasOwn(message, localName)) settleField(member, message[localName], old[localName], depth);
      continue;
    }
    const chosen = message[localName] as Chosen | undefined;
    const field = member.fields.find((its) => its.localName === chosen?.case);
    const was = old[localName] as Chosen | undefined;
    if (field !== undefined) {
      settleField(field, chosen?.value, was?.case === field.localName ? was.value : undefined, depth);
    }
    if (isObject(chosen)) Object.freeze(chosen);
  }
  Object.freeze(message);
}

function settleField(field: DescField, value: unknown, before: unknown, depth: number): void {
  if (value === undefined || value === before) return;
  try {
    switch (field.fieldKind) {
      case "list":
        settleList(field, value, before, depth);
        return;
      case "map":
        settleMap(field, value, before, depth);
        return;
      default:
        settleOne(field, value, before, depth);
    }
  } catch (error) {
    if (error instanceof CodecError) throw new Unfit(error.problem, `.${field.name}`);
    if (error instanceof Unfit) throw new Unfit(error.message, `.${field.name}${error.path}`);
    throw error;
  }
}

function settleList(field: DescField, list: unknown, before: unknown, depth: number): void {
  if (!isList(list)) throw new Unfit(`expected an array, got ${named(list)}`, "");
  if (Object.isFrozen(list)) return;
  const old = isList(before) ? before : [];
  // A long list mostly shares its start and its end with the one before.
  let head = 0;
  while (head < old.length && head < list.length && old[head] === list[head]) head += 1;
  let tail = 0;
  const shared = Math.min(old.length, list.length) - head;
  while (tail < shared && old[old.length - 1 - tail] === list[list.length - 1 - tail]) tail += 1;
  const sameCount = old.length === list.length;
  for (let at = head; at < list.length - tail; at++) {
    settleOne(field, list[at], sameCount ? old[at] : undefined, depth);
  }
  Object.freeze(list);
}

function settleMap(field: DescField, map: unknown, before: unknown, depth: number): void {
  if (!isObject(map)) throw new Unfit(`expected an object, got ${named(map)}`, "");
  if (Object.isFrozen(map)) return;
  const old = isObject(before) ? before : {};
  for (const key of Object.keys(map)) {
    const was = Object.hasOwn(old, key) ? old[key] : undefined;
    if (map[key] !== was) settleOne(field, map[key], was, depth);
  }
  Object.freeze(map);
}

/** A value that is no list and no map: of the field, of an element, of an entry. */
function settleOne(field: DescField, value: unknown, before: unknown, depth: number): void {
  if (field.message !== undefined) {
    // A Struct and a wrapper such as Int32Value are kept in a form of their own, which the codecs check.
    if (field.message.typeName.startsWith("google.protobuf.")) freezePlain(value);
    else settleMessage(field.message, value, before, depth + 1);
  } else if (field.enum !== undefined) checkedInt32(value);
  else checkScalar(field.scalar, value);
}

function checkScalar(type: ScalarType, value: unknown): void {
  switch (type) {
    case ScalarType.STRING:
      if (typeof value !== "string") throw new Unfit(`expected a string, got ${named(value)}`, "");
      return;
    case ScalarType.BOOL:
      if (typeof value !== "boolean") throw new Unfit(`expected true or false, got ${named(value)}`, "");
      return;
    case ScalarType.BYTES:
      if (!(value instanceof Uint8Array)) throw new Unfit(`expected a Uint8Array, got ${named(value)}`, "");
      return;
    case ScalarType.DOUBLE:
      if (typeof value !== "number") throw new Unfit(`expected a number, got ${named(value)}`, "");
      return;
    case ScalarType.FLOAT:
      checkedFloat(value);
      return;
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      checkedInt32(value);
      return;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      checkedUint32(value);
      return;
    default:
      checkedLong(value, isUnsignedLong(type));
  }
}

/** Freezes whatever it is, but for bytes, which cannot be. */
function freezePlain(value: unknown): void {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value))
    return;
  for (const inner of Object.values(fieldsOf(value))) freezePlain(inner);
  Object.freeze(value);
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
