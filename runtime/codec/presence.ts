import type { DescField, DescOneof } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { ScalarType } from "@bufbuild/protobuf";
import { CodecError } from "./codec-error.ts";

/** The fields of a message by their local names, as protobuf-es keeps them. */
export type Fields = Record<string, unknown>;

/** By which rule a member of a message counts as set. */
export type Presence =
  | "not-zero"
  | "not-zero-float"
  | "not-zero-long"
  | "not-empty"
  | "any-entry"
  | "own"
  | "required"
  | "case";

/** What is needed to ask a message for one of its members. */
export interface PresentMember {
  readonly localName: string;
  readonly presence: Presence;
  /** The value that counts as not set, for `not-zero`. */
  readonly zero: unknown;
}

/** A member's rule, looked up once when a shaper is compiled. */
export function presenceOf(member: DescField | DescOneof): PresentMember {
  const { localName } = member;
  if (member.kind === "oneof") return { localName, presence: "case", zero: undefined };
  if (member.fieldKind === "list") return { localName, presence: "not-empty", zero: undefined };
  if (member.fieldKind === "map") return { localName, presence: "any-entry", zero: undefined };
  if (member.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED) {
    return { localName, presence: "required", zero: undefined };
  }
  if (member.presence !== FeatureSet_FieldPresence.IMPLICIT) return { localName, presence: "own", zero: undefined };
  if (member.fieldKind === "enum") return { localName, presence: "not-zero", zero: member.enum.values[0]?.number };
  return { localName, ...scalarPresence(member.scalar ?? ScalarType.INT32) };
}

function scalarPresence(type: ScalarType): { presence: Presence; zero: unknown } {
  switch (type) {
    case ScalarType.STRING:
      return { presence: "not-zero", zero: "" };
    case ScalarType.BOOL:
      return { presence: "not-zero", zero: false };
    case ScalarType.BYTES:
      return { presence: "not-empty", zero: undefined };
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return { presence: "not-zero-float", zero: 0 };
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.SINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return { presence: "not-zero-long", zero: 0n };
    default:
      return { presence: "not-zero", zero: 0 };
  }
}

/** The member's value if it is set, else undefined. Of a oneof, the whole pair of case and value. */
export function presentValue(member: PresentMember, message: Fields): unknown {
  const value = message[member.localName];
  switch (member.presence) {
    case "not-zero":
      return value === member.zero ? undefined : value;
    case "not-zero-float":
      // -0 is not the default: it must arrive as -0.
      return value === 0 && !Object.is(value, -0) ? undefined : value;
    case "not-zero-long":
      return value === 0n || value === "0" || value === 0 ? undefined : value;
    case "not-empty":
      return (value as ArrayLike<unknown> | undefined)?.length === 0 ? undefined : value;
    case "any-entry":
      return hasEntry(value) ? value : undefined;
    case "own":
      // proto2 and editions keep defaults on the prototype.
      return value !== undefined && Object.hasOwn(message, member.localName) ? value : undefined;
    case "required":
      if (value !== undefined && Object.hasOwn(message, member.localName)) return value;
      throw new CodecError("the field is required and not set");
    case "case":
      return (value as { case?: unknown } | undefined)?.case === undefined ? undefined : value;
  }
}

function hasEntry(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value !== undefined;
  for (const key in value) {
    if (Object.hasOwn(value, key)) return true;
  }
  return false;
}
