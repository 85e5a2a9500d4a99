import { ScalarType } from "@bufbuild/protobuf";
import { CodecError, named } from "./codec-error.ts";

// What each scalar type takes. Used on both ways: what a peer sent may be out of range as well.

const int64Max = 0x7fff_ffff_ffff_ffffn;
const int64Min = -0x8000_0000_0000_0000n;
const uint64Max = 0xffff_ffff_ffff_ffffn;
/** The largest finite float; a larger double would silently become Infinity. */
const floatMax = 3.4028234663852886e38;

export function refused(expected: string, value: unknown): CodecError {
  return new CodecError(`expected ${expected}, got ${named(value)}`);
}

export function checkedInt32(value: unknown): number {
  if (typeof value === "number" && (value | 0) === value) return value;
  throw refused("an integer from -2147483648 to 2147483647", value);
}

export function checkedUint32(value: unknown): number {
  if (typeof value === "number" && value >>> 0 === value) return value;
  throw refused("an integer from 0 to 4294967295", value);
}

/** A bigint in range; text and safe integers are taken too, as protobuf-es does. */
export function checkedLong(value: unknown, unsigned: boolean): bigint {
  const long = typeof value === "bigint" ? value : longOf(value);
  if (
    long !== undefined &&
    (unsigned ? long >= 0n && long <= uint64Max : long >= int64Min && long <= int64Max)
  ) {
    return long;
  }
  const range = unsigned
    ? `from 0 to ${uint64Max.toString()}`
    : `from ${int64Min.toString()} to ${int64Max.toString()}`;
  throw refused(`a bigint ${range}`, value);
}

function longOf(value: unknown): bigint | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  return typeof value === "string" && decimal.test(value) ? BigInt(value) : undefined;
}

/** Twenty digits hold every 64-bit integer; longer text is not worth parsing. */
const decimal = /^-?[0-9]{1,20}$/;

export function checkedFloat(value: unknown): number {
  if (typeof value !== "number") throw refused("a number", value);
  if (Math.abs(value) > floatMax && Number.isFinite(value))
    throw refused("a number that a 32-bit float can hold", value);
  return value;
}

export function isUnsignedLong(type: ScalarType): boolean {
  return type === ScalarType.UINT64 || type === ScalarType.FIXED64;
}
