import { create, toJson } from "@bufbuild/protobuf";
import {
  createJsonCodec,
  createMsgpackCodec,
  createProtoCodec,
  CodecError,
  fillSlot,
  openSlot,
} from "holdfast/codec";
import { describe, expect, test } from "vitest";
import { NodeSchema, ScalarsSchema } from "./gen/codec/v1/kitchen3_pb.ts";
import { EnvelopeSchema, SlotSchema } from "./gen/slots/v1/slots_pb.ts";

const options = { slotTypeNames: ["slots.v1.Slot"] };
const node = create(NodeSchema, { name: "root", children: [{ name: "leaf" }] });
const scalars = create(ScalarsSchema, { int64Field: -1n, bytesField: new Uint8Array([1, 2, 3]) });

describe.each([createMsgpackCodec(options), createJsonCodec(options), createProtoCodec()])(
  "a slot in $name",
  (codec) => {
    const slot = (desc: typeof NodeSchema | typeof ScalarsSchema, message: typeof node | typeof scalars) =>
      fillSlot(SlotSchema, codec.shape(desc, message as never));

    test("carries a message of another type, alone, in a list, in a map and in a oneof", () => {
      const envelope = create(EnvelopeSchema, {
        method: "Get",
        request: slot(NodeSchema, node),
        items: [slot(ScalarsSchema, scalars), slot(NodeSchema, node)],
        outcome: { case: "reply", value: slot(ScalarsSchema, scalars) },
        named: { n: slot(NodeSchema, create(NodeSchema)) },
      });
      const read = codec.unshape(
        EnvelopeSchema,
        codec.unpack(codec.pack(codec.shape(EnvelopeSchema, envelope))),
      );
      expect(read.method).toBe("Get");
      expect(codec.unshape(NodeSchema, openSlot(SlotSchema, read.request!))).toEqual(node);
      expect(codec.unshape(ScalarsSchema, openSlot(SlotSchema, read.items[0]!))).toEqual(scalars);
      expect(codec.unshape(NodeSchema, openSlot(SlotSchema, read.items[1]!))).toEqual(node);
      expect(codec.unshape(ScalarsSchema, openSlot(SlotSchema, read.outcome.value as never))).toEqual(
        scalars,
      );
      expect(codec.unshape(NodeSchema, openSlot(SlotSchema, read.named["n"]!))).toEqual(create(NodeSchema));
    });

    test("can be passed on without being read", () => {
      const first = create(EnvelopeSchema, { request: slot(NodeSchema, node) });
      const read = codec.unshape(EnvelopeSchema, codec.shape(EnvelopeSchema, first));
      const next = create(EnvelopeSchema, {
        request: fillSlot(SlotSchema, openSlot(SlotSchema, read.request!)),
      });
      const again = codec.unshape(EnvelopeSchema, codec.shape(EnvelopeSchema, next));
      expect(codec.unshape(NodeSchema, openSlot(SlotSchema, again.request!))).toEqual(node);
    });

    test("keeps its content when the buffer that it came in is used again", () => {
      const envelope = create(EnvelopeSchema, { request: slot(NodeSchema, node) });
      const bytes = codec.pack(codec.shape(EnvelopeSchema, envelope));
      const read = codec.unshape(EnvelopeSchema, codec.unpack(bytes));
      bytes.fill(0xc1);
      expect(codec.unshape(NodeSchema, openSlot(SlotSchema, read.request!))).toEqual(node);
    });
  },
);

test("JSON stays readable: the content stands where the slot is", () => {
  const codec = createJsonCodec(options);
  const envelope = create(EnvelopeSchema, {
    method: "Get",
    request: fillSlot(SlotSchema, codec.shape(NodeSchema, node)),
  });
  expect(JSON.parse(new TextDecoder().decode(codec.pack(codec.shape(EnvelopeSchema, envelope))))).toEqual({
    method: "Get",
    request: toJson(NodeSchema, node),
  });
});

test("a slot that nobody filled is refused on the sending side, with its path", () => {
  const envelope = create(EnvelopeSchema, { items: [{}] });
  for (const codec of [createMsgpackCodec(options), createJsonCodec(options)]) {
    expect(() => codec.shape(EnvelopeSchema, envelope)).toThrow(CodecError);
    expect(() => codec.shape(EnvelopeSchema, envelope)).toThrow(
      /^slots\.v1\.Envelope\.items\[0\]: this slots\.v1\.Slot is empty/,
    );
  }
});

test("a slot filled by another codec is refused on the sending side", () => {
  const codec = createMsgpackCodec(options);
  const other = createJsonCodec(options);
  const envelope = create(EnvelopeSchema, { request: fillSlot(SlotSchema, other.shape(NodeSchema, node)) });
  expect(() => codec.shape(EnvelopeSchema, envelope)).toThrow(
    "slots.v1.Envelope.request: the slot was filled by another codec",
  );
});
