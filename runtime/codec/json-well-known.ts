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
import type { JsonReader } from "./json-reader.ts";
import { scalarJsonReader, scalarJsonWriter } from "./json-scalar.ts";
import { keyLiteral, type JsonWriter } from "./json-writer.ts";
import { setEntry } from "./map-key.ts";
import { entryBytes, longBytes, type Reading } from "./reading.ts";
import type { Fields } from "./presence.ts";
import { refused } from "./scalar-range.ts";
import { wrappedField } from "./stored-form.ts";

// The types that ProtoJSON writes in their own way. Times, durations and field masks are left to protobuf-es,
// which knows their rules; those that can be deep or large are done here, under our limits.

type Shape = (writer: JsonWriter, message: Message) => void;
type Unshape = (reader: JsonReader) => Message;

/** Undefined for types that are objects with a key for each field. */
export function wellKnownShaper(
  desc: DescMessage,
  settings: CodecSettings,
  shapers: { of: (desc: DescMessage) => Shape },
): { shape: Shape; compile?: () => void } | undefined {
  if (!hasCustomJsonRepresentation(desc)) return undefined;
  const { depthMax, registry } = settings;
  const written = (jsonOf: (message: Message, depthLeft: number) => JsonValue): { shape: Shape } => ({
    shape: (writer, message) => writer.json(JSON.stringify(jsonOf(message, depthMax - writer.depth))),
  });
  switch (desc.typeName) {
    case "google.protobuf.Any":
      return { shape: (writer, message) => writeAny(writer, message as Any, registry, shapers) };
    case "google.protobuf.Struct":
      return written((message, depthLeft) => structJson(message as Struct, depthLeft));
    case "google.protobuf.Value":
      return written((message, depthLeft) => valueJson(message as Value, depthLeft));
    case "google.protobuf.ListValue":
      return written((message, depthLeft) => listJson(message as ListValue, depthLeft));
    default:
  }
  if (!isWrapperDesc(desc)) return written((message) => translated(() => toJson(desc, message)));
  const { scalar, localName } = wrappedField(desc);
  const write = scalarJsonWriter(scalar);
  return { shape: (writer, message) => write(writer, (message as unknown as Fields)[localName]) };
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
      return (reader) => readAny(reader, registry, unshapers);
    case "google.protobuf.Struct":
      return (reader) => structOfJson(reader.tree(), depthMax, reader);
    case "google.protobuf.Value":
      return (reader) => valueOfJson(reader.tree(), depthMax, reader);
    case "google.protobuf.ListValue":
      return (reader) => listOfJson(reader.tree(), depthMax, reader);
    default:
  }
  if (!isWrapperDesc(desc)) {
    return (reader) => {
      const text = reader.string(`the text of a ${desc.typeName}`);
      // A field mask has a string for each comma.
      reader.charge(smallMessageBytes + text.length * longBytes);
      return translated(() => fromJson(desc, text));
    };
  }
  const { scalar, longAsString, localName } = wrappedField(desc);
  const read = scalarJsonReader(scalar, longAsString);
  return (reader) => {
    reader.charge(smallMessageBytes);
    const message = create(desc);
    if (!reader.isNull()) (message as unknown as Fields)[localName] = read(reader);
    return message;
  };
}

/** A message with one or two members. */
const smallMessageBytes = 120;
/** A `Value` with a number. */
const valueBytes = 96;

/** What protobuf-es throws becomes ours, without the name of the type, which the path has. */
function translated<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new CodecError(text.replace(/^cannot (?:en|de)code [^:]*: /, ""));
  }
}

const typeKey = keyLiteral("@type");
const valueKey = keyLiteral("value");

function writeAny(
  writer: JsonWriter,
  any: Any,
  registry: CodecSettings["registry"],
  shapers: { of: (desc: DescMessage) => Shape },
): void {
  const opened = writer.opened();
  if (any.typeUrl !== "") {
    const desc = registry?.getMessage(any.typeUrl.slice(any.typeUrl.lastIndexOf("/") + 1));
    if (desc === undefined) throw notRegistered();
    const message = translated(() => anyUnpack(any, desc));
    if (message === undefined) throw new CodecError("typeUrl names no type");
    if (hasCustomJsonRepresentation(desc)) {
      writer.literal(valueKey);
      shapers.of(desc)(writer, message);
    } else {
      const content = writer.opened();
      shapers.of(desc)(writer, message);
      writer.reopen(content);
    }
    writer.literal(typeKey);
    writer.string(any.typeUrl);
  }
  writer.closedObject(opened);
}

function readAny(
  reader: JsonReader,
  registry: CodecSettings["registry"],
  unshapers: { of: (desc: DescMessage) => Unshape },
): Message {
  const start = reader.pos;
  const { typeUrl, valueAt, count } = anyParts(reader);
  if (typeUrl === undefined && count === 0) return create(AnySchema);
  if (typeof typeUrl !== "string") throw new CodecError("expected an object with @type, got an object");
  const desc = registry?.getMessage(typeUrl.slice(typeUrl.lastIndexOf("/") + 1));
  if (desc === undefined) throw notRegistered();
  const end = reader.pos;
  reader.enter();
  // The content is the same object, in which the reader of its type skips @type as any field it does not know.
  if (!hasCustomJsonRepresentation(desc)) reader.pos = start;
  else if (valueAt === undefined) throw new CodecError('expected the content of an Any under "value"');
  else reader.pos = valueAt;
  const message = unshapers.of(desc)(reader);
  reader.leave();
  reader.pos = end;
  reader.charge(smallMessageBytes);
  const any = translated(() => anyPack(desc, message));
  any.typeUrl = typeUrl;
  return any;
}

/** Passes over an Any to learn its type, and where its "value" is. */
function anyParts(reader: JsonReader): { typeUrl: unknown; valueAt: number | undefined; count: number } {
  const parts = { typeUrl: undefined as unknown, valueAt: undefined as number | undefined, count: 0 };
  if (!reader.startObject("an object with @type")) return parts;
  do {
    const key = reader.key();
    parts.count++;
    if (key === "@type") {
      if (parts.typeUrl !== undefined) throw new CodecError("@type came before");
      parts.typeUrl = reader.string("an object with @type");
      continue;
    }
    if (key === "value") parts.valueAt = reader.pos;
    reader.skip();
  } while (reader.moreMembers());
  return parts;
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
  reading.charge(smallMessageBytes);
  const struct = create(StructSchema);
  for (const [key, value] of Object.entries(json)) {
    reading.charge(entryBytes);
    setEntry(struct.fields, key, valueOfJson(value, depthLeft - 1, reading));
  }
  return struct;
}

function listOfJson(json: unknown, depthLeft: number, reading: Reading): ListValue {
  if (!Array.isArray(json)) throw refused("a JSON array", json);
  reading.charge(smallMessageBytes);
  return create(ListValueSchema, { values: json.map((item) => valueOfJson(item, depthLeft - 1, reading)) });
}

function valueOfJson(json: unknown, depthLeft: number, reading: Reading): Value {
  if (depthLeft < 0) throw nestedTooDeep();
  reading.charge(valueBytes);
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
  reading?.charge(longBytes);
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
      for (const [key, value] of Object.entries(json)) {
        reading?.charge(entryBytes);
        setEntry(copy, key, jsonCopy(value, depthLeft - 2, reading));
      }
      return copy;
    }
    default:
      throw refused("a JSON value", json);
  }
}
