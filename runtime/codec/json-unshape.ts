import { type DescExtension, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { blankOf, fillBlank, type Blank } from "./blank.ts";
import { CodecError, entryStep, within } from "./codec-error.ts";
import type { CodecSettings } from "./codec.ts";
import { extensionSetter, type SetExtension } from "./extensions.ts";
import { JsonPlain } from "./json-plain.ts";
import type { JsonReader } from "./json-reader.ts";
import { enumJsonReader, jsonKeyReader, scalarJsonReader, type ReadJsonValue } from "./json-scalar.ts";
import { jsonCopy, wellKnownUnshaper } from "./json-well-known.ts";
import { stringLiteral } from "./json-writer.ts";
import { setEntry } from "./map-key.ts";
import { entryBytes, placeBytes, plainBytes } from "./reading.ts";
import { refused } from "./scalar-range.ts";
import { Slab } from "./slab.ts";
import { fillSlot } from "./slot.ts";
import { storedFormOf, wrappedField, type MessageField } from "./stored-form.ts";

/** Reads one message from its ProtoJSON. */
export type UnshapeJson = (reader: JsonReader) => Message;

/** A field, compiled. */
interface FieldReader {
  /** How its key mostly stands in the text, quotes and colon included. */
  readonly literal: Uint8Array;
  readonly step: string;
  /** Position of the field, or of its oneof, among the members: no two values may come for one. */
  readonly member: number;
  /** JSON null is a value here, not the absence of one. */
  readonly takesNull: boolean;
  readonly read: ReadJsonValue;
}

/** How a message type is read. */
interface MessagePlan {
  readonly typeText: string;
  readonly blank: Blank;
  /** In the order of the schema, in which most senders write them. */
  readonly fields: readonly FieldReader[];
  readonly byName: ReadonlyMap<string, FieldReader>;
}

/** How many fields a sender may have left out for the next one still to be found by its place. */
const guessesMax = 12;

const colon = 0x3a;

/** Compiles messages of any type to readers of ProtoJSON, each once, without making code from text. */
export class JsonUnshapers {
  readonly #settings: CodecSettings;
  readonly #compiled = new WeakMap<DescMessage, UnshapeJson>();
  readonly #extensions = new WeakMap<DescExtension, ReadJsonValue>();

  constructor(settings: CodecSettings) {
    this.#settings = settings;
  }

  of(desc: DescMessage): UnshapeJson {
    return this.#compiled.get(desc) ?? this.#compile(desc);
  }

  #compile(desc: DescMessage): UnshapeJson {
    const wellKnown = wellKnownUnshaper(desc, this.#settings, this);
    if (wellKnown !== undefined) {
      this.#compiled.set(desc, wellKnown);
      return wellKnown;
    }
    const fields: FieldReader[] = [];
    const byName = new Map<string, FieldReader>();
    const typeText = `an object with the fields of ${desc.typeName}`;
    const plan: MessagePlan = { typeText, blank: blankOf(desc), fields, byName };
    const unshape: UnshapeJson = (reader) => this.#read(reader, plan, desc);
    // Known before its fields are compiled, so that a recursive type finds itself.
    this.#compiled.set(desc, unshape);
    for (const field of desc.fields) {
      const compiled = this.#fieldReader(field);
      fields.push(compiled);
      byName.set(field.name, compiled).set(field.jsonName, compiled);
    }
    return unshape;
  }

  #read(reader: JsonReader, plan: MessagePlan, desc: DescMessage): Message {
    let more = reader.startObject(plan.typeText);
    const { blank, fields } = plan;
    const { values } = reader;
    const base = reader.open(blank);
    let extensions: SetExtension[] | undefined;
    let step = "";
    try {
      for (let next = 0; more; more = reader.moreMembers()) {
        step = "";
        const at = guessedField(reader, fields, next);
        let field = fields[at];
        if (field === undefined) {
          const key = reader.key();
          field = plan.byName.get(key);
          if (field === undefined) {
            const set = this.#readUnknown(reader, key, desc);
            if (set !== undefined) (extensions ??= []).push(set);
            continue;
          }
        } else next = at + 1;
        if (!field.takesNull && reader.isNull()) continue;
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
      literal: Uint8Array.from([...stringLiteral(field.jsonName), colon]),
      step: `.${field.name}`,
      member: field.parent.members.indexOf(field.oneof ?? field),
      takesNull: (field.fieldKind === "message" || field.fieldKind === "enum") && takesNull(field),
      read: field.oneof === undefined ? read : caseReader(field.localName, read),
    };
  }

  #field(field: DescField | DescExtension): ReadJsonValue {
    switch (field.fieldKind) {
      case "scalar":
        return scalarJsonReader(field.scalar, field.longAsString);
      case "enum":
        return enumJsonReader(field.enum);
      case "message":
        return this.#message(field);
      case "list":
        return listReader(this.#element(field));
      case "map":
        return mapReader(jsonKeyReader(field.mapKey), this.#element(field));
    }
  }

  /** What a list or map holds; null is refused there, except where it is a value. */
  #element(field: (DescField | DescExtension) & { readonly fieldKind: "list" | "map" }): ReadJsonValue {
    if (field.message !== undefined) {
      const read = this.#message(field);
      return takesNull(field) ? read : notNull(read);
    }
    if (field.enum !== undefined) return enumJsonReader(field.enum);
    return scalarJsonReader(field.scalar, field.fieldKind === "list" && field.longAsString);
  }

  #message(field: MessageField): ReadJsonValue {
    const desc = field.message;
    switch (storedFormOf(field, this.#settings.slotTypeNames)) {
      case "slot":
        return slotReader(desc);
      case "wrapper": {
        const value = wrappedField(desc);
        return scalarJsonReader(value.scalar, value.longAsString);
      }
      case "struct": {
        const { depthMax } = this.#settings;
        return (reader) => {
          const json = reader.tree();
          if (typeof json !== "object" || Array.isArray(json)) throw refused("a JSON object", json);
          return jsonCopy(json, depthMax, reader);
        };
      }
      case "message":
        return this.of(desc);
    }
  }

  /** A key that the schema does not have: an extension that the registry knows, or to be ignored. */
  #readUnknown(reader: JsonReader, key: string, desc: DescMessage): SetExtension | undefined {
    const { registry } = this.#settings;
    const extension = key.startsWith("[") ? registry?.getExtension(key.slice(1, -1)) : undefined;
    if (extension?.extendee.typeName !== desc.typeName || extension.jsonName !== key) {
      reader.skip();
      return undefined;
    }
    if (reader.isNull()) return undefined;
    try {
      reader.charge(entryBytes);
      const value = this.#extension(extension)(reader);
      return value === undefined ? undefined : extensionSetter(extension, value);
    } catch (error) {
      throw within(error, `.${key}`);
    }
  }

  #extension(extension: DescExtension): ReadJsonValue {
    const known = this.#extensions.get(extension);
    if (known !== undefined) return known;
    const read = this.#field(extension);
    this.#extensions.set(extension, read);
    return read;
  }
}

/** Passes the key at hand if it is that of a field not far behind the last one; returns its place, or -1. */
function guessedField(reader: JsonReader, fields: readonly FieldReader[], next: number): number {
  // Mostly there is no space, and no field was left out.
  const first = fields[next];
  if (first !== undefined && reader.tryLiteral(first.literal)) return next;
  reader.peek();
  const end = Math.min(fields.length, next + guessesMax);
  for (let i = next; i < end; i++) {
    const field = fields[i];
    if (field !== undefined && reader.tryLiteral(field.literal)) return i;
  }
  return -1;
}

/** `Value` and `NullValue` have JSON null as a value. */
function takesNull(field: DescField | DescExtension): boolean {
  return (
    field.message?.typeName === "google.protobuf.Value" ||
    field.enum?.typeName === "google.protobuf.NullValue"
  );
}

function notNull(read: ReadJsonValue): ReadJsonValue {
  return (reader) => {
    if (reader.isNull()) throw refused("a value", null);
    return read(reader);
  };
}

/** protobuf-es keeps a oneof as one member with the name and the value of the field that is set. */
function caseReader(name: string, read: ReadJsonValue): ReadJsonValue {
  return (reader) => {
    const value = read(reader);
    return value === undefined ? undefined : { case: name, value };
  };
}

function listReader(read: ReadJsonValue): ReadJsonValue {
  return (reader) => {
    const list: unknown[] = [];
    if (!reader.startArray("an array")) return list;
    let i = 0;
    try {
      do {
        reader.charge(placeBytes);
        const value = read(reader);
        // What an enum does not know is dropped.
        if (value !== undefined) list.push(value);
        i++;
      } while (reader.moreItems());
    } catch (error) {
      throw within(error, `[${i}]`);
    }
    return list;
  };
}

function mapReader(readKey: (key: string) => string, read: ReadJsonValue): ReadJsonValue {
  return (reader) => {
    const record: Record<string, unknown> = {};
    if (!reader.startObject("an object")) return record;
    do {
      reader.charge(entryBytes);
      const key = reader.key();
      try {
        const value = read(reader);
        if (value !== undefined) setEntry(record, readKey(key), value);
      } catch (error) {
        throw within(error, entryStep(key));
      }
    } while (reader.moreMembers());
    return record;
  };
}

/** The content is copied: it may be read long after the buffer that it came in is used again. */
function slotReader(desc: DescMessage): ReadJsonValue {
  const slab = new Slab();
  return (reader) => {
    reader.peek();
    const start = reader.pos;
    reader.skip();
    reader.charge(plainBytes);
    const { headroomBytes } = reader;
    return slab.copy(reader.bytes, start, reader.pos, (bytes, from, to) =>
      fillSlot(desc, new JsonPlain(bytes, from, to, headroomBytes).plain),
    );
  };
}
