/**
 * Operations applied to a value. What they do not touch is shared with the value before, so that `===` tells a
 * screen what to draw anew; what they touch is copied once, however many operations touch it.
 *
 * Source: design "Wire: State deltas".
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { CodecError } from "../codec/codec-error.ts";
import { setEntry } from "../codec/map-key.ts";
import {
  type Chosen,
  type Fields,
  fieldsOf,
  type Operation,
  ownValue,
  putValue,
  type Step,
} from "./operation.ts";
import { settled } from "./settled.ts";

/**
 * The value that the operations lead to, frozen.
 *
 * @throws CodecError when they do not fit the value: then it is not the one that they were made for.
 */
export function applyOperations<Desc extends DescMessage>(
  desc: Desc,
  value: MessageShape<Desc>,
  operations: readonly Operation[],
): MessageShape<Desc> {
  const own = new Copies();
  const root = own.of(value);
  for (const operation of operations) {
    let target: object = root;
    for (const step of operation.path) target = own.below(target, step);
    applyOne(own, target, operation);
  }
  return settled(desc, root, value);
}

function applyOne(own: Copies, target: object, operation: Operation): void {
  const { field } = operation;
  switch (operation.kind) {
    case "set":
      setFromPart(target, operation);
      return;
    case "append": {
      const text = ownValue(target, field) ?? "";
      if (typeof text !== "string") throw unfit(operation, "is no text");
      putValue(target, field, text + operation.text);
      return;
    }
    case "splice": {
      const list: unknown = own.held(target, operation);
      if (!isList(list)) throw unfit(operation, "is no list");
      const { index, deleteCount, insert } = operation;
      if (index + deleteCount > list.length) throw unfit(operation, `has ${list.length} elements only`);
      if (insert.length < spreadMost) list.splice(index, deleteCount, ...insert);
      else
        putValue(
          target,
          field,
          own.mark(list.slice(0, index).concat(insert, list.slice(index + deleteCount))),
        );
      return;
    }
    case "put": {
      const map = fieldsOf(own.held(target, operation));
      for (const key of Object.keys(operation.entries)) setEntry(map, key, operation.entries[key]);
      return;
    }
    case "remove": {
      const map = fieldsOf(own.held(target, operation));
      for (const key of operation.keys) Reflect.deleteProperty(map, key);
    }
  }
}

function isList(value: unknown): value is unknown[] {
  return Array.isArray(value);
}

/** Arguments of one call; engines end at some 100,000. */
const spreadMost = 10_000;

/** A part has what `create` gives it where the field is not set, which is what a cleared field is. */
function setFromPart(target: object, { field, part }: Extract<Operation, { kind: "set" }>): void {
  const from = fieldsOf(part);
  const to = fieldsOf(target);
  if (field.oneof !== undefined) {
    const { localName } = field.oneof;
    const chosen = from[localName] as Chosen;
    const now = to[localName] as Chosen;
    if (chosen.case === field.localName) to[localName] = chosen;
    else if (now.case === field.localName) to[localName] = { case: undefined };
    return;
  }
  if (Object.hasOwn(part, field.localName)) to[field.localName] = from[field.localName];
  else Reflect.deleteProperty(to, field.localName);
}

/** The copies that one change has made, which it may go on changing. */
class Copies {
  readonly #made = new Set<object>();

  /** The thing itself when it is a copy, else a copy. */
  of<T extends object>(thing: T): T {
    if (this.#made.has(thing)) return thing;
    return this.mark(copyOf(thing));
  }

  mark<T extends object>(copy: T): T {
    this.#made.add(copy);
    return copy;
  }

  /** The list or map of the field, as a copy that lies in the target. */
  held(target: object, operation: Operation): object {
    const held = ownValue(target, operation.field);
    if (typeof held !== "object" || held === null) throw unfit(operation, "is not there");
    const copy = this.of(held);
    putValue(target, operation.field, copy);
    return copy;
  }

  /** The message that a step leads to, as a copy that lies in the target. */
  below(target: object, { field, at }: Step): object {
    const held = ownValue(target, field);
    if (at === undefined) {
      if (typeof held !== "object" || held === null) throw missing(field.toString());
      const copy = this.of(held);
      putValue(target, field, copy);
      return copy;
    }
    if (typeof held !== "object" || held === null) throw missing(field.toString());
    const holder = this.of(held) as Fields;
    putValue(target, field, holder);
    const inner = Object.hasOwn(holder, at) ? holder[at] : undefined;
    if (typeof inner !== "object" || inner === null)
      throw missing(`${field.toString()}[${String(at).slice(0, 40)}]`);
    const copy = this.of(inner);
    if (typeof at === "number") holder[at] = copy;
    else setEntry(holder, at, copy);
    return copy;
  }
}

function copyOf<T extends object>(thing: T): T {
  // Not slice: of a frozen list that takes engines a hundred times as long.
  if (isList(thing)) return [...thing] as unknown as T;
  const prototype: unknown = Object.getPrototypeOf(thing);
  // A spread keeps a key `__proto__` as the key that it is. Messages of proto2 have their defaults in a prototype.
  if (prototype === Object.prototype) return { ...thing };
  return Object.assign(Object.create(prototype as object) as T, thing);
}

function unfit(operation: Operation, problem: string): CodecError {
  return new CodecError(`a ${operation.kind} of ${operation.field.toString()}, which ${problem}`);
}

function missing(what: string): CodecError {
  return new CodecError(`a change inside ${what}, which is not there`);
}
