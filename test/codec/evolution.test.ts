import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { jsonCodec, msgpackCodec, protoCodec, type Codec } from "holdfast/codec";
import { describe, expect, test } from "vitest";
import * as newer from "./gen/evolution/new/order_pb.ts";
import * as older from "./gen/evolution/old/order_pb.ts";

/** Sent by a program with one schema, read by a program with another. */
function sent<To extends DescMessage>(codec: Codec, from: DescMessage, message: Message, to: To) {
  return codec.unshape(to, codec.unpack(codec.pack(codec.shape(from, message))));
}

const line = { sku: "S1", count: 3 };

describe.each([msgpackCodec, jsonCodec, protoCodec])("$name between an older and a newer schema", (codec) => {
  test("the older ignores what the newer added, and reads the rest", () => {
    const message = create(newer.OrderSchema, {
      id: "o1",
      quantity: -2,
      lines: [{ ...line, extra: { 7: new Uint8Array([1, 2]) } }, {}],
      customer: { name: "Ada", referredBy: { name: "Bob" } },
      byName: { first: { sku: "x", extra: { [-1]: new Uint8Array(3) } } },
      discount: 0,
      labels: ["a", "b"],
      wide: 2n ** 60n,
      status: newer.Status.OPEN,
      target: { case: "room", value: 0 },
    });
    const read = sent(codec, newer.OrderSchema, message, older.OrderSchema);
    delete read.$unknown;
    for (const inner of [...read.lines, ...Object.values(read.byName)]) delete inner.$unknown;
    expect(read).toEqual(
      create(older.OrderSchema, {
        id: "o1",
        quantity: -2,
        lines: [line, {}],
        byName: { first: { sku: "x" } },
        wide: 2n ** 60n,
        status: older.Status.OPEN,
        target: { case: "room", value: 0 },
      }),
    );
  });

  test("the newer gives defaults for what the older lacks, and ignores what it removed", () => {
    const message = create(older.OrderSchema, {
      id: "o2",
      removedLater: "gone",
      lines: [line],
      byName: { k: line },
      target: { case: "url", value: "http://x" },
    });
    const read = sent(codec, older.OrderSchema, message, newer.OrderSchema);
    delete read.$unknown;
    expect(read).toEqual(
      create(newer.OrderSchema, {
        id: "o2",
        lines: [line],
        byName: { k: line },
        target: { case: "url", value: "http://x" },
      }),
    );
    expect(read.customer).toBeUndefined();
    expect(read.discount).toBeUndefined();
  });

  test("a oneof field that the older does not have leaves its oneof unset", () => {
    const message = create(newer.OrderSchema, {
      id: "o3",
      target: { case: "token", value: new Uint8Array([9]) },
    });
    expect(sent(codec, newer.OrderSchema, message, older.OrderSchema).target).toEqual({ case: undefined });
  });

  test("an enum value that the older does not have keeps its number, or is the default in JSON, which sends names", () => {
    const message = create(newer.OrderSchema, { status: newer.Status.SHIPPED });
    const read = sent(codec, newer.OrderSchema, message, older.OrderSchema);
    expect(read.status).toBe(codec.name === "json" ? 0 : 2);
  });
});
