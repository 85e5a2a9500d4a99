import { ScalarType, type DescEnum } from "@bufbuild/protobuf";
import { CodecError } from "./codec-error.ts";
import { keyOf } from "./map-key.ts";
import type { MsgpackReader } from "./msgpack-reader.ts";
import type { MsgpackWriter } from "./msgpack-writer.ts";
import {
  checkedFloat,
  checkedInt32,
  checkedLong,
  checkedUint32,
  isUnsignedLong,
  refused,
} from "./scalar-range.ts";

/** Writes one value of a field. */
export type WriteValue = (writer: MsgpackWriter, value: unknown) => void;
/** Reads one value of a field; undefined is a value that the field's closed enum does not know. */
export type ReadValue = (reader: MsgpackReader) => unknown;

export function scalarWriter(type: ScalarType): WriteValue {
  switch (type) {
    case ScalarType.STRING:
      return (writer, value) => {
        if (typeof value !== "string") throw refused("a string", value);
        writer.string(value);
      };
    case ScalarType.BOOL:
      return (writer, value) => {
        if (typeof value !== "boolean") throw refused("true or false", value);
        writer.bool(value);
      };
    case ScalarType.BYTES:
      return (writer, value) => {
        if (!(value instanceof Uint8Array)) throw refused("a Uint8Array", value);
        writer.binary(value);
      };
    case ScalarType.DOUBLE:
      return (writer, value) => {
        if (typeof value !== "number") throw refused("a number", value);
        writeDouble(writer, value);
      };
    case ScalarType.FLOAT:
      return (writer, value) => writeFloat(writer, checkedFloat(value));
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return (writer, value) => writer.integer(checkedInt32(value));
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return (writer, value) => writer.integer(checkedUint32(value));
    default: {
      const unsigned = isUnsignedLong(type);
      return (writer, value) => writer.long(checkedLong(value, unsigned));
    }
  }
}

/** Whole numbers that are shorter as an integer; -0 is not among them, an integer has no sign of zero. */
function isShortWhole(value: number, max: number): boolean {
  return value >= -max && value <= max && Number.isInteger(value) && !Object.is(value, -0);
}

/** The shortest form of a double. */
export function writeDouble(writer: MsgpackWriter, value: number): void {
  if (isShortWhole(value, 0x7fff_ffff)) writer.integer(value);
  else if (Math.fround(value) === value || value !== value) writer.float(value);
  else writer.double(value);
}

function writeFloat(writer: MsgpackWriter, value: number): void {
  if (isShortWhole(value, 0x7fff)) writer.integer(value);
  else writer.float(value);
}

export function scalarReader(type: ScalarType, longAsString: boolean): ReadValue {
  switch (type) {
    case ScalarType.STRING:
      return (reader) => reader.string();
    case ScalarType.BOOL:
      return (reader) => reader.bool();
    case ScalarType.BYTES:
      return (reader) => reader.binary();
    case ScalarType.DOUBLE:
      return (reader) => reader.double();
    case ScalarType.FLOAT:
      return (reader) => Math.fround(checkedFloat(reader.double()));
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return (reader) => checkedInt32(reader.integer());
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return (reader) => checkedUint32(reader.integer());
    default: {
      const unsigned = isUnsignedLong(type);
      if (longAsString) return (reader) => checkedLong(reader.long(), unsigned).toString();
      return (reader) => checkedLong(reader.long(), unsigned);
    }
  }
}

export function enumWriter(desc: DescEnum): WriteValue {
  if (desc.open) return (writer, value) => writer.integer(checkedInt32(value));
  const known = numbersOf(desc);
  return (writer, value) => {
    const number = checkedInt32(value);
    if (!known.has(number))
      throw new CodecError(`${number} is not a value of the closed enum ${desc.typeName}`);
    writer.integer(number);
  };
}

export function enumReader(desc: DescEnum): ReadValue {
  if (desc.open) return (reader) => checkedInt32(reader.integer());
  const known = numbersOf(desc);
  return (reader) => {
    const number = checkedInt32(reader.integer());
    return known.has(number) ? number : undefined;
  };
}

/** The numbers that an enum declares. */
export function numbersOf(desc: DescEnum): ReadonlySet<number> {
  return new Set(desc.values.map((value) => value.number));
}

export function keyWriter(type: ScalarType): (writer: MsgpackWriter, key: string) => void {
  if (type === ScalarType.STRING) return (writer, key) => writer.string(key);
  const write = scalarWriter(type);
  return (writer, key) => write(writer, keyOf(type, key));
}

export function keyReader(type: ScalarType): (reader: MsgpackReader) => string {
  if (type === ScalarType.STRING) return (reader) => reader.key();
  const read = scalarReader(type, true);
  return (reader) => String(read(reader));
}
