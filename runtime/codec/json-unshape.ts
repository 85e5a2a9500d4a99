import { type DescExtension, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { blankOf, fillBlank, type Blank } from "./blank.ts";
import { CodecError, entryStep, within } from "./codec-error.ts";
import type { CodecSettings, Plain } from "./codec.ts";
import { enumUnshaper, keyUnshaper, scalarUnshaper, type UnshapeValue } from "./json-scalar.ts";
import { jsonCopy, wellKnownUnshaper } from "./json-well-known.ts";
import { extensionSetter, type SetExtension } from "./extension-setter.ts";
import { setEntry } from "./map-key.ts";
import type { Reading } from "./reading.ts";
import { refused } from "./scalar-range.ts";
import { fillSlot } from "./slot.ts";
import { storedFormOf, wrappedField, type MessageField } from "./stored-form.ts";

/** One message from its ProtoJSON. */
export type UnshapeJson = (json: unknown, reading: Reading) => Message;

/** A field, compiled. */
interface FieldUnshaper {
  readonly step: string;
  /** Position of the field, or of its oneof, among the members: no two values may come for one. */
  readonly member: number;
  /** JSON null is a value here, not the absence of one. */
  readonly takesNull: boolean;
  readonly unshape: UnshapeValue;
}

/** Compiles messages of any type to readers of ProtoJSON, each once, without making code from text. */
export class JsonUnshapers {
  readonly #settings: CodecSettings;
  readonly #compiled = new WeakMap<DescMessage, UnshapeJson>();
  readonly #extensions = new WeakMap<DescExtension, UnshapeValue>();

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
    const fields = new Map<string, FieldUnshaper>();
    const blank = blankOf(desc);
    const unshape: UnshapeJson = (json, reading) => this.#read(json, reading, desc, blank, fields);
    // Known before its fields are compiled, so that a recursive type finds itself.
    this.#compiled.set(desc, unshape);
    for (const field of desc.fields) {
      const compiled = this.#fieldUnshaper(field);
      fields.set(field.name, compiled).set(field.jsonName, compiled);
    }
    return unshape;
  }

  #read(
    json: unknown,
    reading: Reading,
    desc: DescMessage,
    blank: Blank,
    fields: ReadonlyMap<string, FieldUnshaper>,
  ): Message {
    if (typeof json !== "object" || json === null || Array.isArray(json)) {
      throw refused(`an object with the fields of ${desc.typeName}`, json);
    }
    const base = reading.open(blank.memberCount);
    const { values } = reading;
    let extensions: SetExtension[] | undefined;
    let step = "";
    try {
      for (const key of Object.keys(json)) {
        step = "";
        const value = (json as Record<string, unknown>)[key];
        const field = fields.get(key);
        if (field === undefined) {
          const set = this.#unknownField(key, value, reading, desc);
          if (set !== undefined) (extensions ??= []).push(set);
          continue;
        }
        if (value === null && !field.takesNull) continue;
        ({ step } = field);
        const slot = base + field.member;
        if (values[slot] !== undefined)
          throw new CodecError("the field, or another of its oneof, came before");
        values[slot] = field.unshape(value, reading);
      }
    } catch (error) {
      throw within(error, step);
    }
    const message = fillBlank(blank, values, base) as unknown as Message;
    reading.close(base);
    if (extensions !== undefined) for (const set of extensions) set(message);
    return message;
  }

  #fieldUnshaper(field: DescField): FieldUnshaper {
    const unshape = this.#field(field);
    return {
      step: `.${field.name}`,
      member: field.parent.members.indexOf(field.oneof ?? field),
      takesNull: (field.fieldKind === "message" || field.fieldKind === "enum") && takesNull(field),
      unshape: field.oneof === undefined ? unshape : caseUnshaper(field.localName, unshape),
    };
  }

  #field(field: DescField | DescExtension): UnshapeValue {
    switch (field.fieldKind) {
      case "scalar":
        return scalarUnshaper(field.scalar, field.longAsString);
      case "enum":
        return enumUnshaper(field.enum);
      case "message":
        return this.#message(field);
      case "list":
        return listUnshaper(this.#element(field));
      case "map":
        return mapUnshaper(keyUnshaper(field.mapKey), this.#element(field));
    }
  }

  /** What a list or map holds; null is refused there, except where it is a value. */
  #element(field: (DescField | DescExtension) & { readonly fieldKind: "list" | "map" }): UnshapeValue {
    if (field.message !== undefined) {
      const unshape = this.#message(field);
      return takesNull(field) ? unshape : notNull(unshape);
    }
    if (field.enum !== undefined) return enumUnshaper(field.enum);
    return scalarUnshaper(field.scalar, field.fieldKind === "list" && field.longAsString);
  }

  #message(field: MessageField): UnshapeValue {
    const desc = field.message;
    switch (storedFormOf(field, this.#settings.slotTypeNames)) {
      case "slot":
        return (json) => fillSlot(desc, json as Plain);
      case "wrapper": {
        const value = wrappedField(desc);
        return scalarUnshaper(value.scalar, value.longAsString);
      }
      case "struct": {
        const { depthMax } = this.#settings;
        return (json, reading) => {
          if (typeof json !== "object" || Array.isArray(json)) throw refused("a JSON object", json);
          return jsonCopy(json, depthMax, reading);
        };
      }
      case "message":
        return this.of(desc);
    }
  }

  /** A key that the schema does not have: an extension that the registry knows, or to be ignored. */
  #unknownField(key: string, json: unknown, reading: Reading, desc: DescMessage): SetExtension | undefined {
    if (this.#settings.registry === undefined || !key.startsWith("[") || json === null) return undefined;
    const extension = this.#settings.registry.getExtension(key.slice(1, -1));
    if (extension?.extendee.typeName !== desc.typeName || extension.jsonName !== key) return undefined;
    try {
      reading.charge(1);
      const value = this.#extension(extension)(json, reading);
      return value === undefined ? undefined : extensionSetter(extension, value);
    } catch (error) {
      throw within(error, `.${key}`);
    }
  }

  #extension(extension: DescExtension): UnshapeValue {
    const known = this.#extensions.get(extension);
    if (known !== undefined) return known;
    const unshape = this.#field(extension);
    this.#extensions.set(extension, unshape);
    return unshape;
  }
}

/** `Value` and `NullValue` have JSON null as a value. */
function takesNull(field: DescField | DescExtension): boolean {
  return (
    field.message?.typeName === "google.protobuf.Value" ||
    field.enum?.typeName === "google.protobuf.NullValue"
  );
}

function notNull(unshape: UnshapeValue): UnshapeValue {
  return (json, reading) => {
    if (json === null) throw refused("a value", json);
    return unshape(json, reading);
  };
}

/** protobuf-es keeps a oneof as one member with the name and the value of the field that is set. */
function caseUnshaper(name: string, unshape: UnshapeValue): UnshapeValue {
  return (json, reading) => {
    const value = unshape(json, reading);
    return value === undefined ? undefined : { case: name, value };
  };
}

function listUnshaper(unshape: UnshapeValue): UnshapeValue {
  return (json, reading) => {
    if (!Array.isArray(json)) throw refused("an array", json);
    const list: unknown[] = [];
    let i = 0;
    try {
      for (; i < json.length; i++) {
        const value = unshape(json[i], reading);
        // What an enum does not know is dropped.
        if (value !== undefined) list.push(value);
      }
    } catch (error) {
      throw within(error, `[${i}]`);
    }
    return list;
  };
}

function mapUnshaper(unshapeKey: (key: string) => string, unshape: UnshapeValue): UnshapeValue {
  return (json, reading) => {
    if (typeof json !== "object" || json === null || Array.isArray(json)) throw refused("an object", json);
    const record: Record<string, unknown> = {};
    for (const key of Object.keys(json)) {
      try {
        reading.charge(2);
        const value = unshape((json as Record<string, unknown>)[key], reading);
        if (value !== undefined) setEntry(record, unshapeKey(key), value);
      } catch (error) {
        throw within(error, entryStep(key));
      }
    }
    return record;
  };
}
