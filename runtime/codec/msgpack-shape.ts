import {
  ScalarType,
  type DescExtension,
  type DescField,
  type DescMessage,
  type DescOneof,
  type Message,
} from "@bufbuild/protobuf";
import { CodecError, entryStep, within } from "./codec-error.ts";
import type { CodecSettings } from "./codec.ts";
import type { Extensions } from "./extensions.ts";
import { enumWriter, keyWriter, scalarWriter, type WriteValue } from "./msgpack-scalar.ts";
import { MsgpackPlain } from "./msgpack-plain.ts";
import type { MsgpackWriter } from "./msgpack-writer.ts";
import { plainZeroOf, presentValueOf, type Fields, type PresentValue } from "./presence.ts";
import { tooDeep } from "./reading.ts";
import { refused } from "./scalar-range.ts";
import { slotContent } from "./slot.ts";
import { storedFormOf, wrappedField, type MessageField } from "./stored-form.ts";
import { structOf } from "./struct-json.ts";

/** Writes one message into the writer. */
export type ShapeMessage = (writer: MsgpackWriter, message: Message) => void;

/** A member of a message, compiled: a field, or a oneof with all its fields. */
interface MemberWriter {
  /** The member's step in an error's path; a oneof has none, its fields have. */
  readonly step: string;
  /** Writes key and value if the member is set; returns how many entries of the map it wrote, one or none. */
  readonly put: (writer: MsgpackWriter, message: Fields) => number;
}

/**
 * Compiles messages of any type to writers, each once. The result is a tree of closures, as protobuf-es has
 * it for the binary format: no code is made from text, so it runs under any content security policy.
 */
export class MsgpackShapers {
  readonly #settings: CodecSettings;
  readonly #compiled = new WeakMap<DescMessage, ShapeMessage>();
  readonly #extensions: Extensions | undefined;
  readonly #extensionWriters = new WeakMap<DescExtension, WriteValue>();

  constructor(settings: CodecSettings, extensions: Extensions | undefined) {
    this.#settings = settings;
    this.#extensions = extensions;
  }

  of(desc: DescMessage): ShapeMessage {
    return this.#compiled.get(desc) ?? this.#compile(desc);
  }

  #compile(desc: DescMessage): ShapeMessage {
    const { typeName } = desc;
    const { depthMax } = this.#settings;
    const extensions = this.#extensions;
    const members: MemberWriter[] = [];
    const shape: ShapeMessage = (writer, message) => {
      if (message.$typeName !== typeName) throw refused(`a ${typeName}`, message);
      if (++writer.depth > depthMax) throw tooDeep(depthMax);
      const opened = writer.openMap();
      let count = writeMembers(writer, members, message);
      if (extensions !== undefined && message.$unknown !== undefined) {
        count += this.#writeExtensions(extensions, writer, desc, message);
      }
      writer.closeMap(opened, count);
      writer.depth--;
    };
    // Known before its fields are compiled, so that a recursive type finds itself.
    this.#compiled.set(desc, shape);
    for (const member of byNumber(desc)) members.push(this.#member(member));
    return shape;
  }

  #member(member: DescField | DescOneof): MemberWriter {
    if (member.kind === "field") return { step: `.${member.name}`, put: this.#put(member) };
    const cases = new Map(
      member.fields.map((field) => [field.localName, { step: `.${field.name}`, write: this.#keyed(field) }]),
    );
    const write: WriteValue = (writer, oneof) => {
      const { case: name, value } = oneof as { case: string; value: unknown };
      const chosen = cases.get(name);
      if (chosen === undefined) throw new CodecError(`oneof ${member.name} has no field "${name}"`);
      try {
        chosen.write(writer, value);
      } catch (error) {
        throw within(error, chosen.step);
      }
    };
    return { step: "", put: putPresent(presentValueOf(member), write) };
  }

  #put(field: DescField): MemberWriter["put"] {
    const zero = plainZeroOf(field);
    if (zero === undefined) return putPresent(presentValueOf(field), this.#keyed(field));
    const { localName, number } = field;
    if (field.scalar === ScalarType.STRING) return putString(localName, number);
    const write = this.#field(field);
    return (writer, message) => {
      const value = message[localName];
      if (value === zero || value === undefined) return 0;
      writer.fieldNumber(number);
      write(writer, value);
      return 1;
    };
  }

  /** The writer of a field with its number before it. */
  #keyed(field: DescField | DescExtension): WriteValue {
    const { number } = field;
    const write = this.#field(field);
    return (writer, value) => {
      writer.fieldNumber(number);
      write(writer, value);
    };
  }

  #field(field: DescField | DescExtension): WriteValue {
    switch (field.fieldKind) {
      case "scalar":
        return scalarWriter(field.scalar);
      case "enum":
        return enumWriter(field.enum);
      case "message":
        return this.#message(field);
      case "list":
        return listWriter(this.#element(field));
      case "map":
        return mapWriter(keyWriter(field.mapKey), this.#element(field));
    }
  }

  /** The writer of what a list or map holds. */
  #element(field: (DescField | DescExtension) & { readonly fieldKind: "list" | "map" }): WriteValue {
    if (field.message !== undefined) return this.#message(field);
    return field.enum === undefined ? scalarWriter(field.scalar) : enumWriter(field.enum);
  }

  #message(field: MessageField): WriteValue {
    const desc = field.message;
    switch (storedFormOf(field, this.#settings.slotTypeNames)) {
      case "slot":
        return writeSlot;
      case "wrapper":
        return this.#wrapper(desc);
      case "struct": {
        const { depthMax } = this.#settings;
        const shape = this.of(desc);
        return (writer, value) => shape(writer, structOf(value, depthMax));
      }
      case "message": {
        const shape = this.of(desc);
        return (writer, value) => {
          if (typeof value !== "object" || value === null) throw refused(`a ${desc.typeName}`, value);
          shape(writer, value as Message);
        };
      }
    }
  }

  #wrapper(desc: DescMessage): WriteValue {
    const value = wrappedField(desc);
    const write = this.#keyed(value);
    const present = presentValueOf(value);
    return (writer, wrapped) => {
      const set = present({ [value.localName]: wrapped });
      writer.mapHead(set === undefined ? 0 : 1);
      if (set !== undefined) write(writer, set);
    };
  }

  /** Writes the extensions that the registry knows; protobuf-es keeps them among the unknown fields. */
  #writeExtensions(
    extensions: Extensions,
    writer: MsgpackWriter,
    desc: DescMessage,
    message: Message,
  ): number {
    const numbers = new Set(message.$unknown?.map((field) => field.no));
    let count = 0;
    for (const number of [...numbers].sort((a, b) => a - b)) {
      const extension = extensions.find(desc, number);
      if (extension === undefined) continue;
      try {
        this.#extension(extension)(writer, extensions.get(message, extension));
      } catch (error) {
        throw within(error, `.[${extension.typeName}]`);
      }
      count++;
    }
    return count;
  }

  #extension(extension: DescExtension): WriteValue {
    const known = this.#extensionWriters.get(extension);
    if (known !== undefined) return known;
    const write = this.#keyed(extension);
    this.#extensionWriters.set(extension, write);
    return write;
  }
}

function writeMembers(writer: MsgpackWriter, members: readonly MemberWriter[], message: Message): number {
  let count = 0;
  let step = "";
  try {
    for (let i = 0; i < members.length; i++) {
      const member = members[i];
      if (member === undefined) continue;
      ({ step } = member);
      count += member.put(writer, message);
    }
  } catch (error) {
    throw within(error, step);
  }
  return count;
}

function putPresent(present: PresentValue, write: WriteValue): MemberWriter["put"] {
  return (writer, message) => {
    const value = present(message);
    if (value === undefined) return 0;
    write(writer, value);
    return 1;
  };
}

/** Strings are what messages mostly hold, so they get a writer without a call between. */
function putString(localName: string, number: number): MemberWriter["put"] {
  return (writer, message) => {
    const value = message[localName];
    if (value === "" || value === undefined) return 0;
    if (typeof value !== "string") throw refused("a string", value);
    writer.fieldNumber(number);
    writer.string(value);
    return 1;
  };
}

function listWriter(write: WriteValue): WriteValue {
  return (writer, list) => {
    if (!Array.isArray(list)) throw refused("an array", list);
    writer.arrayHead(list.length);
    let i = 0;
    try {
      for (; i < list.length; i++) write(writer, list[i]);
    } catch (error) {
      throw within(error, `[${i}]`);
    }
  };
}

function mapWriter(writeKey: (writer: MsgpackWriter, key: string) => void, write: WriteValue): WriteValue {
  return (writer, record) => {
    if (typeof record !== "object" || record === null)
      throw refused("an object with the map's entries", record);
    const keys = Object.keys(record);
    writer.mapHead(keys.length);
    for (const key of keys) {
      try {
        writeKey(writer, key);
        write(writer, (record as Fields)[key]);
      } catch (error) {
        throw within(error, entryStep(key));
      }
    }
  };
}

const writeSlot: WriteValue = (writer, value) => {
  const plain = slotContent(value as Message);
  if (!(plain instanceof MsgpackPlain)) throw new CodecError("the slot was filled by another codec");
  writer.raw(plain.bytes, plain.start, plain.end);
};

/** Members in the order of their numbers, so that the same message gives the same bytes whatever the file's order. */
function byNumber(desc: DescMessage): (DescField | DescOneof)[] {
  const first = (member: DescField | DescOneof) =>
    member.kind === "field" ? member.number : Math.min(...member.fields.map((field) => field.number));
  return [...desc.members].sort((a, b) => first(a) - first(b));
}
