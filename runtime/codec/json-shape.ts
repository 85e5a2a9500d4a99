import {
  getExtension,
  type DescExtension,
  type DescField,
  type DescMessage,
  type DescOneof,
  type JsonObject,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import { CodecError, entryStep, within } from "./codec-error.ts";
import type { CodecSettings } from "./codec.ts";
import { enumShaper, keyShaper, scalarShaper, type ShapeValue } from "./json-scalar.ts";
import { jsonCopy, wellKnownShaper } from "./json-well-known.ts";
import { setEntry } from "./map-key.ts";
import { presentValueOf, type Fields, type PresentValue } from "./presence.ts";
import { tooDeep } from "./reading.ts";
import { refused } from "./scalar-range.ts";
import { slotContent } from "./slot.ts";
import { storedFormOf, wrappedField, type MessageField } from "./stored-form.ts";

/** The ProtoJSON of one message; depth is how many messages lie around it. */
export type ShapeJson = (message: Message, depth: number) => JsonValue;

/** A member of a message, compiled: a field, or a oneof with all its fields. */
interface MemberShaper {
  readonly present: PresentValue;
  /** The member's step in an error's path; a oneof has none, its fields have. */
  readonly step: string;
  readonly put: (json: JsonObject, value: unknown, depth: number) => void;
}

/** Compiles messages of any type to makers of ProtoJSON, each once, without making code from text. */
export class JsonShapers {
  readonly #settings: CodecSettings;
  readonly #compiled = new WeakMap<DescMessage, ShapeJson>();
  readonly #extensions = new WeakMap<DescExtension, ShapeValue>();

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
    const shape: ShapeJson = (message, depth) => {
      if (message.$typeName !== typeName) throw refused(`a ${typeName}`, message);
      if (depth >= depthMax) throw tooDeep(depthMax);
      return body.shape(message, depth + 1);
    };
    // Known before its fields are compiled, so that a recursive type finds itself.
    this.#compiled.set(desc, shape);
    body.compile?.();
    return shape;
  }

  /** A message that is an object with a key for each field. */
  #body(desc: DescMessage): { shape: ShapeJson; compile: () => void } {
    const members: MemberShaper[] = [];
    return {
      shape: (message, depth) => {
        const json: JsonObject = {};
        putMembers(json, members, message, depth);
        if (message.$unknown !== undefined) this.#putExtensions(json, desc, message, depth);
        return json;
      },
      compile: () => {
        for (const member of desc.members) members.push(this.#member(member));
      },
    };
  }

  #member(member: DescField | DescOneof): MemberShaper {
    const present = presentValueOf(member);
    if (member.kind === "field") return { present, step: `.${member.name}`, put: this.#put(member) };
    const cases = new Map(
      member.fields.map((field) => [field.localName, { step: `.${field.name}`, put: this.#put(field) }]),
    );
    return {
      present,
      step: "",
      put: (json, oneof, depth) => {
        const { case: name, value } = oneof as { case: string; value: unknown };
        const chosen = cases.get(name);
        if (chosen === undefined) throw new CodecError(`oneof ${member.name} has no field "${name}"`);
        try {
          chosen.put(json, value, depth);
        } catch (error) {
          throw within(error, chosen.step);
        }
      },
    };
  }

  #put(field: DescField): MemberShaper["put"] {
    const { jsonName } = field;
    const shape = this.#field(field);
    if (jsonName === "__proto__")
      return (json, value, depth) => setEntry(json, jsonName, shape(value, depth));
    return (json, value, depth) => {
      json[jsonName] = shape(value, depth);
    };
  }

  #field(field: DescField | DescExtension): ShapeValue {
    switch (field.fieldKind) {
      case "scalar":
        return scalarShaper(field.scalar);
      case "enum":
        return enumShaper(field.enum);
      case "message":
        return this.#message(field);
      case "list":
        return listShaper(this.#element(field));
      case "map":
        return mapShaper(keyShaper(field.mapKey), this.#element(field));
    }
  }

  #element(field: (DescField | DescExtension) & { readonly fieldKind: "list" | "map" }): ShapeValue {
    if (field.message !== undefined) return this.#message(field);
    return field.enum === undefined ? scalarShaper(field.scalar) : enumShaper(field.enum);
  }

  #message(field: MessageField): ShapeValue {
    const desc = field.message;
    switch (storedFormOf(field, this.#settings.slotTypeNames)) {
      case "slot":
        return (value) => slotContent(value as Message) as unknown as JsonValue;
      case "wrapper":
        return scalarShaper(wrappedField(desc).scalar);
      case "struct": {
        const { depthMax } = this.#settings;
        return (value, depth) => {
          if (typeof value !== "object" || value === null || Array.isArray(value))
            throw refused("a JSON object", value);
          return jsonCopy(value, depthMax - depth, undefined);
        };
      }
      case "message": {
        const shape = this.of(desc);
        return (value, depth) => {
          if (typeof value !== "object" || value === null) throw refused(`a ${desc.typeName}`, value);
          return shape(value as Message, depth);
        };
      }
    }
  }

  #putExtensions(json: JsonObject, desc: DescMessage, message: Message, depth: number): void {
    const { registry } = this.#settings;
    if (registry === undefined) return;
    for (const number of new Set(message.$unknown?.map((field) => field.no))) {
      const extension = registry.getExtensionFor(desc, number);
      if (extension === undefined) continue;
      try {
        json[extension.jsonName] = this.#extension(extension)(getExtension(message, extension), depth);
      } catch (error) {
        throw within(error, `.[${extension.typeName}]`);
      }
    }
  }

  #extension(extension: DescExtension): ShapeValue {
    const known = this.#extensions.get(extension);
    if (known !== undefined) return known;
    const shape = this.#field(extension);
    this.#extensions.set(extension, shape);
    return shape;
  }
}

function putMembers(
  json: JsonObject,
  members: readonly MemberShaper[],
  message: Message,
  depth: number,
): void {
  let step = "";
  try {
    for (let i = 0; i < members.length; i++) {
      const member = members[i];
      if (member === undefined) continue;
      ({ step } = member);
      const value = member.present(message);
      if (value !== undefined) member.put(json, value, depth);
    }
  } catch (error) {
    throw within(error, step);
  }
}

function listShaper(shape: ShapeValue): ShapeValue {
  return (list, depth) => {
    if (!Array.isArray(list)) throw refused("an array", list);
    const json: JsonValue[] = [];
    let i = 0;
    try {
      for (; i < list.length; i++) json.push(shape(list[i], depth));
    } catch (error) {
      throw within(error, `[${i}]`);
    }
    return json;
  };
}

function mapShaper(shapeKey: (key: string) => string, shape: ShapeValue): ShapeValue {
  return (record, depth) => {
    if (typeof record !== "object" || record === null)
      throw refused("an object with the map's entries", record);
    const json: JsonObject = {};
    for (const key of Object.keys(record)) {
      try {
        setEntry(json, shapeKey(key), shape((record as Fields)[key], depth));
      } catch (error) {
        throw within(error, entryStep(key));
      }
    }
    return json;
  };
}
