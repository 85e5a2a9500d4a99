/**
 * The first message each way: the client's hello, and the server's welcome or refusal. It tells a later version
 * of this protocol from this one, names the codec of everything that follows, and says which connection of the
 * client it is. A server takes hello in either codec and answers in the same, so that a client needs but one. Here is
 * what can be told without asking anybody; who the client is, the server finds out.
 *
 * Source: design "Wires"; reliability decision D48.
 */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { streamIdleMs } from "../base/constants.ts";
import type { Codec } from "../codec/codec.ts";
import { CodecError } from "../codec/codec-error.ts";
import { jsonCodec } from "../codec/json.ts";
import { msgpackCodec } from "../codec/msgpack.ts";
import {
  type ClientMessage,
  ClientMessageSchema,
  type Hello,
  HelloSchema,
  type ServerMessage,
  ServerMessageSchema,
  type Welcome,
  WelcomeSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { fromLinkError } from "./link-error.ts";
import { readPacket, writePacket } from "./packet.ts";

/** The version of what is said on wires. */
export const linkVersion = 1;

/** Ms from the start of a wire until its hello is there, and again until the sign-in is looked at. */
export const helloWaitMs = 5_000;

/** How packets can be packed, by the names that hello has for it. */
export type CodecName = "json" | "msgpack";

/** Packets of msgpack begin with the head of an array, which no text of JSON does. */
const arrayHeadLeast = 0x90;

/** The codec that a client's first packet is in: of bytes that are neither, JSON, whose errors can be read. */
export function codecOfHello(packet: Uint8Array): Codec {
  return (packet[0] ?? 0) < arrayHeadLeast ? jsonCodec : msgpackCodec;
}

/** The codec of a name; undefined for one that is not known here. */
export function codecNamed(name: string): Codec | undefined {
  if (name === "json") return jsonCodec;
  return name === "msgpack" ? msgpackCodec : undefined;
}

/** What a client says of itself. */
export interface HelloParts {
  readonly codec: Codec;
  /** The link's ID. */
  readonly link: string;
  /** What this wire is to the link. */
  readonly slot: string;
  /** Counts the wires of this link and slot, from 1. */
  readonly generation: number;
  readonly session: string;
  readonly build: string | undefined;
  readonly token: string | undefined;
  /** Left out beside a token. */
  readonly anon: string | undefined;
  readonly idleMs: number;
}

/** The client's first packet. */
export function helloPacket(parts: HelloParts): Uint8Array {
  return writePacket(parts.codec, ClientMessageSchema, [helloMessage(parts)]);
}

/** What it holds; over Follow, a follow comes behind it in the same packet. */
export function helloMessage(parts: HelloParts): ClientMessage {
  const value = create(HelloSchema, {
    ...parts,
    codec: parts.codec.name,
    version: linkVersion,
    build: parts.build ?? "",
    token: parts.token ?? "",
    anon: parts.anon ?? "",
  });
  return create(ClientMessageSchema, { kind: { case: "hello", value } });
}

/** A hello that can be answered: each field is what it may be. */
export interface HelloFacts {
  readonly codec: Codec;
  readonly link: string;
  readonly slot: string;
  readonly generation: number;
  readonly session: string | undefined;
  readonly build: string | undefined;
  readonly token: string | undefined;
  readonly anon: string | undefined;
  /** Ms of silence after which the client takes the wire for dead. */
  readonly idleMs: number;
}

/**
 * The messages of a client's first packet: hello first, and what follows it there (over Follow: one follow).
 *
 * @throws ConnectError `invalid_argument` when it is not that.
 */
export function readHello(packet: Uint8Array): {
  readonly hello: Hello;
  readonly rest: readonly ClientMessage[];
} {
  const [first, ...rest] = read(() => readPacket(codecOfHello(packet), ClientMessageSchema, packet));
  if (first?.kind.case === "hello") return { hello: first.kind.value, rest };
  throw bad("the first message of a wire must be hello, in a packet of JSON or msgpack");
}

const idPattern = /^[A-Za-z0-9_-]{16,128}$/;
const slotPattern = /^[\x21-\x7e]{1,64}$/;
const sessionCharsMost = 128;
/** Shorter would let a client order signs by the thousand, longer would outlast every proxy. */
const idleMsLeast = 100;
const idleMsMost = 3_600_000;

/**
 * Checks what a client says of itself.
 *
 * @throws ConnectError naming what cannot be: `unimplemented` for a version or a codec that is not known here,
 * `invalid_argument` for the rest.
 */
export function checkHello(hello: Hello): HelloFacts {
  if (hello.version !== linkVersion) {
    throw unknown(`version ${hello.version} of the link protocol`, `${linkVersion}`);
  }
  const codec = codecNamed(hello.codec);
  if (codec === undefined) throw unknown(`the codec "${hello.codec.slice(0, 32)}"`, "json and msgpack");
  const id = "16 to 128 characters of A-Z, a-z, 0-9, - and _";
  if (!idPattern.test(hello.link)) throw bad(`hello.link must be ${id}`);
  if (hello.anon !== "" && !idPattern.test(hello.anon)) throw bad(`hello.anon must be ${id}, or empty`);
  if (!slotPattern.test(hello.slot))
    throw bad("hello.slot must be 1 to 64 printable ASCII characters without spaces");
  if (hello.generation < 1) throw bad("hello.generation counts from 1");
  if (hello.session.length > sessionCharsMost)
    throw bad(`hello.session is longer than ${sessionCharsMost} characters`);
  const idleMs = hello.idleMs === 0 ? streamIdleMs : hello.idleMs;
  if (idleMs < idleMsLeast || idleMs > idleMsMost)
    throw bad(`hello.idle_ms is ${idleMs}, it must be from ${idleMsLeast} to ${idleMsMost}`);
  return {
    codec,
    link: hello.link,
    slot: hello.slot,
    generation: hello.generation,
    session: given(hello.session),
    build: given(hello.build),
    token: given(hello.token),
    anon: given(hello.anon),
    idleMs,
  };
}

/** What a server says of itself. */
export interface WelcomeParts {
  /** As the header `holdfast-server`. */
  readonly server: string;
  readonly nowMs: number;
  /** The caller's tag. */
  readonly caller: string;
  /** Ms of silence after which the server takes the wire for dead. */
  readonly idleMs: number;
}

/** The welcome as a message. */
export function welcomeMessage(parts: WelcomeParts): ServerMessage {
  const value = create(WelcomeSchema, { ...parts, version: linkVersion });
  return create(ServerMessageSchema, { kind: { case: "welcome", value } });
}

/** The server's first packet, in the codec of the client's: a welcome, or the end that refuses. */
export function firstPacket(codec: Codec, message: ServerMessage): Uint8Array {
  return writePacket(codec, ServerMessageSchema, [message]);
}

/** How the server answers hello. */
export type HelloAnswer =
  | { readonly kind: "welcome"; readonly welcome: Welcome; readonly rest: readonly ServerMessage[] }
  /** It says no, or not now. */
  | { readonly kind: "end"; readonly error: ConnectError | undefined; readonly afterMs: number };

/**
 * Reads the server's first packet.
 *
 * @param codec - that of hello.
 * @throws ConnectError `internal` for anything that is not an answer to hello: no server of this protocol.
 */
export function readWelcome(codec: Codec, packet: Uint8Array): HelloAnswer {
  const [first, ...rest] = read(() => readPacket(codec, ServerMessageSchema, packet));
  if (first?.kind.case === "end") {
    const { error, afterMs } = first.kind.value;
    return { kind: "end", error: error === undefined ? undefined : fromLinkError(error), afterMs };
  }
  if (first?.kind.case !== "welcome") throw bad("the first message of a server must be welcome or end");
  const welcome = first.kind.value;
  if (welcome.version !== linkVersion)
    throw unknown(`version ${welcome.version} of the link protocol`, `${linkVersion}`);
  return { kind: "welcome", welcome, rest };
}

function read<T>(packet: () => T): T {
  try {
    return packet();
  } catch (error) {
    if (error instanceof CodecError) throw bad(`the first packet cannot be read: ${error.message}`);
    throw error;
  }
}

function given(text: string): string | undefined {
  return text === "" ? undefined : text;
}

function bad(what: string): ConnectError {
  return new ConnectError(what, Code.InvalidArgument);
}

function unknown(what: string, known: string): ConnectError {
  return new ConnectError(`${what} is not known here; known: ${known}`, Code.Unimplemented);
}
