import { type DescExtension, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import type { Struct } from "@bufbuild/protobuf/wkt";
import { blankOf, fillBlank, type Blank } from "./blank.ts";
import { CodecError, entryStep, within } from "./codec-error.ts";
import type { CodecSettings } from "./codec.ts";
import type { Extensions, SetExtension } from "./extensions.ts";
import { setEntry } from "./map-key.ts";
import { MsgpackPlain } from "./msgpack-plain.ts";
import type { MsgpackReader } from "./msgpack-reader.ts";
import { enumReader, keyReader, scalarReader, type ReadValue } from "./msgpack-scalar.ts";
import type { Fields } from "./presence.ts";
import { entryBytes, placeBytes, plainBytes } from "./reading.ts";
import { Slab } from "./slab.ts";
import { fillSlot } from "./slot.ts";
import { storedFormOf, wrappedField, type MessageField } from "./stored-form.ts";
import { jsonOfStruct } from "./struct-json.ts";

/** Reads one message from the reader. */
export type UnshapeMessage = (reader: MsgpackReader) => Message;

/** A field, compiled. */
interface FieldReader {
  readonly step: string;
  /** Position of the field, or of its oneof, among the members: no two values may come for one. */
  readonly member: number;
  readonly read: ReadValue;
}

/** How a message type is read. */
interface MessagePlan {
  readonly typeText: string;
  readonly blank: Blank;
  /** Fields with small numbers, by number, for speed; the rest in `rare`. */
  readonly near: readonly (FieldReader | undefined)[];
  readonly rare: ReadonlyMap<number, FieldReader>;
}

const nearNumberMax = 127;

/** Compiles message types of any kind to readers, each once. */
export class MsgpackUnshapers {
  readonly #settings: CodecSettings;
  readonly #compiled = new WeakMap<DescMessage, UnshapeMessage>();
  readonly #extensions: Extensions | undefined;
  readonly #extensionReaders = new WeakMap<DescExtension, ReadValue>();

  constructor(settings: CodecSettings, extensions: Extensions | undefined) {
    this.#settings = settings;
    this.#extensions = extensions;
  }

  of(desc: DescMessage): UnshapeMessage {
    return this.#compiled.get(desc) ?? this.#compile(desc);
  }

  #compile(desc: DescMessage): UnshapeMessage {
    const near: (FieldReader | undefined)[] = [];
    const rare = new Map<number, FieldReader>();
    const plan: MessagePlan = {
      typeText: `a map with the fields of ${desc.typeName}`,
      blank: blankOf(desc),
      near,
      rare,
    };
    const unshape: UnshapeMessage = (reader) => this.#read(reader, plan, desc);
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

  #read(reader: MsgpackReader, plan: MessagePlan, desc: DescMessage): Message {
    const count = reader.mapLength(plan.typeText);
    const { blank } = plan;
    const { values } = reader;
    const base = reader.open(blank);
    let extensions: SetExtension[] | undefined;
    let step = "";
    try {
      for (let i = 0; i < count; i++) {
        step = "";
        const number = reader.fieldNumber();
        const field = plan.near[number] ?? plan.rare.get(number);
        if (field === undefined) {
          const set = this.#readUnknown(reader, number, desc);
          if (set !== undefined) (extensions ??= []).push(set);
          continue;
        }
        ({ step } = field);
        const slot = base + field.member;
        if (values[slot] !== undefined)
          throw new CodecError("the field, or another of its oneof, came before");
        values[slot] = field.read(reader);
      }
    } catch (error) {
      throw within(error, step);
    }
    const message = fillBlank(blank, values, base) as unknown as Message;
    reader.close(base);
    if (extensions !== undefined) for (const set of extensions) set(message);
    return message;
  }

  #fieldReader(field: DescField): FieldReader {
    const read = this.#field(field);
    return {
      step: `.${field.name}`,
      member: field.parent.members.indexOf(field.oneof ?? field),
      read: field.oneof === undefined ? read : caseReader(field.localName, read),
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

  /**
   * A field that the schema does not have: an extension that the registry knows, to be set when the message is
   * made, or to be ignored.
   */
  #readUnknown(reader: MsgpackReader, number: number, desc: DescMessage): SetExtension | undefined {
    const extension = this.#extensions?.find(desc, number);
    if (this.#extensions === undefined || extension === undefined) {
      reader.skip();
      return undefined;
    }
    try {
      reader.charge(entryBytes);
      const value = this.#extension(extension)(reader);
      return value === undefined ? undefined : this.#extensions.setter(extension, value);
    } catch (error) {
      throw within(error, `.[${extension.typeName}]`);
    }
  }

  #extension(extension: DescExtension): ReadValue {
    const known = this.#extensionReaders.get(extension);
    if (known !== undefined) return known;
    const read = this.#field(extension);
    this.#extensionReaders.set(extension, read);
    return read;
  }
}

/** protobuf-es keeps a oneof as one member with the name and the value of the field that is set. */
function caseReader(name: string, read: ReadValue): ReadValue {
  return (reader) => {
    const value = read(reader);
    return value === undefined ? undefined : { case: name, value };
  };
}

function listReader(read: ReadValue): ReadValue {
  return (reader) => {
    const length = reader.arrayLength();
    reader.charge(length * placeBytes);
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
      reader.charge(entryBytes);
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
  const slab = new Slab();
  return (reader) => {
    const start = reader.pos;
    reader.skip();
    reader.charge(plainBytes);
    const { headroomBytes } = reader;
    return slab.copy(reader.bytes, start, reader.pos, (bytes, from, to) =>
      fillSlot(desc, new MsgpackPlain(bytes, from, to, headroomBytes).plain),
    );
  };
}
