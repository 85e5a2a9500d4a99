/** Calls, results and items that the msgpack codec writes and reads by hand are what its general way makes of them. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  CallSchema,
  type ClientMessage,
  ClientMessageSchema,
  ErrorSchema,
  HeaderSchema,
  ItemSchema,
  Mark,
  PayloadSchema,
  ResultSchema,
  type ServerMessage,
  ServerMessageSchema,
  StampSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Codec } from "../codec/codec.ts";
import { createMsgpackCodec, msgpackCodec } from "../codec/msgpack.ts";
import { MsgpackWriter } from "../codec/msgpack-writer.ts";
import { seededRandom } from "../testing/seeded-random.ts";
import { firstCallIn, shapeFirstCall } from "./first-call.ts";
import { messageIn, payloadOf, readPacket, writePacket } from "./packet.ts";
import { shapeReply } from "./result-message.ts";

/** The general way, and nothing else. */
const { shape, unshape, pack, unpack, packList, unpackList } = createMsgpackCodec();
const general: Codec = { name: "msgpack", shape, unshape, pack, unpack, packList, unpackList };

const random = seededRandom(20_311);
const below = (count: number): number => Math.floor(random.fraction() * count);
const some = <T>(values: readonly T[]): T => values[below(values.length)] as T;
const counts = [0, 1, 0x1f, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000, 0xffff_ffff];
const times = [0, 1, 0.5, -0, 1e300, 2 ** 31 - 1, 2 ** 31, 1_764_540_000_123, Number.NaN, -3, 2 ** 53];
const texts = ["", "a", "0123456789abcdefABCDEF", "grüß", "x".repeat(40), "y".repeat(300)];

/** A user's message: any will do. */
const user = () => create(HeaderSchema, { name: some(texts), value: some(texts) });
const stamp = () =>
  create(StampSchema, {
    callId: some(texts),
    lane: some(texts),
    seq: some(times),
    settled: some(times),
    tries: some(counts),
    firstSent: some([
      { case: "serverMs" as const, value: some(times) },
      { case: "agoMs" as const, value: some(times) },
      { case: undefined },
    ]),
    expectedCaller: some(texts),
    anon: some(texts),
  });
const headers = () => (below(4) === 0 ? [create(HeaderSchema, { name: "a", value: some(texts) })] : []);

function clientMessage(): ClientMessage {
  const call = create(CallSchema, {
    id: some(counts),
    hold: some(counts),
    method: some(counts),
    timeoutMs: some(times),
    headers: headers(),
  });
  if (below(8) > 0) call.request = payloadOf(general, HeaderSchema, user());
  if (below(3) > 0) call.stamp = stamp();
  if (below(8) === 0) return create(ClientMessageSchema, { kind: { case: "cancel", value: { id: 3 } } });
  return create(ClientMessageSchema, { kind: { case: "call", value: call } });
}

function serverMessage(): ServerMessage {
  if (below(3) === 0) {
    const value = create(ItemSchema, { stream: some(counts), seq: some(times) });
    if (below(8) > 0) value.item = payloadOf(general, HeaderSchema, user());
    return create(ServerMessageSchema, { kind: { case: "item", value } });
  }
  const result = create(ResultSchema, {
    id: some(counts),
    mark: below(7) as Mark,
    repeat: below(2) === 0,
    caller: some(texts),
    headers: headers(),
    trailers: headers(),
  });
  const how = below(8);
  if (how === 0) result.outcome = { case: "error", value: create(ErrorSchema, { message: "no" }) };
  else if (how < 7) result.outcome = { case: "reply", value: payloadOf(general, HeaderSchema, user()) };
  return create(ServerMessageSchema, { kind: { case: "result", value: result } });
}

/** Messages, and beside each what its slot carries: that is no member, and lies in another memory each time. */
function withContent(messages: readonly (ClientMessage | ServerMessage)[]): unknown[] {
  return messages.map(({ kind }) => {
    if (kind.case === "call" && kind.value.request !== undefined) {
      const content = messageIn(general, HeaderSchema, kind.value.request);
      return [{ ...kind.value, request: "here" }, content];
    }
    if (kind.case === "result" && kind.value.outcome.case === "reply") {
      const content = messageIn(general, HeaderSchema, kind.value.outcome.value);
      return [{ ...kind.value, outcome: "here" }, content];
    }
    if (kind.case === "item" && kind.value.item !== undefined) {
      return [{ ...kind.value, item: "here" }, messageIn(general, HeaderSchema, kind.value.item)];
    }
    return [kind];
  });
}

/** Which of several faults is found first is no matter. */
function outcomeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return (error as Error).name;
  }
}

describe("a packet of calls, results or items", () => {
  it("has the same messages as when it is read the general way", () => {
    for (let round = 0; round < 300; round += 1) {
      const calls = writePacket(general, ClientMessageSchema, Array.from({ length: 9 }, clientMessage));
      expect(withContent(readPacket(msgpackCodec, ClientMessageSchema, calls))).toStrictEqual(
        withContent(readPacket(general, ClientMessageSchema, calls)),
      );
      const results = writePacket(general, ServerMessageSchema, Array.from({ length: 9 }, serverMessage));
      expect(withContent(readPacket(msgpackCodec, ServerMessageSchema, results))).toStrictEqual(
        withContent(readPacket(general, ServerMessageSchema, results)),
      );
    }
  });

  it("has the same messages or is refused by both when its bytes are broken", () => {
    for (let round = 0; round < 3_000; round += 1) {
      const packet = writePacket(general, ClientMessageSchema, [clientMessage()]);
      packet[1 + below(packet.length - 1)] = below(256);
      const read = (codec: Codec) => () => withContent(readPacket(codec, ClientMessageSchema, packet));
      expect(outcomeOf(read(msgpackCodec))).toStrictEqual(outcomeOf(read(general)));
      const said = writePacket(general, ServerMessageSchema, [serverMessage()]);
      said[1 + below(said.length - 1)] = below(256);
      const readSaid = (codec: Codec) => () => withContent(readPacket(codec, ServerMessageSchema, said));
      expect(outcomeOf(readSaid(msgpackCodec))).toStrictEqual(outcomeOf(readSaid(general)));
    }
  });

  it("is read whatever the order of its fields, and refused with a field twice", () => {
    const writer = new MsgpackWriter();
    writer.begin();
    writer.arrayHead(1);
    writer.mapHead(1);
    writer.fieldNumber(6);
    writer.mapHead(2);
    for (const number of [3, 1]) {
      writer.fieldNumber(number);
      writer.integer(number);
    }
    const [message] = readPacket(msgpackCodec, ClientMessageSchema, writer.bytes.slice(0, writer.pos));
    expect(message?.kind.value).toMatchObject({ id: 1, method: 3 });
    const twice = writer.bytes.slice(0, writer.pos);
    twice[6] = 3;
    expect(() => readPacket(msgpackCodec, ClientMessageSchema, twice)).toThrow(/came before/);
  });
});

describe("a first call", () => {
  it("has the bytes of the message that says the same, and is read back", () => {
    for (let round = 0; round < 500; round += 1) {
      const first = {
        id: some(counts.slice(1)),
        method: some(counts.slice(1)),
        timeoutMs: some([0, 1, 30_000, 2 ** 31]),
        callId: some(texts),
        seq: some([1, 127, 70_000, 2 ** 40]),
        settled: some([0, 1, 127, 70_000, 2 ** 40]),
        serverMs: some([undefined, 0, 1_764_540_000_123]),
      };
      const request = user();
      const shaped = (codec: Codec) => codec.pack(shapeFirstCall(codec, first, HeaderSchema, request, 1_000));
      const quick = shaped(msgpackCodec);
      expect(quick).toStrictEqual(shaped(general));
      const call = firstCallIn(msgpackCodec, msgpackCodec.unpack(quick));
      expect(messageIn(msgpackCodec, HeaderSchema, call.request)).toStrictEqual(request);
      expect(call.stamp?.callId ?? "").toBe(first.callId);
    }
  });

  it("leaves nothing behind when its request is too large or does not fit", () => {
    const first = { id: 1, method: 2, timeoutMs: 0, callId: "", seq: 0, settled: 0, serverMs: undefined };
    const large = create(HeaderSchema, { name: "x".repeat(2_000) });
    const odd = create(HeaderSchema, { name: 7 as never });
    expect(() => shapeFirstCall(msgpackCodec, first, HeaderSchema, large, 1_000)).toThrow(RangeError);
    expect(() => shapeFirstCall(msgpackCodec, first, HeaderSchema, odd, 1_000)).toThrow(/a string/);
    const fits = shapeFirstCall(msgpackCodec, first, HeaderSchema, create(HeaderSchema), 1_000);
    expect(firstCallIn(msgpackCodec, fits)).toMatchObject({ id: 1, method: 2 });
  });
});

describe("a reply", () => {
  it("has the bytes of the message that says the same", () => {
    for (let round = 0; round < 500; round += 1) {
      const made = { id: some(counts.slice(1)), tag: some([undefined, "epoch.mac"]) };
      const its = {
        made,
        mark: some([Mark.UNSPECIFIED, Mark.RAN, Mark.REFUSED]),
        repeat: below(2) === 0,
      };
      const reply = user();
      const shaped = (codec: Codec) => codec.pack(shapeReply(codec, its, HeaderSchema, reply, 1_000));
      expect(shaped(msgpackCodec)).toStrictEqual(shaped(general));
    }
  });
});

it("a packet of messages that lie apart has all of them", () => {
  const plains = Array.from({ length: 40 }, (_unused, id) => {
    if (below(2) === 0) msgpackCodec.shape(PayloadSchema, create(PayloadSchema));
    const made = { id: id + 1 };
    return shapeReply(msgpackCodec, { made, mark: Mark.RAN, repeat: false }, HeaderSchema, user(), 9_999);
  });
  expect(msgpackCodec.packList(plains)).toStrictEqual(general.packList(plains));
  const ids = readPacket(msgpackCodec, ServerMessageSchema, msgpackCodec.packList(plains)).map(
    ({ kind }) => kind.case === "result" && kind.value.id,
  );
  expect(ids).toStrictEqual(plains.map((_plain, at) => at + 1));
});
