import {
  create,
  getExtension,
  ScalarType,
  setExtension,
  type DescEnum,
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type Message,
  type Registry,
} from "@bufbuild/protobuf";
import {
  AnySchema,
  FeatureSet_FieldPresence,
  NullValue,
  anyPack,
  isWrapperDesc,
  ListValueSchema,
  StructSchema,
  ValueSchema,
  type Value,
} from "@bufbuild/protobuf/wkt";
import type { Chance } from "./chance.ts";

type Fields = Record<string, unknown>;

/** What a message of random content is made from. */
export interface RandomMessageOptions {
  /** Types that an Any may hold. */
  readonly anyTypes: readonly DescMessage[];
  /** Extensions to set. */
  readonly registry: Registry;
  /** Levels of messages still allowed. */
  readonly depth: number;
}

/** A message with random members set, to values that are limits more often than not. */
export function randomMessage(desc: DescMessage, chance: Chance, options: RandomMessageOptions): Message {
  const message = wellKnown(desc, chance, options) ?? create(desc);
  if (isRuled(desc)) return message;
  const fields = message as unknown as Fields;
  for (const member of desc.members) {
    const required = member.kind === "field" && member.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED;
    if (!required && chance.below(3) === 0) continue;
    if (member.kind === "oneof") {
      const field = chance.of(member.fields);
      const value = singular(field, chance, options);
      if (value !== undefined) fields[member.localName] = { case: field.localName, value };
      continue;
    }
    const value = fieldValue(member, chance, options);
    if (value !== undefined) fields[member.localName] = value;
  }
  for (const extension of options.registry) {
    if (
      extension.kind !== "extension" ||
      extension.extendee.typeName !== desc.typeName ||
      chance.below(2) === 0
    )
      continue;
    const field = { ...extension, kind: "field", parent: desc, localName: "value" } as unknown as DescField;
    const value = fieldValue(field, chance, options);
    if (value !== undefined) setExtension(message, extension, value as never);
    if (Array.isArray(getExtension(message, extension)) && (value as unknown[]).length === 0)
      delete message.$unknown;
  }
  return message;
}

/** Types with rules of their own about what they may hold. */
function isRuled(desc: DescMessage): boolean {
  return /^google\.protobuf\.(Any|Timestamp|Duration|FieldMask|Struct|Value)$/.test(desc.typeName);
}

function wellKnown(desc: DescMessage, chance: Chance, options: RandomMessageOptions): Message | undefined {
  switch (desc.typeName) {
    case "google.protobuf.Any": {
      if (options.depth <= 0 || options.anyTypes.length === 0) return create(AnySchema);
      const type = chance.of(options.anyTypes);
      return anyPack(type, randomMessage(type, chance, { ...options, depth: options.depth - 2 }));
    }
    case "google.protobuf.Timestamp":
      return create(desc, {
        seconds: chance.of([0n, -62135596800n, 253402300799n, 1764500000n]),
        nanos: chance.of([0, 1, 999_999_999, 500_000_000]),
      });
    case "google.protobuf.Duration": {
      const sign = chance.below(2) === 0 ? 1 : -1;
      return create(desc, {
        seconds: BigInt(sign) * chance.of([0n, 1n, 315576000000n]),
        nanos: sign * chance.of([0, 1, 999_999_999, 120_000_000]),
      });
    }
    case "google.protobuf.FieldMask":
      return create(desc, { paths: chance.of([[], ["a"], ["a.b_c", "d"]]) });
    case "google.protobuf.Struct":
      return create(StructSchema, {
        fields: Object.fromEntries(
          Object.entries(jsonObject(chance, options.depth)).map(([k, v]) => [k, valueOf(v)]),
        ),
      });
    case "google.protobuf.Value":
      return valueOf(json(chance, options.depth));
    default:
      return undefined;
  }
}

function valueOf(value: JsonValue): Value {
  if (value === null)
    return create(ValueSchema, { kind: { case: "nullValue", value: NullValue.NULL_VALUE } });
  if (typeof value === "number") return create(ValueSchema, { kind: { case: "numberValue", value } });
  if (typeof value === "string") return create(ValueSchema, { kind: { case: "stringValue", value } });
  if (typeof value === "boolean") return create(ValueSchema, { kind: { case: "boolValue", value } });
  if (Array.isArray(value)) {
    return create(ValueSchema, {
      kind: { case: "listValue", value: create(ListValueSchema, { values: value.map(valueOf) }) },
    });
  }
  const fields = Object.fromEntries(Object.entries(value).map(([k, v]) => [k, valueOf(v)])) as Record<
    string,
    Value
  >;
  return create(ValueSchema, { kind: { case: "structValue", value: create(StructSchema, { fields }) } });
}

function fieldValue(field: DescField, chance: Chance, options: RandomMessageOptions): unknown {
  switch (field.fieldKind) {
    case "list":
      return some(chance, () => element(field, chance, options));
    case "map": {
      const map: Fields = {};
      for (const key of some(chance, () => String(scalar(field.mapKey, chance, false)))) {
        const value = element(field, chance, options);
        if (value !== undefined)
          Object.defineProperty(map, key as string, {
            value,
            writable: true,
            enumerable: true,
            configurable: true,
          });
      }
      return map;
    }
    default:
      return singular(field, chance, options);
  }
}

function some(chance: Chance, make: () => unknown): unknown[] {
  const items = Array.from({ length: chance.of([0, 1, 1, 2, 3, 17]) }, make);
  return items.filter((item) => item !== undefined);
}

function element(field: DescField, chance: Chance, options: RandomMessageOptions): unknown {
  if (field.message !== undefined) return submessage(field, chance, options);
  if (field.enum !== undefined) return enumValue(field.enum, chance);
  return scalar(field.scalar, chance, field.fieldKind === "list" && field.longAsString);
}

function singular(field: DescField, chance: Chance, options: RandomMessageOptions): unknown {
  if (field.fieldKind === "scalar") return scalar(field.scalar, chance, field.longAsString);
  if (field.fieldKind === "enum") return enumValue(field.enum, chance);
  if (field.fieldKind !== "message") throw new TypeError("not a singular field");
  const wrapper =
    isWrapperDesc(field.message) && field.oneof === undefined ? field.message.fields[0] : undefined;
  if (wrapper?.fieldKind === "scalar") return scalar(wrapper.scalar, chance, false);
  return submessage(field, chance, options);
}

function submessage(field: DescField, chance: Chance, options: RandomMessageOptions): unknown {
  if (options.depth <= 0 || field.message === undefined) return undefined;
  const inner = { ...options, depth: options.depth - 1 };
  if (
    field.message.typeName === "google.protobuf.Struct" &&
    field.parent.typeName !== "google.protobuf.Value"
  ) {
    return jsonObject(chance, inner.depth);
  }
  return randomMessage(field.message, chance, inner);
}

function enumValue(desc: DescEnum, chance: Chance): number {
  if (desc.typeName === "google.protobuf.NullValue") return 0;
  const known = desc.values.map((value) => value.number);
  return chance.of(desc.open ? [...known, 77, -2147483648, 2147483647] : known);
}

const texts = [
  "",
  "a",
  "plain text",
  "ümläut",
  "日本語テキスト",
  "😀 pair",
  '\u0000\u001f"\\/',
  "\ufeffmark",
  "\u2028",
  "x".repeat(31),
  "x".repeat(32),
  "y".repeat(41),
  "ü".repeat(20),
  "z".repeat(255),
  "z".repeat(256),
  "é".repeat(200),
  "__proto__",
  "constructor",
  "toString",
  "0",
  "1",
];
const doubles = [
  0,
  -0,
  1,
  -1,
  1.5,
  NaN,
  Infinity,
  -Infinity,
  0.1,
  5e-324,
  1.7976931348623157e308,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  1e15,
  3.4028234663852886e38,
  127,
  128,
  65535.5,
];
const floats = [
  0,
  -0,
  1,
  -1,
  1.5,
  NaN,
  Infinity,
  -Infinity,
  Math.fround(0.1),
  1.401298464324817e-45,
  3.4028234663852886e38,
  16777216,
  32767,
  32768,
  -32769,
];
const int32s = [
  0, 1, -1, 127, 128, -32, -33, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 65535, 65536, 2147483647,
  -2147483648,
];
const uint32s = [0, 1, 127, 128, 255, 256, 65535, 65536, 2147483647, 2147483648, 4294967295];
const int64s = [
  0n,
  1n,
  -1n,
  127n,
  128n,
  2n ** 31n,
  -(2n ** 31n) - 1n,
  2n ** 32n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  -(2n ** 53n),
  -(2n ** 53n) - 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
];
const uint64s = [
  0n,
  1n,
  255n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  2n ** 63n,
  2n ** 64n - 1n,
];

function scalar(type: ScalarType, chance: Chance, longAsString: boolean): unknown {
  switch (type) {
    case ScalarType.STRING:
      return chance.below(500) === 0 ? "k".repeat(70_000) : chance.of(texts);
    case ScalarType.BOOL:
      return chance.below(2) === 0;
    case ScalarType.BYTES:
      return chance.bytes(chance.of([0, 1, 3, 47, 48, 49, 255, 256, 1000]));
    case ScalarType.DOUBLE:
      return chance.of(doubles);
    case ScalarType.FLOAT:
      return chance.of(floats);
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return chance.of(int32s);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return chance.of(uint32s);
    case ScalarType.UINT64:
    case ScalarType.FIXED64: {
      const long = chance.of(uint64s);
      return longAsString ? long.toString() : long;
    }
    default: {
      const long = chance.of(int64s);
      return longAsString ? long.toString() : long;
    }
  }
}

function jsonObject(chance: Chance, depth: number): JsonObject {
  const object: JsonObject = {};
  for (let i = chance.below(4); i > 0; i--) {
    Object.defineProperty(object, chance.of(["a", "b", "", "__proto__", "constructor", "ü"]), {
      value: json(chance, depth - 1),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  return object;
}

function json(chance: Chance, depth: number): JsonValue {
  switch (chance.below(depth > 0 ? 6 : 4)) {
    case 0:
      return null;
    case 1:
      return chance.of([0, 1, -1.5, 1e300]);
    case 2:
      return chance.of(["", "text", "ü"]);
    case 3:
      return chance.below(2) === 0;
    case 4:
      return Array.from({ length: chance.below(3) }, () => json(chance, depth - 1));
    default:
      return jsonObject(chance, depth);
  }
}
