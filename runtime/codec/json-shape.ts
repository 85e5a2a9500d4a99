import {
  getExtension,
  ScalarType,
  type DescExtension,
  type DescField,
  type DescMessage,
  type DescOneof,
  type Message,
} from "@bufbuild/protobuf";
import { CodecError, entryStep, within } from "./codec-error.ts";
import type { CodecSettings } from "./codec.ts";
import { JsonPlain } from "./json-plain.ts";
import { enumJsonWriter, jsonKeyWriter, scalarJsonWriter, type WriteJsonValue } from "./json-scalar.ts";
import { jsonCopy, wellKnownShaper } from "./json-well-known.ts";
import { keyLiteral, type JsonWriter } from "./json-writer.ts";
import { plainZeroOf, presentValueOf, type Fields, type PresentValue } from "./presence.ts";
import { tooDeep } from "./reading.ts";
import { refused } from "./scalar-range.ts";
import { slotContent } from "./slot.ts";
import { storedFormOf, wrappedField, type MessageField } from "./stored-form.ts";

/** Writes one message as ProtoJSON. */
export type ShapeJson = (writer: JsonWriter, message: Message) => void;

/** A member of a message, compiled: a field, or a oneof with all its fields. */
interface MemberWriter {
  /** The member's step in an error's path; a oneof has none, its fields have. */
  readonly step: string;
  /** Writes comma, key and value if the member is set. */
  readonly put: (writer: JsonWriter, message: Fields) => void;
}

/** Compiles messages of any type to writers of ProtoJSON, each once, without making code from text. */
export class JsonShapers {
  readonly #settings: CodecSettings;
  readonly #compiled = new WeakMap<DescMessage, ShapeJson>();
  readonly #extensions = new WeakMap<DescExtension, WriteJsonValue>();

  constructor(settings: CodecSettings) {
    this.#settings = settings;
  }

  of(desc: DescMessage): ShapeJson {
    return this.#compiled.get(desc) ?? this.#compile(desc);
  }

  #compile(desc: DescMessage): ShapeJson {
    const { typeName } = desc;
    const { depthMax } = this.#settings;
    const body = wellKnownShaper(desc, this.#settings, this) ?? this.#body(desc);
    const shape: ShapeJson = (writer, message) => {
      if (message.$typeName !== typeName) throw refused(`a ${typeName}`, message);
      if (++writer.depth > depthMax) throw tooDeep(depthMax);
      body.shape(writer, message);
      writer.depth--;
    };
    // Known before its fields are compiled, so that a recursive type finds itself.
    this.#compiled.set(desc, shape);
    body.compile?.();
    return shape;
  }

  /** A message that is an object with a key for each field. */
  #body(desc: DescMessage): { shape: ShapeJson; compile: () => void } {
    const { registry } = this.#settings;
    const members: MemberWriter[] = [];
    return {
      shape: (writer, message) => {
        const opened = writer.opened();
        writeMembers(writer, members, message);
        if (registry !== undefined && message.$unknown !== undefined)
          this.#writeExtensions(writer, desc, message);
        writer.closedObject(opened);
      },
      compile: () => {
        for (const member of desc.members) members.push(this.#member(member));
      },
    };
  }

  #member(member: DescField | DescOneof): MemberWriter {
    if (member.kind === "field") return { step: `.${member.name}`, put: this.#put(member) };
    const cases = new Map(
      member.fields.map((field) => [field.localName, { step: `.${field.name}`, write: this.#keyed(field) }]),
    );
    const write: WriteJsonValue = (writer, oneof) => {
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
    const { localName } = field;
    const key = keyLiteral(field.jsonName);
    if (field.scalar === ScalarType.STRING) return putString(localName, key);
    const write = this.#field(field);
    return (writer, message) => {
      const value = message[localName];
      if (value === zero || value === undefined) return;
      writer.literal(key);
      write(writer, value);
    };
  }

  /** The writer of a field with comma and key before it. */
  #keyed(field: DescField | DescExtension): WriteJsonValue {
    const key = keyLiteral(field.jsonName);
    const write = this.#field(field);
    return (writer, value) => {
      writer.literal(key);
      write(writer, value);
    };
  }

  #field(field: DescField | DescExtension): WriteJsonValue {
    switch (field.fieldKind) {
      case "scalar":
        return scalarJsonWriter(field.scalar);
      case "enum":
        return enumJsonWriter(field.enum);
      case "message":
        return this.#message(field);
      case "list":
        return listWriter(this.#element(field));
      case "map":
        return mapWriter(jsonKeyWriter(field.mapKey), this.#element(field));
    }
  }

  #element(field: (DescField | DescExtension) & { readonly fieldKind: "list" | "map" }): WriteJsonValue {
    if (field.message !== undefined) return this.#message(field);
    return field.enum === undefined ? scalarJsonWriter(field.scalar) : enumJsonWriter(field.enum);
  }

  #message(field: MessageField): WriteJsonValue {
    const desc = field.message;
    switch (storedFormOf(field, this.#settings.slotTypeNames)) {
      case "slot":
        return writeSlot;
      case "wrapper":
        return scalarJsonWriter(wrappedField(desc).scalar);
      case "struct": {
        const { depthMax } = this.#settings;
        return (writer, value) => {
          if (typeof value !== "object" || value === null || Array.isArray(value))
            throw refused("a JSON object", value);
          writer.json(JSON.stringify(jsonCopy(value, depthMax - writer.depth, undefined)));
        };
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

  /** Writes the extensions that the registry knows; protobuf-es keeps them among the unknown fields. */
  #writeExtensions(writer: JsonWriter, desc: DescMessage, message: Message): void {
    for (const number of new Set(message.$unknown?.map((field) => field.no))) {
      const extension = this.#settings.registry?.getExtensionFor(desc, number);
      if (extension === undefined) continue;
      try {
        this.#extension(extension)(writer, getExtension(message, extension));
      } catch (error) {
        throw within(error, `.[${extension.typeName}]`);
      }
    }
  }

  #extension(extension: DescExtension): WriteJsonValue {
    const known = this.#extensions.get(extension);
    if (known !== undefined) return known;
    const write = this.#keyed(extension);
    this.#extensions.set(extension, write);
    return write;
  }
}

function writeMembers(writer: JsonWriter, members: readonly MemberWriter[], message: Message): void {
  let step = "";
  try {
    for (let i = 0; i < members.length; i++) {
      const member = members[i];
      if (member === undefined) continue;
      ({ step } = member);
      member.put(writer, message);
    }
  } catch (error) {
    throw within(error, step);
  }
}

function putPresent(present: PresentValue, write: WriteJsonValue): MemberWriter["put"] {
  return (writer, message) => {
    const value = present(message);
    if (value !== undefined) write(writer, value);
  };
}

/** Strings are what messages mostly hold, so they get a writer without a call between. */
function putString(localName: string, key: Uint8Array): MemberWriter["put"] {
  return (writer, message) => {
    const value = message[localName];
    if (value === "" || value === undefined) return;
    if (typeof value !== "string") throw refused("a string", value);
    writer.literal(key);
    writer.string(value);
  };
}

function listWriter(write: WriteJsonValue): WriteJsonValue {
  return (writer, list) => {
    if (!Array.isArray(list)) throw refused("an array", list);
    const opened = writer.opened();
    let i = 0;
    try {
      for (; i < list.length; i++) {
        writer.comma();
        write(writer, list[i]);
      }
    } catch (error) {
      throw within(error, `[${i}]`);
    }
    writer.closedArray(opened);
  };
}

function mapWriter(
  writeKey: (writer: JsonWriter, key: string) => void,
  write: WriteJsonValue,
): WriteJsonValue {
  return (writer, record) => {
    if (typeof record !== "object" || record === null)
      throw refused("an object with the map's entries", record);
    const opened = writer.opened();
    for (const key of Object.keys(record)) {
      try {
        writeKey(writer, key);
        write(writer, (record as Fields)[key]);
      } catch (error) {
        throw within(error, entryStep(key));
      }
    }
    writer.closedObject(opened);
  };
}

const writeSlot: WriteJsonValue = (writer, value) => {
  const plain = slotContent(value as Message);
  if (!(plain instanceof JsonPlain)) throw new CodecError("the slot was filled by another codec");
  writer.raw(plain.bytes, plain.start, plain.end);
};
