/**
 * From two values of a state to the operations that lead from one to the other.
 *
 * It compares the values themselves, by the schema and by identity, and reads no patches of the draft: what a draft
 * left alone is the same object, so that the walk goes only where something changed. Patches would know neither
 * that a text grew at its end nor that a list was moved by one, and need a second translation for maps and oneofs.
 *
 * Source: design "Wire: State deltas".
 */
import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { setEntry } from "../codec/map-key.ts";
import { gapsOf } from "./list-diff.ts";
import {
  type Chosen,
  type Fields,
  fieldsOf,
  type Operation,
  operationCountMost,
  ownValue,
  putValue,
  type Step,
} from "./operation.ts";

/** An element of a list with more changes than this is replaced. */
const elementOperationCountMost = 3;

/** The operations; undefined when there are too many, or the whole message has to be sent. */
export function operationsBetween(
  desc: DescMessage,
  before: object,
  after: object,
): readonly Operation[] | undefined {
  const operations: Operation[] = [];
  const said = diffMessage(desc, before, after, [], operations);
  return said && operations.length <= operationCountMost ? operations : undefined;
}

type Path = readonly Step[];

/** Adds what leads from one message to the other; false, with nothing added, when only the whole one can be sent. */
function diffMessage(
  desc: DescMessage,
  before: object,
  after: object,
  path: Path,
  into: Operation[],
): boolean {
  if (before === after) return true;
  if (!isDivisible(desc) || fieldsOf(before)["$unknown"] !== fieldsOf(after)["$unknown"]) return false;
  for (const member of desc.members) {
    if (member.kind === "field") {
      diffField(desc, member, before, after, path, into);
      continue;
    }
    const was = chosenField(member.fields, fieldsOf(before)[member.localName]);
    const is = chosenField(member.fields, fieldsOf(after)[member.localName]);
    // Cleared first: a reader whose schema lacks the new field must not keep the old one.
    if (was !== undefined && was !== is) into.push({ kind: "set", path, field: was, part: create(desc) });
    if (is !== undefined) diffField(desc, is, before, after, path, into);
  }
  return true;
}

function chosenField(fields: readonly DescField[], chosen: unknown): DescField | undefined {
  const name = (chosen as Chosen | undefined)?.case;
  return name === undefined ? undefined : fields.find(({ localName }) => localName === name);
}

function diffField(
  desc: DescMessage,
  field: DescField,
  before: object,
  after: object,
  path: Path,
  into: Operation[],
): void {
  const was = ownValue(before, field);
  const is = ownValue(after, field);
  if (Object.is(was, is)) return;
  if (field.fieldKind === "list" && Array.isArray(was) && Array.isArray(is)) {
    diffList(field, was, is, path, into);
    return;
  }
  if (field.fieldKind === "map" && isObject(was) && isObject(is) && canRemove(field)) {
    diffMap(field, fieldsOf(was), fieldsOf(is), path, into);
    return;
  }
  if (field.fieldKind === "message" && isObject(was) && isObject(is)) {
    if (diffMessage(field.message, was, is, [...path, { field, at: undefined }], into)) return;
  }
  if (typeof was === "string" && typeof is === "string" && grewAtEnd(was, is)) {
    into.push({ kind: "append", path, field, text: is.slice(was.length) });
    return;
  }
  if (was instanceof Uint8Array && is instanceof Uint8Array && sameBytes(was, is)) return;
  const part = create(desc);
  if (is !== undefined) putValue(part, field, is);
  into.push({ kind: "set", path, field, part });
}

/** Whether one text begins with the other, and not in the middle of a pair of surrogates. */
function grewAtEnd(was: string, is: string): boolean {
  if (was.length === 0 || !is.startsWith(was)) return false;
  const last = was.charCodeAt(was.length - 1);
  return last < 0xd800 || last > 0xdbff;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

function diffList(
  field: DescField,
  before: readonly unknown[],
  after: readonly unknown[],
  path: Path,
  into: Operation[],
): void {
  // From the last gap to the first: so the places of those that remain to be said stay what they were.
  for (const gap of [...gapsOf(before, after)].reverse()) {
    const deleteCount = gap.to - gap.from;
    const insert = after.slice(gap.newFrom, gap.newTo);
    if (deleteCount === insert.length && diffElements(field, before, gap.from, insert, path, into)) continue;
    into.push({ kind: "splice", path, field, index: gap.from, deleteCount, insert });
  }
}

/** As many elements as before: perhaps they are the same ones with small changes. */
function diffElements(
  field: DescField,
  before: readonly unknown[],
  from: number,
  elements: readonly unknown[],
  path: Path,
  into: Operation[],
): boolean {
  const { message } = field;
  if (message === undefined || !isDivisible(message)) return false;
  const start = into.length;
  for (const [offset, element] of elements.entries()) {
    const was = before[from + offset];
    const count = into.length;
    const step = { field, at: from + offset };
    const said =
      isObject(was) && isObject(element) && diffMessage(message, was, element, [...path, step], into);
    if (!said || into.length - count > elementOperationCountMost) {
      into.length = start;
      return false;
    }
  }
  return true;
}

function diffMap(field: DescField, before: Fields, after: Fields, path: Path, into: Operation[]): void {
  const keys = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  const entries: Fields = {};
  let putCount = 0;
  for (const key of Object.keys(after)) {
    const was = Object.hasOwn(before, key) ? before[key] : undefined;
    const is = after[key];
    if (Object.is(was, is)) continue;
    const step = { field, at: key };
    if (field.message !== undefined && isObject(was) && isObject(is)) {
      if (diffMessage(field.message, was, is, [...path, step], into)) continue;
    }
    setEntry(entries, key, is);
    putCount += 1;
  }
  if (keys.length > 0) into.push({ kind: "remove", path, field, keys });
  if (putCount > 0) into.push({ kind: "put", path, field, entries });
}

const divisible = new WeakMap<DescMessage, boolean>();

/**
 * Whether a message with only some of its fields is one that codecs take: not with required fields, and not the
 * well-known types, which have forms of their own.
 */
function isDivisible(desc: DescMessage): boolean {
  let known = divisible.get(desc);
  if (known === undefined) {
    known =
      !desc.typeName.startsWith("google.protobuf.") &&
      desc.fields.every(({ presence }) => presence !== FeatureSet_FieldPresence.LEGACY_REQUIRED);
    divisible.set(desc, known);
  }
  return known;
}

/** Whether a removed key can travel: beside it goes an empty value. */
function canRemove(field: DescField): boolean {
  return field.message === undefined || isDivisible(field.message);
}

function isObject(value: unknown): value is Message {
  return typeof value === "object" && value !== null && !(value instanceof Uint8Array);
}
