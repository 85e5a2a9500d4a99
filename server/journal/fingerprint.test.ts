import { create, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CommandDefinition } from "../../runtime/base/definition.ts";
import { add, remove, request } from "../../test/journal/commands.ts";
import {
  LedgerService,
  type Wide,
  Wide_Colour,
  WideOlderSchema,
  WideSchema,
} from "../../test/journal/gen/test/journal/v1/ledger_pb.ts";
import type { Fingerprint } from "../store/store.ts";
import { comparedOf, compareRequests, methodName } from "./fingerprint.ts";

const fingerprint = (...of: Parameters<typeof comparedOf>): Fingerprint => comparedOf(...of).fingerprint;

const fill: CommandDefinition = { kind: "command", method: LedgerService.method.fill };
/** The same method as a build with the older schema has it. */
const fillOlder: CommandDefinition = { kind: "command", method: { ...fill.method, input: WideOlderSchema } };

const print = (wide: Wide, definition = fill): string =>
  Buffer.from(fingerprint(definition, wide, "").print).toString("hex");

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const text = fc.string({ unit: "grapheme" });
const nested = fc.record({ points: int64, note: text });
const colour = fc.constantFrom(Wide_Colour.UNSPECIFIED, Wide_Colour.RED, 7 as Wide_Colour);

/** The fields that the older schema knows. */
const olderFields = {
  double: fc.double(),
  float: fc.float(),
  int32,
  int64,
  uint32,
  uint64,
  sint32: int32,
  sint64: int64,
  fixed32: uint32,
  fixed64: uint64,
  sfixed32: int32,
  sfixed64: int64,
};
const wide = fc
  .record(
    {
      ...olderFields,
      bool: fc.boolean(),
      string: text,
      bytes: fc.uint8Array({ maxLength: 8 }).map((bytes) => new Uint8Array(bytes)),
      colour,
      nested,
      list: fc.array(text, { maxLength: 3 }),
      nestedList: fc.array(nested, { maxLength: 3 }),
      colours: fc.array(colour, { maxLength: 3 }),
      counts: fc.dictionary(
        text.filter((key) => key !== "__proto__"),
        int32,
        { maxKeys: 4 },
      ),
      optional: int32,
      choice: fc.oneof(
        text.map((value) => ({ case: "choiceText" as const, value })),
        nested.map((value) => ({ case: "choiceNested" as const, value })),
      ),
    },
    { requiredKeys: [] },
  )
  .map((init) => create(WideSchema, init as Parameters<typeof create<typeof WideSchema>>[1]));

describe("a request's print", () => {
  it("is the same through binary and JSON", () => {
    fc.assert(
      fc.property(wide, (message) => {
        const binary = fromBinary(WideSchema, toBinary(WideSchema, message));
        expect(print(binary)).toBe(print(message));
        expect(print(fromJson(WideSchema, toJson(WideSchema, message)))).toBe(print(message));
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  it("is the same whatever the order of a map's entries and of the fields on the wire", () => {
    fc.assert(
      fc.property(wide, fc.integer(), (message, salt) => {
        const shuffled = fromBinary(WideSchema, shuffleFields(toBinary(WideSchema, message), salt));
        shuffled.counts = Object.fromEntries(Object.entries(shuffled.counts).reverse());
        expect(print(shuffled)).toBe(print(message));
      }),
      { seed: 2, numRuns: 200 },
    );
  });

  it("is the same for an older build whether it got a newer one's fields, which the binary form alone brings", () => {
    fc.assert(
      fc.property(wide, (message) => {
        const bytes = toBinary(WideSchema, message);
        const [whole, lost] = [true, false].map((readUnknownFields) =>
          fingerprint(fillOlder, fromBinary(WideOlderSchema, bytes, { readUnknownFields }), ""),
        );
        expect(whole?.print).toEqual(lost?.print);
        expect(whole?.schema).not.toEqual(fingerprint(fill, message, "").schema);
      }),
      { seed: 3, numRuns: 200 },
    );
  });

  it("is another one for any other request", () => {
    fc.assert(
      fc.property(wide, wide, (a, b) => {
        // JSON with sorted keys tells apart what binary does, but for -0 and bits of NaN.
        const same = canonicalJson(toJson(WideSchema, a)) === canonicalJson(toJson(WideSchema, b));
        expect(print(a) === print(b)).toBe(same);
      }),
      { seed: 4, numRuns: 300 },
    );
  });

  it.each<[string, Partial<Wide>, Partial<Wide>]>([
    ["0 and -0", { double: 0 }, { double: -0 }],
    ["an unset and a default optional", {}, { optional: 0 }],
    ["two texts that join to the same", { list: ["ab", "c"] }, { list: ["a", "bc"] }],
    ["an item and two", { list: [""] }, { list: ["", ""] }],
    ["a list's order", { list: ["a", "b"] }, { list: ["b", "a"] }],
    ["a map's key and value", { counts: { a: 1, b: 2 } }, { counts: { a: 2, b: 1 } }],
    ["a number in another field", { int32: 1 }, { uint32: 1 }],
    ["an empty choice and none", {}, { choice: { case: "choiceText", value: "" } }],
  ])("tells apart %s", (_, a, b) => {
    expect(print(create(WideSchema, a as object))).not.toBe(print(create(WideSchema, b as object)));
  });

  it("leaves out what the schema does not know: a try over a wire has lost it, and one over HTTP has not", () => {
    const data = new BinaryWriter().int32(5).finish();
    const with5 = create(WideSchema, { int32: 7 });
    with5.$unknown = [{ no: 100, wireType: WireType.Varint, data }];
    expect(print(with5)).toBe(print(create(WideSchema, { int32: 7 })));
  });

  it("covers the method and the scope", () => {
    const prints = [
      fingerprint(add, request(), ""),
      fingerprint(remove, request(), ""),
      fingerprint(add, request(), '{"id":1}'),
    ].map((one) => Buffer.from(one.print).toString("hex"));
    expect(new Set(prints).size).toBe(3);
    expect(fingerprint(add, request(), "").print).toHaveLength(16);
    expect(methodName(add)).toBe("test.journal.v1.LedgerService.Add");
  });

  it("never changes between builds: this one is kept in stores", () => {
    const kept = fingerprint(add, request(10, "x"), "s");
    expect(kept.version).toBe(2);
    expect(Buffer.from(kept.print).toString("hex")).toMatchInlineSnapshot(
      `"746433caf41fe144b4da1e4726c95c02"`,
    );
    expect(Buffer.from(kept.schema).toString("hex")).toMatchInlineSnapshot(`"aedf83733b54fda0"`);
  });
});

it("prints of two schemas or versions are not compared, only the methods", () => {
  const a = { method: "m", fingerprint: fingerprint(add, request(), "") };
  const other = {
    ...a,
    fingerprint: { ...a.fingerprint, schema: new Uint8Array(8), print: new Uint8Array(16) },
  };
  expect(compareRequests(a, other)).toBe("skipped");
  expect(compareRequests(a, { ...other, method: "n" })).toBe("other");
  expect(compareRequests(a, a)).toBe("same");
});

/** The top fields in another order; those of one number stay in theirs. */
function shuffleFields(bytes: Uint8Array, salt: number): Uint8Array {
  const reader = new BinaryReader(bytes);
  const byNumber = new Map<number, Uint8Array[]>();
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [number, wireType] = reader.tag();
    reader.skip(wireType, number);
    byNumber.set(number, [...(byNumber.get(number) ?? []), bytes.subarray(start, reader.pos)]);
  }
  const numbers = [...byNumber.keys()].sort((a, b) => ((a * 31) ^ salt) - ((b * 31) ^ salt));
  return Buffer.concat(numbers.flatMap((number) => byNumber.get(number) ?? []));
}

function canonicalJson(value: JsonValue): string {
  return JSON.stringify(value, (_, one: unknown) => {
    if (Object.is(one, -0)) return "-0";
    if (typeof one !== "object" || one === null || Array.isArray(one)) return one;
    return Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
