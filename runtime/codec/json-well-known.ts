import {
  create,
  fromJson,
  toJson,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import {
  AnySchema,
  anyPack,
  anyUnpack,
  hasCustomJsonRepresentation,
  isWrapperDesc,
  ListValueSchema,
  NullValue,
  StructSchema,
  ValueSchema,
  type Any,
  type ListValue,
  type Struct,
  type Value,
} from "@bufbuild/protobuf/wkt";
import { CodecError, entryStep, within } from "./codec-error.ts";
import type { CodecSettings } from "./codec.ts";
import { scalarShaper, scalarUnshaper } from "./json-scalar.ts";
import { setEntry } from "./map-key.ts";
import type { Reading } from "./reading.ts";
import type { Fields } from "./presence.ts";
import { refused } from "./scalar-range.ts";
import { wrappedField } from "./stored-form.ts";

// The types that ProtoJSON writes in their own way. Times, durations and field masks are left to protobuf-es,
// which knows their rules; those that can be deep or large are done here, under our limits.

type Shape = (message: Message, depth: number) => JsonValue;
type Unshape = (json: unknown, reading: Reading) => Message;

/** Undefined for types that are objects with a key for each field. */
export function wellKnownShaper(
  desc: DescMessage,
  settings: CodecSettings,
  shapers: { of: (desc: DescMessage) => Shape },
): { shape: Shape; compile?: () => void } | undefined {
  if (!hasCustomJsonRepresentation(desc)) return undefined;
  const { depthMax, registry } = settings;
  switch (desc.typeName) {
    case "google.protobuf.Any":
      return { shape: (message, depth) => anyJson(message as Any, depth, registry, shapers) };
    case "google.protobuf.Struct":
      return { shape: (message, depth) => structJson(message as Struct, depthMax - depth) };
    case "google.protobuf.Value":
      return { shape: (message, depth) => valueJson(message as Value, depthMax - depth) };
    case "google.protobuf.ListValue":
      return { shape: (message, depth) => listJson(message as ListValue, depthMax - depth) };
    default:
  }
  if (!isWrapperDesc(desc)) return { shape: (message) => translated(() => toJson(desc, message)) };
  const { scalar, localName } = wrappedField(desc);
  const shape = scalarShaper(scalar);
  return { shape: (message, depth) => shape((message as unknown as Fields)[localName], depth) };
}

export function wellKnownUnshaper(
  desc: DescMessage,
  settings: CodecSettings,
  unshapers: { of: (desc: DescMessage) => Unshape },
): Unshape | undefined {
  if (!hasCustomJsonRepresentation(desc)) return undefined;
  const { depthMax, registry } = settings;
  switch (desc.typeName) {
    case "google.protobuf.Any":
      return (json, reading) => anyOf(json, reading, registry, unshapers);
    case "google.protobuf.Struct":
      return (json, reading) => structOfJson(json, depthMax, reading);
    case "google.protobuf.Value":
      return (json, reading) => valueOfJson(json, depthMax, reading);
    case "google.protobuf.ListValue":
      return (json, reading) => listOfJson(json, depthMax, reading);
    default:
  }
  if (!isWrapperDesc(desc)) {
    return (json, reading) => {
      if (typeof json !== "string") throw refused(`the text of a ${desc.typeName}`, json);
      reading.charge(1 + desc.members.length);
      return translated(() => fromJson(desc, json));
    };
  }
  const { scalar, longAsString, localName } = wrappedField(desc);
  const unshape = scalarUnshaper(scalar, longAsString);
  return (json, reading) => {
    reading.charge(2);
    const message = create(desc);
    if (json !== null) (message as unknown as Fields)[localName] = unshape(json, reading);
    return message;
  };
}

/** What protobuf-es throws becomes ours, without the name of the type, which the path has. */
function translated<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new CodecError(text.replace(/^cannot (?:en|de)code [^:]*: /, ""));
  }
}

function anyJson(
  any: Any,
  depth: number,
  registry: CodecSettings["registry"],
  shapers: { of: (desc: DescMessage) => Shape },
): JsonValue {
  if (any.typeUrl === "") return {};
  const desc = registry?.getMessage(any.typeUrl.slice(any.typeUrl.lastIndexOf("/") + 1));
  if (desc === undefined) throw notRegistered();
  const message = translated(() => anyUnpack(any, desc));
  if (message === undefined) throw new CodecError("typeUrl names no type");
  const content = shapers.of(desc)(message, depth);
  if (hasCustomJsonRepresentation(desc)) return { "@type": any.typeUrl, value: content };
  const json = content as JsonObject;
  json["@type"] = any.typeUrl;
  return json;
}

function anyOf(
  json: unknown,
  reading: Reading,
  registry: CodecSettings["registry"],
  unshapers: { of: (desc: DescMessage) => Unshape },
): Message {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    throw refused("an object with @type", json);
  const { "@type": typeUrl, ...content } = json as { "@type"?: unknown; value?: unknown };
  if (typeUrl === undefined && Object.keys(content).length === 0) return create(AnySchema);
  if (typeof typeUrl !== "string") throw refused("an object with @type", json);
  const desc = registry?.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1));
  if (desc === undefined) throw notRegistered();
  const base = reading.open(2);
  const message = unshapers.of(desc)(hasCustomJsonRepresentation(desc) ? content.value : content, reading);
  reading.close(base);
  const any = translated(() => anyPack(desc, message));
  any.typeUrl = typeUrl;
  return any;
}

function notRegistered(): CodecError {
  return new CodecError(
    "the type of this Any is not in the registry: JSON needs it, see the codec's options",
  );
}

function structJson(struct: Struct, depthLeft: number): JsonObject {
  const json: JsonObject = {};
  for (const [key, value] of Object.entries(struct.fields)) {
    try {
      setEntry(json, key, valueJson(value, depthLeft - 1));
    } catch (error) {
      throw within(error, entryStep(key));
    }
  }
  return json;
}

function listJson(list: ListValue, depthLeft: number): JsonValue[] {
  return list.values.map((value) => valueJson(value, depthLeft - 1));
}

function valueJson(value: Value, depthLeft: number): JsonValue {
  if (depthLeft < 0) throw nestedTooDeep();
  const { kind } = value;
  switch (kind.case) {
    case "nullValue":
      return null;
    case "numberValue":
      return finite(kind.value);
    case "boolValue":
    case "stringValue":
      return kind.value;
    case "structValue":
      return structJson(kind.value, depthLeft - 1);
    case "listValue":
      return listJson(kind.value, depthLeft - 1);
    case undefined:
      throw new CodecError("a google.protobuf.Value must have a value");
  }
}

function structOfJson(json: unknown, depthLeft: number, reading: Reading): Struct {
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw refused("a JSON object", json);
  reading.charge(2);
  const struct = create(StructSchema);
  for (const [key, value] of Object.entries(json))
    setEntry(struct.fields, key, valueOfJson(value, depthLeft - 1, reading));
  return struct;
}

function listOfJson(json: unknown, depthLeft: number, reading: Reading): ListValue {
  if (!Array.isArray(json)) throw refused("a JSON array", json);
  reading.charge(2);
  return create(ListValueSchema, { values: json.map((item) => valueOfJson(item, depthLeft - 1, reading)) });
}

function valueOfJson(json: unknown, depthLeft: number, reading: Reading): Value {
  if (depthLeft < 0) throw nestedTooDeep();
  reading.charge(2);
  const value = create(ValueSchema);
  value.kind = kindOfJson(json, depthLeft, reading);
  return value;
}

function kindOfJson(json: unknown, depthLeft: number, reading: Reading): Value["kind"] {
  switch (typeof json) {
    case "number":
      return { case: "numberValue", value: finite(json) };
    case "string":
      return { case: "stringValue", value: json };
    case "boolean":
      return { case: "boolValue", value: json };
    case "object":
      if (json === null) return { case: "nullValue", value: NullValue.NULL_VALUE };
      if (Array.isArray(json)) return { case: "listValue", value: listOfJson(json, depthLeft - 1, reading) };
      return { case: "structValue", value: structOfJson(json, depthLeft - 1, reading) };
    default:
      throw refused("a JSON value", json);
  }
}

function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  throw new CodecError("a google.protobuf.Value cannot hold NaN or Infinity");
}

function nestedTooDeep(): CodecError {
  return new CodecError("the JSON is nested too deep");
}

/**
 * A copy of a JSON value that a message keeps as it is: neither the sender's later changes nor the reader's
 * reach the other. Throws `CodecError` for what JSON cannot hold; `reading` counts what is made, if given.
 */
export function jsonCopy(json: unknown, depthLeft: number, reading: Reading | undefined): JsonValue {
  if (depthLeft < 0) throw nestedTooDeep();
  reading?.charge(1);
  switch (typeof json) {
    case "number":
      return finite(json);
    case "string":
    case "boolean":
      return json;
    case "object": {
      if (json === null) return null;
      // Two steps a level, as many as the messages that stand behind it.
      if (Array.isArray(json)) return json.map((item) => jsonCopy(item, depthLeft - 2, reading));
      const copy: JsonObject = {};
      for (const [key, value] of Object.entries(json))
        setEntry(copy, key, jsonCopy(value, depthLeft - 2, reading));
      return copy;
    }
    default:
      throw refused("a JSON value", json);
  }
}
