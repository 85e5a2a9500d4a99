import { create } from "@bufbuild/protobuf";
import { fillSlot, jsonCodec, msgpackCodec, openSlot, protoCodec, type Codec } from "holdfast/codec";
import {
  ClientMessageSchema,
  Mark,
  PayloadSchema,
  ServerMessageSchema,
  type Call,
  type ClientMessage,
  type Result,
  type ServerMessage,
  type Stamp,
} from "holdfast/gen/holdfast/link/v1/link_pb.js";
import type { BenchCase } from "../case.ts";
import { PersonSchema, type Person } from "../gen/bench/v1/bench_pb.ts";

// What the codecs do for calls over a wire: each call's payload goes into its link message, and all link messages of
// one turn of the event loop go as one packet. Each figure is for one packet of a hundred, from objects to objects.

const perPacket = 100;

const person = create(PersonSchema, { name: "Ada Lovelace", email: "ada@example.org", age: 36 });

/** A command with all that makes it run once; a literal, since `create` takes as long as all the codec does. */
function callOf(codec: Codec, id: number): ClientMessage {
  const stamp: Stamp = {
    $typeName: "holdfast.link.v1.Stamp",
    callId: `0123456789abcdef012345${id}`,
    lane: "",
    seq: id,
    settled: id - 1,
    tries: 1,
    firstSent: { case: "serverMs", value: 1_764_500_000_000 + id },
    expectedCaller: "",
    anon: "",
  };
  const value: Call = {
    $typeName: "holdfast.link.v1.Call",
    id,
    hold: 0,
    method: 3,
    request: fillSlot(PayloadSchema, codec.shape(PersonSchema, person)),
    timeoutMs: 30_000,
    stamp,
    headers: [],
  };
  return { $typeName: "holdfast.link.v1.ClientMessage", kind: { case: "call", value } };
}

function resultOf(codec: Codec, id: number): ServerMessage {
  const value: Result = {
    $typeName: "holdfast.link.v1.Result",
    id,
    outcome: { case: "reply", value: fillSlot(PayloadSchema, codec.shape(PersonSchema, person)) },
    mark: Mark.RAN,
    repeat: false,
    headers: [],
    trailers: [],
    caller: "",
  };
  return { $typeName: "holdfast.link.v1.ServerMessage", kind: { case: "result", value } };
}

function packedCalls(codec: Codec): Uint8Array {
  const plains = [];
  for (let i = 1; i <= perPacket; i++) plains.push(codec.shape(ClientMessageSchema, callOf(codec, i)));
  return codec.packList(plains);
}

function readCalls(codec: Codec, bytes: Uint8Array): Person[] {
  return codec.unpackList(bytes).map((plain) => {
    const { kind } = codec.unshape(ClientMessageSchema, plain);
    if (kind.case !== "call" || kind.value.request === undefined) throw new Error(`a ${kind.case} came`);
    return codec.unshape(PersonSchema, openSlot(PayloadSchema, kind.value.request));
  });
}

function packedResults(codec: Codec): Uint8Array {
  const plains = [];
  for (let i = 1; i <= perPacket; i++) plains.push(codec.shape(ServerMessageSchema, resultOf(codec, i)));
  return codec.packList(plains);
}

function readResults(codec: Codec, bytes: Uint8Array): Person[] {
  return codec.unpackList(bytes).map((plain) => {
    const { kind } = codec.unshape(ServerMessageSchema, plain);
    if (kind.case !== "result" || kind.value.outcome.case !== "reply") throw new Error(`a ${kind.case} came`);
    return codec.unshape(PersonSchema, openSlot(PayloadSchema, kind.value.outcome.value));
  });
}

const codecs = { "holdfast msgpack": msgpackCodec, "holdfast JSON": jsonCodec, "protobuf-es": protoCodec };

function caseOf(
  name: string,
  packed: (codec: Codec) => Uint8Array,
  read: (codec: Codec, bytes: Uint8Array) => unknown,
): BenchCase[] {
  const entries = Object.entries(codecs).map(([peer, codec]) => ({ peer, codec, bytes: packed(codec) }));
  const sizes = Object.fromEntries(entries.map(({ peer, bytes }) => [peer, bytes.length]));
  const each = (run: (codec: Codec, bytes: Uint8Array) => unknown): BenchCase["peers"] =>
    Object.fromEntries(entries.map(({ peer, codec, bytes }) => [peer, () => run(codec, bytes)]));
  const base = "protobuf-es";
  return [
    { name: `codec-link/${name} written`, base, sizes, peers: each((codec) => packed(codec)) },
    { name: `codec-link/${name} read`, base, sizes, peers: each(read) },
  ];
}

export const cases: readonly BenchCase[] = [
  ...caseOf("100 calls", packedCalls, readCalls),
  ...caseOf("100 results", packedResults, readResults),
];
