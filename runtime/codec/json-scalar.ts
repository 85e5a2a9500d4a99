import { ScalarType, type DescEnum, type JsonValue } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { CodecError } from "./codec-error.ts";
import { keyOf } from "./map-key.ts";
import type { Reading } from "./reading.ts";
import {
  checkedFloat,
  checkedInt32,
  checkedLong,
  checkedUint32,
  isUnsignedLong,
  refused,
} from "./scalar-range.ts";

/** The JSON of one value of a field; depth is that of the message around it. */
export type ShapeValue = (value: unknown, depth: number) => JsonValue;
/** One value of a field, from JSON; undefined is one that the field's enum does not know. */
export type UnshapeValue = (json: unknown, reading: Reading) => unknown;

export function scalarShaper(type: ScalarType): ShapeValue {
  switch (type) {
    case ScalarType.STRING:
      return (value) => {
        if (typeof value !== "string") throw refused("a string", value);
        return value;
      };
    case ScalarType.BOOL:
      return (value) => {
        if (typeof value !== "boolean") throw refused("true or false", value);
        return value;
      };
    case ScalarType.BYTES:
      return (value) => {
        if (!(value instanceof Uint8Array)) throw refused("a Uint8Array", value);
        return base64Encode(value);
      };
    case ScalarType.DOUBLE:
      return (value) => {
        if (typeof value !== "number") throw refused("a number", value);
        return numberJson(value);
      };
    case ScalarType.FLOAT:
      return (value) => numberJson(checkedFloat(value));
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return checkedInt32;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return checkedUint32;
    default: {
      const unsigned = isUnsignedLong(type);
      return (value) => checkedLong(value, unsigned).toString();
    }
  }
}

/** JSON text has no word for some numbers; ProtoJSON takes these strings, and readers take "-0" as a number. */
function numberJson(value: number): JsonValue {
  if (Number.isFinite(value)) return Object.is(value, -0) ? "-0" : value;
  return value > 0 ? "Infinity" : value < 0 ? "-Infinity" : "NaN";
}

export function enumShaper(desc: DescEnum): ShapeValue {
  if (desc.typeName === "google.protobuf.NullValue") return () => null;
  const names = new Map(desc.values.map((value) => [value.number, value.jsonName]));
  return (value) => {
    const number = checkedInt32(value);
    const name = names.get(number);
    if (name !== undefined) return name;
    if (desc.open) return number;
    throw new CodecError(`${number} is not a value of the closed enum ${desc.typeName}`);
  };
}

export function scalarUnshaper(type: ScalarType, longAsString: boolean): UnshapeValue {
  switch (type) {
    case ScalarType.STRING:
      return (json, reading) => {
        if (typeof json !== "string") throw refused("a string", json);
        reading.charge(1);
        return json;
      };
    case ScalarType.BOOL:
      return (json) => {
        if (typeof json !== "boolean") throw refused("true or false", json);
        return json;
      };
    case ScalarType.BYTES:
      return (json, reading) => {
        if (typeof json !== "string") throw refused("bytes as base64 text", json);
        reading.charge(4);
        return bytesOf(json);
      };
    case ScalarType.DOUBLE:
      return floatNumber;
    case ScalarType.FLOAT:
      return (json) => checkedFloat(floatNumber(json));
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return (json) => checkedInt32(wholeNumber(json));
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return (json) => checkedUint32(wholeNumber(json));
    default:
      return longUnshaper(isUnsignedLong(type), longAsString);
  }
}

function longUnshaper(unsigned: boolean, longAsString: boolean): UnshapeValue {
  return (json, reading) => {
    reading.charge(1);
    const long = checkedLong(json, unsigned);
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
export function enumUnshaper(desc: DescEnum): UnshapeValue {
  const numbers = new Map<unknown, number>();
  for (const value of desc.values) numbers.set(value.jsonName, value.number);
  for (const value of desc.values) numbers.set(value.name, value.number);
  for (const value of desc.values) numbers.set(value.number, value.number);
  if (desc.typeName === "google.protobuf.NullValue") numbers.set(null, 0);
  return (json) => {
    const known = numbers.get(json);
    if (known !== undefined) return known;
    if (typeof json === "string") return undefined;
    if (typeof json !== "number") throw refused(`a value of ${desc.typeName}`, json);
    const number = checkedInt32(json);
    return desc.open ? number : undefined;
  };
}

/** The key that protobuf-es keeps, from the key of a JSON object, which may be spelled in other ways. */
export function keyUnshaper(type: ScalarType): (key: string) => string {
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

/** Checks that a key is one of its type in its one spelling. */
export function keyShaper(type: ScalarType): (key: string) => string {
  if (type === ScalarType.STRING) return (key) => key;
  return (key) => {
    keyOf(type, key);
    return key;
  };
}
