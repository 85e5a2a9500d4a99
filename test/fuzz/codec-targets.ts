import { readFileSync } from "node:fs";
import { fromBinary, toBinary, type DescMessage, type Message } from "@bufbuild/protobuf";
import {
  CodecError,
  createJsonCodec,
  createMsgpackCodec,
  createProtoCodec,
  type Codec,
} from "holdfast/codec";
import type { Chance } from "../codec/chance.ts";
import { EnvelopeSchema } from "../codec/gen/slots/v1/slots_pb.ts";
import { anyTypes, kitchenRegistry, kitchenTypes } from "../codec/kitchen.ts";
import { randomMessage } from "../codec/random-message.ts";
import type { FuzzTarget } from "./target.ts";

const registry = kitchenRegistry;
const options = { registry, slotTypeNames: ["slots.v1.Slot"] };
const types: readonly DescMessage[] = kitchenTypes;

/** The first byte of an input chooses the type that the rest is read as. */
function typeOf(input: Uint8Array): DescMessage {
  return types[(input[0] ?? 0) % types.length] ?? EnvelopeSchema;
}

function messageTarget(name: string, codec: Codec, corpusFile: string | undefined): FuzzTarget {
  return {
    name,
    corpus: (chance) => [...corpusOf(corpusFile), ...goodMessages(codec, chance)],
    run: (input) => {
      const desc = typeOf(input);
      const message = decoded(() => codec.unshape(desc, codec.unpack(input.subarray(1))));
      if (typeof message === "string") return `${desc.name} ${message}`;
      const binary = binaryOf(desc, message);
      input.fill(0xc1);
      checkSame(binary, binaryOf(desc, message), "what was read changed with the buffer");
      checkAgain(codec, desc, message, binary);
      return `${desc.name} read`;
    },
  };
}

/** Encoding what was read and reading it again must give the same message, and protobuf-es must agree. */
function checkAgain(codec: Codec, desc: DescMessage, message: Message, binary: Uint8Array | undefined): void {
  const again = decoded(() => codec.unshape(desc, codec.unpack(codec.pack(codec.shape(desc, message)))));
  if (typeof again === "string") {
    // JSON cannot say everything that the other formats can, and required fields may be missing.
    if (binary !== undefined && codec.name === "msgpack") throw new Error(`cannot be sent again: ${again}`);
    return;
  }
  checkSame(binary, binaryOf(desc, again), "reading what was sent again gives another message");
  if (binary !== undefined)
    checkSame(binary, toBinary(desc, fromBinary(desc, binary)), "protobuf-es reads another message");
}

function listTarget(name: string, codec: Codec): FuzzTarget {
  return {
    name,
    corpus: (chance) =>
      Array.from({ length: 20 }, (_, i) => {
        const desc = chance.of(types);
        const plains = Array.from({ length: i % 4 }, () => codec.shape(desc, random(desc, chance)));
        return codec.packList(plains);
      }),
    run: (input) => {
      const bytes = Uint8Array.from(input);
      const plains = decoded(() => codec.unpackList(input));
      if (typeof plains === "string") return plains;
      const again = codec.packList(plains);
      if (codec.name === "msgpack" && plains.length < 16)
        checkSame(bytes.subarray(headBytes(bytes)), again.subarray(1), "the packet changed");
      for (const plain of plains) decoded(() => codec.unshape(EnvelopeSchema, plain));
      return `${Math.min(plains.length, 5)} messages`;
    },
  };
}

/** How long the head of a msgpack array is. */
function headBytes(bytes: Uint8Array): number {
  return bytes[0] === 0xdc ? 3 : bytes[0] === 0xdd ? 5 : 1;
}

/** What `run` gives, or the refusal in words that are the same for inputs of one kind. */
function decoded<T extends object>(run: () => T): T | string {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    if (error.problem === "") throw new Error("an error without text", { cause: error });
    return `${error.path.replace(/\[.*?\]/g, "[]")} ${error.problem.replace(/[0-9.e+-]+/g, "#")}`.slice(
      0,
      200,
    );
  }
}

/** Undefined if protobuf-es refuses to write it, which it does for required fields that are missing. */
function binaryOf(desc: DescMessage, message: Message): Uint8Array | undefined {
  try {
    return toBinary(desc, message);
  } catch (error) {
    if (error instanceof Error && error.message.includes("required field not set")) return undefined;
    throw error;
  }
}

function checkSame(one: Uint8Array | undefined, other: Uint8Array | undefined, text: string): void {
  if (one === undefined || other === undefined) {
    if (one !== other) throw new Error(text);
  } else if (!Buffer.from(one.buffer, one.byteOffset, one.length).equals(other)) throw new Error(text);
}

function random(desc: DescMessage, chance: Chance): Message {
  return randomMessage(desc, chance, { anyTypes, registry, depth: 2 });
}

function goodMessages(codec: Codec, chance: Chance): Uint8Array[] {
  return types.flatMap((desc, index) =>
    Array.from({ length: 6 }, () =>
      Uint8Array.from([index, ...codec.pack(codec.shape(desc, random(desc, chance)))]),
    ).filter((input) => input.length < 4096),
  );
}

/** Inputs of which some made other decoders hang, crash or take gigabytes; each is tried as every type. */
function corpusOf(file: string | undefined): Uint8Array[] {
  if (file === undefined) return [];
  const inputs = JSON.parse(readFileSync(new URL(`corpus/${file}`, import.meta.url), "utf8")) as {
    input: string;
  }[];
  return inputs.flatMap(({ input }) => types.map((_, index) => Uint8Array.from([index, ...bytesOf(input)])));
}

/** Hex, or text after a mark. */
function bytesOf(input: string): Uint8Array {
  return input.startsWith("text:") ? new TextEncoder().encode(input.slice(5)) : Buffer.from(input, "hex");
}

export const codecTargets: readonly FuzzTarget[] = [
  messageTarget("codec-msgpack", createMsgpackCodec(options), "codec-msgpack.json"),
  listTarget("codec-msgpack-packet", createMsgpackCodec(options)),
  messageTarget("codec-json", createJsonCodec(options), "codec-json.json"),
  listTarget("codec-json-packet", createJsonCodec(options)),
  messageTarget("codec-proto", createProtoCodec(options), undefined),
];
