import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CancelSchema,
  KeepaliveSchema,
  NameSchema,
  ResultSchema,
  WelcomeSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { keptFlatReply } from "./flat-reply.ts";

const texts = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constant("x".repeat(513)));
const doubles = fc.oneof(fc.double(), fc.constantFrom(0, -0, Number.NaN, Number.POSITIVE_INFINITY));
const unsigned = fc.oneof(fc.nat(), fc.constantFrom(0, 1, 127, 128, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1));

describe("a flat reply", () => {
  it("is kept and read back as protobuf-es does it, or goes that way", () => {
    const welcomes = fc.record({ version: unsigned, server: texts, nowMs: doubles, caller: texts });
    fc.assert(
      fc.property(welcomes, (init) => {
        const reply = create(WelcomeSchema, init);
        const kept = keptFlatReply(WelcomeSchema, reply);
        if (kept === undefined) return;
        const bytes = toBinary(WelcomeSchema, reply);
        expect(kept.bytes).toEqual(bytes);
        expect(kept.reply).toStrictEqual(fromBinary(WelcomeSchema, bytes));
      }),
    );
  });

  it("does not go the long way when its values are ordinary", () => {
    const reply = create(WelcomeSchema, { version: 7, server: "s", nowMs: 1.5, idleMs: 300 });
    expect(keptFlatReply(WelcomeSchema, reply)).toBeDefined();
    expect(keptFlatReply(KeepaliveSchema, create(KeepaliveSchema, { ask: true }))).toBeDefined();
  });

  it("is a copy: what the handler changes later is not in it", () => {
    const reply = create(NameSchema, { name: "a", number: 1 });
    const kept = keptFlatReply(NameSchema, reply);
    reply.name = "b";
    expect(kept?.reply).toMatchObject({ name: "a" });
  });

  it.each<[string, Message]>([
    ["a number for a flag", { $typeName: "x", nowMs: 0, ask: 1 } as unknown as Message],
    ["a field that is missing", { $typeName: "x", nowMs: 0 } as unknown as Message],
    ["unknown fields", { ...create(KeepaliveSchema), $unknown: [] }],
  ])("goes the long way with %s", (_, reply) => {
    expect(keptFlatReply(KeepaliveSchema, reply)).toBeUndefined();
  });

  it("of a type with other fields goes the long way", () => {
    expect(keptFlatReply(ResultSchema, create(ResultSchema))).toBeUndefined();
    expect(keptFlatReply(CancelSchema, create(CancelSchema, { id: 2 ** 31 }))).toBeUndefined();
  });
});
