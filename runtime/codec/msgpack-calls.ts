import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import {
  type Call,
  type ClientMessage,
  ClientMessageSchema,
  type Item,
  Mark,
  type Payload,
  PayloadSchema,
  type Result,
  type ServerMessage,
  ServerMessageSchema,
  type Stamp,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import type { FirstCall, Reply } from "./call-messages.ts";
import { CodecError, within } from "./codec-error.ts";
import type { CallMessages, Plain } from "./codec.ts";
import { MsgpackPlain } from "./msgpack-plain.ts";
import type { MsgpackReader } from "./msgpack-reader.ts";
import { writeDouble } from "./msgpack-scalar.ts";
import type { MsgpackShapers } from "./msgpack-shape.ts";
import type { MsgpackWriter } from "./msgpack-writer.ts";
import { fillSlot } from "./slot.ts";

// Calls, their results and items are nearly all that a busy wire carries. They are written and
// read here field by field, which takes a quarter of the time of the compiled way. The bytes and the values are the
// same: whatever has another form than the writer below gives it is read the general way, errors included.

/** `ClientMessage.call`, `ServerMessage.result` and `ServerMessage.item`. */
const callNumber = 6;
const resultNumber = 8;
const itemNumber = 10;

/** Places what a message says of a user's own, and the user's message in it, into the writer's memory. */
export class MsgpackCalls implements CallMessages {
  readonly #shapers: MsgpackShapers;
  readonly #writer: MsgpackWriter;
  readonly #headroomBytes: number;

  constructor(shapers: MsgpackShapers, writer: MsgpackWriter, headroomBytes: number) {
    this.#shapers = shapers;
    this.#writer = writer;
    this.#headroomBytes = headroomBytes;
  }

  shapeCall(call: FirstCall, input: DescMessage, request: Message, bytesMost: number): Plain {
    const writer = this.#writer;
    const { id, method, timeoutMs, callId } = call;
    writer.begin();
    writer.mapHead(1);
    writer.fieldNumber(callNumber);
    writer.mapHead(3 + (timeoutMs === 0 ? 0 : 1) + (callId === "" ? 0 : 1));
    writer.fieldNumber(1);
    writer.integer(id);
    writer.fieldNumber(3);
    writer.integer(method);
    writer.fieldNumber(4);
    this.#payload(input, request, bytesMost);
    if (timeoutMs !== 0) {
      writer.fieldNumber(5);
      writeDouble(writer, timeoutMs);
    }
    if (callId !== "") this.#stamp(call);
    return this.#shaped();
  }

  shapeReply(its: Reply, output: DescMessage, reply: Message, bytesMost: number): Plain {
    const writer = this.#writer;
    const { id, mark, repeat, caller } = its;
    writer.begin();
    writer.mapHead(1);
    writer.fieldNumber(resultNumber);
    writer.mapHead(2 + (mark === Mark.UNSPECIFIED ? 0 : 1) + (repeat ? 1 : 0) + (caller === "" ? 0 : 1));
    writer.fieldNumber(1);
    writer.integer(id);
    writer.fieldNumber(2);
    this.#payload(output, reply, bytesMost);
    if (mark !== Mark.UNSPECIFIED) {
      writer.fieldNumber(4);
      writer.integer(mark);
    }
    if (repeat) {
      writer.fieldNumber(5);
      writer.bool(true);
    }
    if (caller !== "") {
      writer.fieldNumber(8);
      writer.string(caller);
    }
    return this.#shaped();
  }

  #stamp({ callId, seq, settled, serverMs }: FirstCall): void {
    const writer = this.#writer;
    writer.fieldNumber(6);
    writer.mapHead(settled === 0 ? 4 : 5);
    writer.fieldNumber(1);
    writer.string(callId);
    writer.fieldNumber(3);
    writeDouble(writer, seq);
    if (settled !== 0) {
      writer.fieldNumber(4);
      writeDouble(writer, settled);
    }
    writer.fieldNumber(5);
    writer.integer(1);
    writer.fieldNumber(serverMs === undefined ? 7 : 6);
    writeDouble(writer, serverMs ?? 0);
  }

  #payload(desc: DescMessage, message: Message, bytesMost: number): void {
    const writer = this.#writer;
    const from = writer.pos - writer.start;
    try {
      this.#shapers.of(desc)(writer, message);
      const bytes = writer.pos - writer.start - from;
      if (bytes > bytesMost) throw new RangeError(`a message of ${bytes} bytes is too large`);
    } catch (error) {
      writer.pos = writer.start;
      throw within(error, desc.typeName);
    }
  }

  #shaped(): Plain {
    const { bytes, start, pos } = this.#writer;
    return new MsgpackPlain(bytes, start, pos, this.#headroomBytes).plain;
  }
}

/** Reads a call or a result; undefined for all else, and for one that is not as it is written above. */
type ReadQuickly = (reader: MsgpackReader) => Message | undefined;

/** How the messages of a packet are read by hand; undefined: they are not. */
export function quickReaderOf(desc: DescMessage): ReadQuickly | undefined {
  if (desc === ClientMessageSchema) return readClientMessage;
  return desc === ServerMessageSchema ? readServerMessage : undefined;
}

/** Keeps the place at which a message started, so that the general way can begin there again. */
export function readMessage<Desc extends DescMessage>(
  reader: MsgpackReader,
  quickly: ReadQuickly,
  generally: (start: number) => MessageShape<Desc>,
): MessageShape<Desc> {
  const start = reader.pos;
  try {
    const message = quickly(reader);
    if (message !== undefined) return message as MessageShape<Desc>;
  } catch (error) {
    // What is wrong with it, the general way says with the path of its field.
    if (!(error instanceof CodecError)) throw error;
  }
  reader.pos = start;
  return generally(start);
}

function readClientMessage(reader: MsgpackReader): ClientMessage | undefined {
  if (!reader.startsWith(0x81, callNumber)) return undefined;
  const call: Call = {
    $typeName: "holdfast.link.v1.Call",
    id: 0,
    hold: 0,
    method: 0,
    timeoutMs: 0,
    headers: [],
  };
  const count = reader.mapLength("a call");
  for (let i = 0, before = 0; i < count; i++) {
    const field = reader.fieldNumber();
    if (field <= before) return undefined;
    before = field;
    switch (field) {
      case 1:
        call.id = uint32(reader);
        break;
      case 2:
        call.hold = uint32(reader);
        break;
      case 3:
        call.method = uint32(reader);
        break;
      case 4:
        call.request = readPayload(reader);
        break;
      case 5:
        call.timeoutMs = reader.double();
        break;
      case 6: {
        const stamp = readStamp(reader);
        if (stamp === undefined) return undefined;
        call.stamp = stamp;
        break;
      }
      default:
        return undefined;
    }
  }
  return { $typeName: "holdfast.link.v1.ClientMessage", kind: { case: "call", value: call } };
}

function readStamp(reader: MsgpackReader): Stamp | undefined {
  const stamp: Stamp = {
    $typeName: "holdfast.link.v1.Stamp",
    callId: "",
    lane: "",
    seq: 0,
    settled: 0,
    tries: 0,
    firstSent: { case: undefined },
    expectedCaller: "",
    anon: "",
  };
  const count = reader.mapLength("a stamp");
  for (let i = 0, before = 0; i < count; i++) {
    const field = reader.fieldNumber();
    if (field <= before || (field === 7 && before === 6)) return undefined;
    before = field;
    switch (field) {
      case 1:
        stamp.callId = reader.string();
        break;
      case 2:
        stamp.lane = reader.string();
        break;
      case 3:
        stamp.seq = reader.double();
        break;
      case 4:
        stamp.settled = reader.double();
        break;
      case 5:
        stamp.tries = uint32(reader);
        break;
      case 6:
        stamp.firstSent = { case: "serverMs", value: reader.double() };
        break;
      case 7:
        stamp.firstSent = { case: "agoMs", value: reader.double() };
        break;
      case 8:
        stamp.expectedCaller = reader.string();
        break;
      case 9:
        stamp.anon = reader.string();
        break;
      default:
        return undefined;
    }
  }
  return stamp;
}

function readServerMessage(reader: MsgpackReader): ServerMessage | undefined {
  if (reader.startsWith(0x81, resultNumber)) return readResult(reader);
  return reader.startsWith(0x81, itemNumber) ? readItem(reader) : undefined;
}

function readItem(reader: MsgpackReader): ServerMessage | undefined {
  const item: Item = { $typeName: "holdfast.link.v1.Item", stream: 0, seq: 0 };
  const count = reader.mapLength("an item");
  for (let i = 0, before = 0; i < count; i++) {
    const field = reader.fieldNumber();
    if (field <= before) return undefined;
    before = field;
    if (field === 1) item.stream = uint32(reader);
    else if (field === 2) item.seq = reader.double();
    else if (field === 3) item.item = readPayload(reader);
    else return undefined;
  }
  return { $typeName: "holdfast.link.v1.ServerMessage", kind: { case: "item", value: item } };
}

function readResult(reader: MsgpackReader): ServerMessage | undefined {
  const result: Result = {
    $typeName: "holdfast.link.v1.Result",
    id: 0,
    outcome: { case: undefined },
    mark: Mark.UNSPECIFIED,
    repeat: false,
    headers: [],
    trailers: [],
    caller: "",
  };
  const count = reader.mapLength("a result");
  for (let i = 0, before = 0; i < count; i++) {
    const field = reader.fieldNumber();
    if (field <= before) return undefined;
    before = field;
    switch (field) {
      case 1:
        result.id = uint32(reader);
        break;
      case 2:
        result.outcome = { case: "reply", value: readPayload(reader) };
        break;
      case 4:
        result.mark = int32(reader) as Mark;
        break;
      case 5:
        result.repeat = reader.bool();
        break;
      case 8:
        result.caller = reader.string();
        break;
      default:
        return undefined;
    }
  }
  return { $typeName: "holdfast.link.v1.ServerMessage", kind: { case: "result", value: result } };
}

/** A view of the packet: it is read before the packet's turn is over. */
function readPayload(reader: MsgpackReader): Payload {
  const start = reader.pos;
  reader.skip();
  return fillSlot(
    PayloadSchema,
    new MsgpackPlain(reader.bytes, start, reader.pos, reader.headroomBytes).plain,
  );
}

function uint32(reader: MsgpackReader): number {
  const value = reader.integer();
  if (value < 0 || value > 0xffff_ffff) throw outOfRange;
  return value;
}

function int32(reader: MsgpackReader): number {
  const value = reader.integer();
  if (value < -0x8000_0000 || value > 0x7fff_ffff) throw outOfRange;
  return value;
}

const outOfRange = new CodecError("the number is out of range");
