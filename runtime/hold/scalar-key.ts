/**
 * Keys of params that have only strings, integers, booleans and enums, which are nearly all: put together from the
 * values themselves. Reading the binary format for them takes longer than all else that a hold does.
 */
import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";

type Fields = Readonly<Record<string, unknown>>;
type KeyOf = (params: Message) => string;

const keys = new WeakMap<DescMessage, KeyOf | "none">();

/** Undefined: the params have something else too. */
export function scalarKey(schema: DescMessage): KeyOf | undefined {
  let known = keys.get(schema);
  if (known === undefined) {
    known = keyed(schema) ?? "none";
    keys.set(schema, known);
  }
  return known === "none" ? undefined : known;
}

/** What is unset says nothing; a length before each string keeps its letters from meaning anything. */
function keyed({ fields, oneofs }: DescMessage): KeyOf | undefined {
  if (oneofs.length > 0 || !fields.every(isPlain)) return undefined;
  const parts = [...fields]
    .sort((a, b) => a.number - b.number)
    .map(({ localName, number, presence, scalar }) => ({
      localName,
      number,
      implicit: presence === FeatureSet_FieldPresence.IMPLICIT,
      text: scalar === ScalarType.STRING,
    }));
  return (params) => {
    let key = "";
    for (const { localName, number, implicit, text } of parts) {
      const value = (params as unknown as Fields)[localName];
      if (implicit ? isZero(value) : !Object.hasOwn(params, localName)) continue;
      key += text
        ? `${number}"${(value as string).length}"${value as string}`
        : `${number}=${String(value)};`;
    }
    return key;
  };
}

const plainScalars: readonly ScalarType[] = [
  ScalarType.STRING,
  ScalarType.BOOL,
  ScalarType.INT32,
  ScalarType.UINT32,
  ScalarType.SINT32,
  ScalarType.FIXED32,
  ScalarType.SFIXED32,
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
];

function isPlain(field: DescField): boolean {
  if (field.fieldKind === "enum") return true;
  // The same number may be written in several ways where it is a string.
  return field.fieldKind === "scalar" && plainScalars.includes(field.scalar) && !field.longAsString;
}

function isZero(value: unknown): boolean {
  return value === undefined || value === "" || value === 0 || value === false || value === 0n;
}
