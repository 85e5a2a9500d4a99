import { ScalarType } from "@bufbuild/protobuf";
import { checkedInt32, checkedLong, checkedUint32, isUnsignedLong, refused } from "./scalar-range.ts";

// protobuf-es keeps a map as an object, so every key is a string there. A key has one spelling, else two
// entries of an object would be one entry on the wire.

/** A key as its own type, from the string that an object keeps. */
export function keyOf(type: ScalarType, key: string): string | boolean | number | bigint {
  switch (type) {
    case ScalarType.STRING:
      return key;
    case ScalarType.BOOL:
      if (key === "true") return true;
      if (key === "false") return false;
      throw refused('the key "true" or "false"', key);
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return spelled(key, checkedInt32(Number(key)));
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return spelled(key, checkedUint32(Number(key)));
    default:
      return spelled(key, checkedLong(key, isUnsignedLong(type)));
  }
}

function spelled<K extends number | bigint>(key: string, value: K): K {
  if (value.toString() !== key) throw refused(`the key as "${value.toString()}"`, key);
  return value;
}

/**
 * Sets a key that a peer chose. `__proto__` must become a key of its own: assigned, it would change the
 * prototype.
 */
export function setEntry(record: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    record[key] = value;
  }
}
