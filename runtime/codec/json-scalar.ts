import { ScalarType, type DescEnum } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { CodecError } from "./codec-error.ts";
import { keyOf } from "./map-key.ts";
import type { JsonReader } from "./json-reader.ts";
import { stringLiteral, type JsonWriter } from "./json-writer.ts";
import { binaryBytes, longBytes } from "./reading.ts";
import {
  checkedFloat,
  checkedInt32,
  checkedLong,
  checkedUint32,
  isUnsignedLong,
  refused,
} from "./scalar-range.ts";

/** Writes one value of a field. */
export type WriteJsonValue = (writer: JsonWriter, value: unknown) => void;
/** Reads one value of a field; undefined is one that the field's enum does not know. */
export type ReadJsonValue = (reader: JsonReader) => unknown;

export function scalarJsonWriter(type: ScalarType): WriteJsonValue {
  switch (type) {
    case ScalarType.STRING:
      return (writer, value) => {
        if (typeof value !== "string") throw refused("a string", value);
        writer.string(value);
      };
    case ScalarType.BOOL:
      return (writer, value) => {
        if (typeof value !== "boolean") throw refused("true or false", value);
        writer.ascii(value ? "true" : "false");
      };
    case ScalarType.BYTES:
      return (writer, value) => {
        if (!(value instanceof Uint8Array)) throw refused("a Uint8Array", value);
        writer.json(`"${base64Encode(value)}"`);
      };
    case ScalarType.DOUBLE:
      return (writer, value) => {
        if (typeof value !== "number") throw refused("a number", value);
        writeNumber(writer, value);
      };
    case ScalarType.FLOAT:
      return (writer, value) => writeNumber(writer, checkedFloat(value));
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return (writer, value) => writer.number(checkedInt32(value));
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return (writer, value) => writer.number(checkedUint32(value));
    default: {
      const unsigned = isUnsignedLong(type);
      return (writer, value) => writer.long(checkedLong(value, unsigned));
    }
  }
}

/** JSON text has no word for some numbers; ProtoJSON takes these strings, and readers take "-0" as a number. */
function writeNumber(writer: JsonWriter, value: number): void {
  if (!Number.isFinite(value)) writer.ascii(`"${value}"`);
  else if (Object.is(value, -0)) writer.ascii('"-0"');
  else writer.number(value);
}

export function enumJsonWriter(desc: DescEnum): WriteJsonValue {
  if (desc.typeName === "google.protobuf.NullValue") return (writer) => writer.ascii("null");
  const names = new Map(desc.values.map((value) => [value.number, stringLiteral(value.jsonName)]));
  return (writer, value) => {
    const number = checkedInt32(value);
    const name = names.get(number);
    if (name !== undefined) writer.literal(name);
    else if (desc.open) writer.number(number);
    else throw new CodecError(`${number} is not a value of the closed enum ${desc.typeName}`);
  };
}

export function scalarJsonReader(type: ScalarType, longAsString: boolean): ReadJsonValue {
  switch (type) {
    case ScalarType.STRING:
      return (reader) => reader.string("a string");
    case ScalarType.BOOL:
      return (reader) => {
        const json = reader.scalar();
        if (typeof json !== "boolean") throw refused("true or false", json);
        return json;
      };
    case ScalarType.BYTES:
      return (reader) => {
        reader.charge(binaryBytes);
        return bytesOf(reader.string("bytes as base64 text"));
      };
    case ScalarType.DOUBLE:
      return (reader) => floatNumber(reader.scalar());
    case ScalarType.FLOAT:
      return (reader) => checkedFloat(floatNumber(reader.scalar()));
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return (reader) => checkedInt32(wholeNumber(reader.scalar()));
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return (reader) => checkedUint32(wholeNumber(reader.scalar()));
    default:
      return longReader(isUnsignedLong(type), longAsString);
  }
}

function longReader(unsigned: boolean, longAsString: boolean): ReadJsonValue {
  return (reader) => {
    reader.charge(longBytes);
    const long = checkedLong(reader.long(), unsigned);
    return longAsString ? long.toString() : long;
  };
}

function bytesOf(text: string): Uint8Array {
  try {
    return base64Decode(text);
  } catch {
    throw new CodecError("expected bytes as base64 text, got other text");
  }
}

/** ProtoJSON takes numbers as text as well, without space around them. */
function wholeNumber(json: unknown): unknown {
  if (typeof json !== "string" || json === "" || json.trim() !== json) return json;
  const number = Number(json);
  return Number.isNaN(number) ? json : number;
}

function floatNumber(json: unknown): number {
  if (typeof json === "number") {
    // JSON.parse makes Infinity of 1e400.
    if (Number.isFinite(json)) return json;
    throw new CodecError("the number is too large for a double");
  }
  if (json === "NaN") return Number.NaN;
  if (json === "Infinity") return Number.POSITIVE_INFINITY;
  if (json === "-Infinity") return Number.NEGATIVE_INFINITY;
  const number = wholeNumber(json);
  if (typeof number === "number" && Number.isFinite(number)) return number;
  throw refused("a number", json);
}

/** Undefined for names and numbers that a newer schema may have; an open enum keeps the numbers. */
export function enumJsonReader(desc: DescEnum): ReadJsonValue {
  const numbers = new Map<unknown, number>();
  for (const value of desc.values) numbers.set(value.jsonName, value.number);
  for (const value of desc.values) numbers.set(value.name, value.number);
  for (const value of desc.values) numbers.set(value.number, value.number);
  if (desc.typeName === "google.protobuf.NullValue") numbers.set(null, 0);
  return (reader) => {
    const json = reader.name();
    const known = numbers.get(json);
    if (known !== undefined) return known;
    if (typeof json === "string") return undefined;
    if (typeof json !== "number") throw refused(`a value of ${desc.typeName}`, json);
    const number = checkedInt32(json);
    return desc.open ? number : undefined;
  };
}

/** The key that protobuf-es keeps, from the key of a JSON object, which may be spelled in other ways. */
export function jsonKeyReader(type: ScalarType): (key: string) => string {
  switch (type) {
    case ScalarType.STRING:
      return (key) => key;
    case ScalarType.BOOL:
      return (key) => String(keyOf(type, key));
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return (key) => String(checkedInt32(wholeNumber(key)));
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return (key) => String(checkedUint32(wholeNumber(key)));
    default: {
      const unsigned = isUnsignedLong(type);
      return (key) => checkedLong(key, unsigned).toString();
    }
  }
}

/** Writes a key, after checking that it is one of its type in its one spelling; with it, what stands around. */
export function jsonKeyWriter(type: ScalarType): (writer: JsonWriter, key: string) => void {
  return (writer, key) => {
    if (type !== ScalarType.STRING) keyOf(type, key);
    writer.comma();
    writer.string(key);
    writer.colon();
  };
}
