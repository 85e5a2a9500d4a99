import { create, setExtension, type DescExtension, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import type { Struct } from "@bufbuild/protobuf/wkt";
import { blankMaker, hasOwnPrototype, type MakeBlank } from "./blank.ts";
import { CodecError, entryStep, within } from "./codec-error.ts";
import type { CodecSettings } from "./codec.ts";
import { setEntry } from "./map-key.ts";
import { MsgpackPlain } from "./msgpack-plain.ts";
import type { MsgpackReader } from "./msgpack-reader.ts";
import { enumReader, keyReader, scalarReader, type ReadValue } from "./msgpack-scalar.ts";
import type { Fields } from "./presence.ts";
import { fillSlot } from "./slot.ts";
import { storedFormOf, wrappedField, type MessageField } from "./stored-form.ts";
import { jsonOfStruct } from "./struct-json.ts";

/** Reads one message from the reader. */
export type UnshapeMessage = (reader: MsgpackReader) => Message;

/** A field, compiled. */
interface FieldReader {
  readonly step: string;
  readonly localName: string;
  /** The local name of the oneof that the field is in. */
  readonly oneof: string | undefined;
  /** Position of the field, or of its oneof, among the members: no two values may come for one. */
  readonly member: number;
  readonly read: ReadValue;
}

/** A member that must not be left as the template has it, since messages would share it. */
interface OwnMember {
  readonly member: number;
  readonly localName: string;
  readonly make: () => unknown;
}

/** How a message type is read. */
interface MessagePlan {
  readonly desc: DescMessage;
  readonly typeText: string;
  readonly blank: MakeBlank;
  readonly own: readonly OwnMember[];
  readonly memberCount: number;
  /** Fields with small numbers, by number, for speed; the rest in `rare`. */
  readonly near: readonly (FieldReader | undefined)[];
  readonly rare: ReadonlyMap<number, FieldReader>;
}

const nearNumberMax = 127;
/** As many members as fit the bits of a small integer. */
const bitsMax = 30;

/** Compiles message types of any kind to readers, each once. */
export class MsgpackUnshapers {
  readonly #settings: CodecSettings;
  readonly #compiled = new WeakMap<DescMessage, UnshapeMessage>();
  readonly #extensions = new WeakMap<DescExtension, ReadValue>();

  constructor(settings: CodecSettings) {
    this.#settings = settings;
  }

  of(desc: DescMessage): UnshapeMessage {
    return this.#compiled.get(desc) ?? this.#compile(desc);
  }

  #compile(desc: DescMessage): UnshapeMessage {
    const near: (FieldReader | undefined)[] = [];
    const rare = new Map<number, FieldReader>();
    const plain = hasOwnPrototype(desc);
    const plan: MessagePlan = {
      desc,
      typeText: `a map with the fields of ${desc.typeName}`,
      blank: plain ? () => create(desc) as unknown as Fields : blankMaker(desc),
      own: plain ? [] : ownMembers(desc),
      memberCount: desc.members.length,
      near,
      rare,
    };
    const unknown = (reader: MsgpackReader, number: number, message: Fields) => {
      this.#readUnknown(reader, number, message, desc);
    };
    const read = desc.members.length <= bitsMax ? readSmall : readLarge;
    const unshape: UnshapeMessage = (reader) => read(reader, plan, unknown) as unknown as Message;
    // Known before its fields are compiled, so that a recursive type finds itself.
    this.#compiled.set(desc, unshape);
    const last = Math.min(nearNumberMax, Math.max(0, ...desc.fields.map((field) => field.number)));
    for (let number = 0; number <= last; number++) near.push(undefined);
    for (const field of desc.fields) {
      const compiled = this.#fieldReader(field);
      if (field.number <= nearNumberMax) near[field.number] = compiled;
      else rare.set(field.number, compiled);
    }
    return unshape;
  }

  #fieldReader(field: DescField): FieldReader {
    return {
      step: `.${field.name}`,
      localName: field.localName,
      oneof: field.oneof?.localName,
      member: field.parent.members.indexOf(field.oneof ?? field),
      read: this.#field(field),
    };
  }

  #field(field: DescField | DescExtension): ReadValue {
    switch (field.fieldKind) {
      case "scalar":
        return scalarReader(field.scalar, field.longAsString);
      case "enum":
        return enumReader(field.enum);
      case "message":
        return this.#message(field);
      case "list":
        return listReader(this.#element(field));
      case "map":
        return mapReader(keyReader(field.mapKey), this.#element(field));
    }
  }

  /** The reader of what a list or map holds. */
  #element(field: (DescField | DescExtension) & { readonly fieldKind: "list" | "map" }): ReadValue {
    if (field.message !== undefined) return this.#message(field);
    if (field.enum !== undefined) return enumReader(field.enum);
    return scalarReader(field.scalar, field.fieldKind === "list" && field.longAsString);
  }

  #message(field: MessageField): ReadValue {
    const desc = field.message;
    switch (storedFormOf(field, this.#settings.slotTypeNames)) {
      case "slot":
        return slotReader(desc);
      case "wrapper": {
        const unshape = this.of(desc);
        const { localName } = wrappedField(desc);
        return (reader) => (unshape(reader) as unknown as Fields)[localName];
      }
      case "struct": {
        const unshape = this.of(desc);
        return (reader) => jsonOfStruct(unshape(reader) as Struct);
      }
      case "message":
        return this.of(desc);
    }
  }

  /** A field that the schema does not have: an extension that the registry knows, or to be ignored. */
  #readUnknown(reader: MsgpackReader, number: number, message: Fields, desc: DescMessage): void {
    const extension = this.#settings.registry?.getExtensionFor(desc, number);
    if (extension === undefined) {
      reader.skip();
      return;
    }
    try {
      reader.charge(1);
      const value = this.#extension(extension)(reader);
      if (value !== undefined) setExtension(message as unknown as Message, extension, value);
    } catch (error) {
      throw within(error, `.[${extension.typeName}]`);
    }
  }

  #extension(extension: DescExtension): ReadValue {
    const known = this.#extensions.get(extension);
    if (known !== undefined) return known;
    const read = this.#field(extension);
    this.#extensions.set(extension, read);
    return read;
  }
}

type ReadUnknown = (reader: MsgpackReader, number: number, message: Fields) => void;

/** Messages with few members keep in the bits of a number which of them came. */
function readSmall(reader: MsgpackReader, plan: MessagePlan, unknown: ReadUnknown): Fields {
  reader.enter();
  const count = reader.mapLength(plan.typeText);
  reader.charge(1 + plan.memberCount);
  const message = plan.blank();
  let seen = 0;
  let step = "";
  try {
    for (let i = 0; i < count; i++) {
      step = "";
      const number = reader.fieldNumber();
      const field = plan.near[number] ?? plan.rare.get(number);
      if (field === undefined) {
        unknown(reader, number, message);
        continue;
      }
      ({ step } = field);
      const bit = 1 << field.member;
      if ((seen & bit) !== 0) throw twice(field);
      const value = field.read(reader);
      if (value === undefined) continue;
      seen |= bit;
      message[field.oneof ?? field.localName] = field.oneof === undefined ? value : { case: field.localName, value };
    }
  } catch (error) {
    throw within(error, step);
  }
  for (const { member, localName, make } of plan.own) {
    if ((seen & (1 << member)) === 0) message[localName] = make();
  }
  reader.depth--;
  return message;
}

/** The same for messages with more members. */
function readLarge(reader: MsgpackReader, plan: MessagePlan, unknown: ReadUnknown): Fields {
  reader.enter();
  const count = reader.mapLength(plan.typeText);
  reader.charge(1 + plan.memberCount);
  const message = plan.blank();
  const seen = new Uint8Array(plan.memberCount);
  let step = "";
  try {
    for (let i = 0; i < count; i++) {
      step = "";
      const number = reader.fieldNumber();
      const field = plan.near[number] ?? plan.rare.get(number);
      if (field === undefined) {
        unknown(reader, number, message);
        continue;
      }
      ({ step } = field);
      if (seen[field.member] === 1) throw twice(field);
      const value = field.read(reader);
      if (value === undefined) continue;
      seen[field.member] = 1;
      message[field.oneof ?? field.localName] = field.oneof === undefined ? value : { case: field.localName, value };
    }
  } catch (error) {
    throw within(error, step);
  }
  for (const { member, localName, make } of plan.own) {
    if (seen[member] === 0) message[localName] = make();
  }
  reader.depth--;
  return message;
}

function twice(field: FieldReader): CodecError {
  return new CodecError(field.oneof === undefined ? "the field comes twice" : `oneof ${field.oneof} comes twice`);
}

function ownMembers(desc: DescMessage): OwnMember[] {
  return desc.members.flatMap((member, index): OwnMember[] => {
    const { localName } = member;
    if (member.kind === "oneof") return [{ member: index, localName, make: () => ({ case: undefined }) }];
    if (member.fieldKind === "list") return [{ member: index, localName, make: () => [] }];
    if (member.fieldKind === "map") return [{ member: index, localName, make: () => ({}) }];
    return [];
  });
}

function listReader(read: ReadValue): ReadValue {
  return (reader) => {
    const length = reader.arrayLength();
    const list: unknown[] = [];
    let i = 0;
    try {
      for (; i < length; i++) {
        const value = read(reader);
        // What a closed enum does not know is dropped.
        if (value !== undefined) list.push(value);
      }
    } catch (error) {
      throw within(error, `[${i}]`);
    }
    return list;
  };
}

function mapReader(readKey: (reader: MsgpackReader) => string, read: ReadValue): ReadValue {
  return (reader) => {
    const length = reader.mapLength("a map");
    const record: Record<string, unknown> = {};
    for (let i = 0; i < length; i++) {
      reader.charge(1);
      const key = readKey(reader);
      try {
        const value = read(reader);
        if (value !== undefined) setEntry(record, key, value);
      } catch (error) {
        throw within(error, entryStep(key));
      }
    }
    return record;
  };
}

/** The content is copied: it may be read long after the buffer that it came in is used again. */
function slotReader(desc: DescMessage): ReadValue {
  return (reader) => {
    const start = reader.pos;
    reader.skip();
    const bytes = new MsgpackPlain(reader.bytes, start, reader.pos).copied();
    return fillSlot(desc, new MsgpackPlain(bytes, 0, bytes.length).plain);
  };
}
