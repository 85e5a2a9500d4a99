import type { DescField, DescOneof } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { ScalarType } from "@bufbuild/protobuf";
import { CodecError } from "./codec-error.ts";

/** The fields of a message by their local names, as protobuf-es keeps them. */
export type Fields = Record<string, unknown>;

/** Gives a member's value if it is set, else undefined. Of a oneof, the whole pair of case and value. */
export type PresentValue = (message: Fields) => unknown;

/** By which rule a member counts as set, chosen once when a shaper is compiled. */
export function presentValueOf(member: DescField | DescOneof): PresentValue {
  const { localName } = member;
  if (member.kind === "oneof") return selectedCase(localName);
  if (member.fieldKind === "list") return notEmpty(localName);
  if (member.fieldKind === "map") return withEntry(localName);
  if (member.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED) return required(localName);
  if (member.presence !== FeatureSet_FieldPresence.IMPLICIT) return own(localName);
  if (member.fieldKind === "enum") return notZero(localName, member.enum.values[0]?.number);
  return notDefault(localName, member.scalar ?? ScalarType.INT32);
}

/**
 * The value at which a field is not sent, if that is all there is to its presence: so it is for most fields of most
 * messages, which can then be looked at without a call. Undefined for all others.
 */
export function plainZeroOf(field: DescField): string | number | bigint | boolean | undefined {
  if (field.oneof !== undefined || field.presence !== FeatureSet_FieldPresence.IMPLICIT) return undefined;
  if (field.fieldKind === "enum") return field.enum.values[0]?.number;
  if (field.fieldKind !== "scalar") return undefined;
  switch (field.scalar) {
    case ScalarType.STRING:
      return "";
    case ScalarType.BOOL:
      return false;
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return 0;
    default:
      return undefined;
  }
}

function notDefault(localName: string, type: ScalarType): PresentValue {
  switch (type) {
    case ScalarType.STRING:
      return notZero(localName, "");
    case ScalarType.BOOL:
      return notZero(localName, false);
    case ScalarType.BYTES:
      return notEmpty(localName);
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return notZeroFloat(localName);
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return notZeroLong(localName);
    default:
      return notZero(localName, 0);
  }
}

function notZero(localName: string, zero: unknown): PresentValue {
  return (message) => {
    const value = message[localName];
    return value === zero ? undefined : value;
  };
}

/** -0 is not the default: it must arrive as -0. */
function notZeroFloat(localName: string): PresentValue {
  return (message) => {
    const value = message[localName];
    return value === 0 && !Object.is(value, -0) ? undefined : value;
  };
}

function notZeroLong(localName: string): PresentValue {
  return (message) => {
    const value = message[localName];
    return value === 0n || value === "0" || value === 0 ? undefined : value;
  };
}

/** For lists and bytes. */
function notEmpty(localName: string): PresentValue {
  return (message) => {
    const value = message[localName] as ArrayLike<unknown> | null | undefined;
    return value?.length === 0 ? undefined : value;
  };
}

function withEntry(localName: string): PresentValue {
  return (message) => {
    const value = message[localName];
    return typeof value === "object" && value !== null && Object.keys(value).length === 0 ? undefined : value;
  };
}

/** protobuf-es keeps the defaults of proto2 and editions on the prototype. */
function own(localName: string): PresentValue {
  return (message) => {
    const value = message[localName];
    return value !== undefined && Object.hasOwn(message, localName) ? value : undefined;
  };
}

function required(localName: string): PresentValue {
  const ownValue = own(localName);
  return (message) => {
    const value = ownValue(message);
    if (value === undefined) throw new CodecError("the field is required and not set");
    return value;
  };
}

function selectedCase(localName: string): PresentValue {
  return (message) => {
    const value = message[localName] as { readonly case?: unknown } | undefined;
    return value?.case === undefined ? undefined : value;
  };
}
