/**
 * A server of LinkService.Follow as a script, on a clock that the test moves: it keeps a ring of numbered items,
 * and the network before it cuts, hangs and refuses as the test says.
 */
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import type { UniversalClientResponse } from "@connectrpc/connect/protocol";
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import {
  type Follow,
  type Hello,
  PacketSchema,
  type ServerMessage,
  ServerMessageSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { ConnectionFault } from "../../runtime/base/connection-fault.ts";
import type { HttpClient, HttpRequest } from "../../runtime/base/http-client.ts";
import { onAbort } from "../../runtime/base/signals.ts";
import type { Codec } from "../../runtime/codec/codec.ts";
import { codecNamed, firstPacket, readHello, welcomeMessage } from "../../runtime/wire/handshake.ts";
import { payloadOf, writePacket } from "../../runtime/wire/packet.ts";
import { jsonCodec } from "../../runtime/codec/json.ts";
import type { Platform } from "../../runtime/link/platform.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { FollowResponseSchema } from "../gen/test/v1/tally_pb.ts";
import { ourHeader } from "./scripted-http.ts";

type MessageInit = MessageInitShape<typeof ServerMessageSchema>["kind"];

/** One Follow that has arrived. */
export interface FollowSeen {
  readonly hello: Hello;
  readonly follow: Follow;
  readonly header: Headers;
  /** Ms of the monotonic clock. */
  readonly at: number;
  /** Which HTTP client sent it. */
  readonly client: number;
  /** Sends messages as one packet, in the codec that hello names; the first one is JSON. */
  say(...kinds: readonly MessageInit[]): void;
  /** An item by its number. */
  item(seq: number): MessageInit;
  /** Ends the rpc in good order, or with an error. */
  end(error?: ConnectError): void;
  /** Breaks the connection. */
  cut(): void;
  /** Sends bytes as a packet. */
  raw(bytes: Uint8Array): void;
  /** Whether it has ended, from whichever side. */
  readonly over: boolean;
}

/** How a new connection is met. */
export type Meeting = "serve" | "refuse" | "hang" | "unauthenticated" | ConnectError;

export interface FollowServer {
  readonly platform: Platform<object>;
  readonly clock: VirtualClock;
  readonly follows: FollowSeen[];
  /** Connections that are open. */
  readonly openCount: number;
  /** HTTP clients that are not closed. */
  readonly clientCount: number;
  readonly wakeCount: number;
  readonly probes: number;
  /** How the next connections are met; the last one stays. Default: served. */
  meet(...how: readonly Meeting[]): void;
  /** What serving does. Default: ready, what the ring has, then live items. */
  serve: (seen: FollowSeen) => void;
  /** Whether anything arrives at all, both ways; what is sent meanwhile is lost without a word. */
  silent: boolean;
  /** Whether the server gives its sign each 15 s. Default true. */
  signs: boolean;
  /** What a probe of the connection meets. Default: an answer, unless it is silent. */
  reach: (() => Promise<Headers>) | undefined;
  publish(count?: number): void;
  readonly seq: number;
  epoch: string;
  /** Items that the ring holds. */
  keep: number;
  /** A new numbering; the ring is empty. */
  restart(): void;
  wake(): void;
  /** Cuts every connection. */
  cutAll(): void;
}

const signMs = 15_000;

export function followServer(seed: number | string = 1, clock: VirtualClock = virtualClock()): FollowServer {
  return new Scripted(seed, clock);
}

class Scripted implements FollowServer {
  readonly clock: VirtualClock;
  readonly platform: Platform<object>;
  readonly follows: Connection[] = [];
  readonly #open = new Set<Connection>();
  readonly #wakers = new Set<() => void>();
  #meetings: Meeting[] = ["serve"];
  #clients = 0;
  clientCount = 0;
  probes = 0;
  silent = false;
  signs = true;
  reach: (() => Promise<Headers>) | undefined;
  seq = 0;
  epoch = "epoch-1";
  #epochs = 1;
  keep = 1_024;
  serve = (seen: FollowSeen): void => {
    if (seen instanceof Connection) this.#serve(seen);
  };

  constructor(seed: number | string, clock: VirtualClock) {
    this.clock = clock;
    this.platform = {
      clock,
      random: seededRandom(seed),
      json: jsonCodec,
      openHttp: () => this.#openHttp(),
      onWake: (fn) => {
        this.#wakers.add(fn);
        return () => this.#wakers.delete(fn);
      },
    };
  }

  get openCount(): number {
    return this.#open.size;
  }

  get wakeCount(): number {
    return this.#wakers.size;
  }

  meet(...how: readonly Meeting[]): void {
    this.#meetings = [...how];
  }

  publish(count = 1): void {
    for (let made = 0; made < count; made += 1) {
      this.seq += 1;
      for (const one of this.#open) if (one.live) one.say(one.item(this.seq));
    }
  }

  restart(): void {
    this.#epochs += 1;
    this.epoch = `epoch-${this.#epochs}`;
    this.seq = 0;
  }

  wake(): void {
    for (const fn of [...this.#wakers]) fn();
  }

  cutAll(): void {
    for (const one of [...this.#open]) one.cut();
  }

  #openHttp(): HttpClient {
    this.#clients += 1;
    this.clientCount += 1;
    const client = this.#clients;
    const life = new AbortController();
    let open = true;
    const leave = (): void => {
      if (open) this.clientCount -= 1;
      open = false;
    };
    return {
      send: (request) => this.#send(request, client, life.signal),
      reach: (_url, signal) => this.#reach(signal),
      retire: leave,
      close: () => {
        leave();
        life.abort(new ConnectionFault("cut", "closed", { sent: true }));
      },
    };
  }

  async #reach(signal: AbortSignal): Promise<Headers> {
    this.probes += 1;
    if (this.reach !== undefined) return this.reach();
    if (this.silent) return new Promise((_, reject) => onAbort(signal, reject));
    if (this.#meetings[0] !== "serve")
      throw new ConnectionFault("connect-refused", "scripted: nobody", { sent: false });
    return new Headers(ourHeader(this.clock));
  }

  async #send(request: HttpRequest, client: number, life: AbortSignal): Promise<UniversalClientResponse> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request.body ?? none()) chunks.push(chunk);
    const how = this.silent
      ? "hang"
      : ((this.#meetings.length > 1 ? this.#meetings.shift() : this.#meetings[0]) ?? "serve");
    if (how === "refuse") throw new ConnectionFault("connect-refused", "scripted: refused", { sent: false });
    request.onSent?.();
    if (how === "hang") {
      return new Promise((_, reject) => {
        onAbort(request.signal, reject);
        onAbort(life, reject);
      });
    }
    const { data } = fromBinary(PacketSchema, Buffer.concat(chunks).subarray(5));
    const { hello, rest } = readHello(data);
    const follow = rest[0]?.kind;
    if (follow?.case !== "follow") throw new Error("the second message of a Follow is a follow");
    const connection = new Connection(this, hello, follow.value, request, client, (one) =>
      this.#open.delete(one),
    );
    onAbort(life, (reason) => connection.break(reason));
    this.follows.push(connection);
    this.#open.add(connection);
    const header = new Headers({ ...ourHeader(this.clock), "content-type": "application/connect+proto" });
    const answer = { status: 200, header, body: connection.body, trailer: new Headers() };
    if (how === "serve") {
      connection.sayFirst(this.clock.now());
      this.serve(connection);
    } else {
      connection.end(how === "unauthenticated" ? new ConnectError("who?", Code.Unauthenticated) : how);
    }
    return answer;
  }

  /** As a topic does: what was asked for from the ring, then what comes. */
  #serve(one: Connection): void {
    const { after } = one.follow;
    const known = after !== undefined && after.epoch === this.epoch && after.seq <= this.seq;
    const from = after === undefined || !known ? this.seq : after.seq;
    one.say({
      case: "ready",
      value: { stream: 1, at: { epoch: this.epoch, seq: from }, restarted: after !== undefined && !known },
    });
    const oldest = Math.max(from, this.seq - this.keep);
    if (oldest > from) one.say({ case: "lost", value: { stream: 1, count: oldest - from, seq: oldest } });
    for (let seq = oldest + 1; seq <= this.seq; seq += 1) one.say(one.item(seq));
    one.live = true;
    one.sign();
  }
}

async function* none(): AsyncIterable<Uint8Array> {
  yield* [];
}

class Connection implements FollowSeen {
  readonly hello: Hello;
  readonly follow: Follow;
  readonly header: Headers;
  readonly at: number;
  readonly client: number;
  live = false;
  over = false;
  readonly #server: Scripted;
  readonly #codec: Codec;
  readonly #onOver: (one: Connection) => void;
  #chunks: Uint8Array[] = [];
  #finish: { readonly fault: Error | undefined } | undefined;
  #wake: (() => void) | undefined;
  #timer: { cancel(): void } | undefined;

  constructor(
    server: Scripted,
    hello: Hello,
    follow: Follow,
    request: HttpRequest,
    client: number,
    onOver: (one: Connection) => void,
  ) {
    this.#server = server;
    this.hello = hello;
    this.follow = follow;
    this.header = request.header;
    this.at = server.clock.monotonic();
    this.client = client;
    this.#codec = codecNamed(hello.codec)!;
    this.#onOver = onOver;
    onAbort(request.signal, (reason) => this.break(reason));
  }

  sayFirst(nowMs: number): void {
    this.raw(firstPacket(this.#codec, welcomeMessage({ server: "1", nowMs, caller: "", idleMs: 45_000 })));
  }

  item(seq: number): MessageInit {
    const item = payloadOf(
      this.#codec,
      FollowResponseSchema,
      create(FollowResponseSchema, { number: BigInt(seq) }),
    );
    return { case: "item", value: { stream: 1, seq, item } };
  }

  say(...kinds: readonly MessageInit[]): void {
    const messages: ServerMessage[] = kinds.map((kind) =>
      create(ServerMessageSchema, { kind } as MessageInitShape<typeof ServerMessageSchema>),
    );
    this.raw(writePacket(this.#codec, ServerMessageSchema, messages));
  }

  sign(): void {
    this.#timer = this.#server.clock.timer(signMs, () => {
      if (this.over) return;
      if (this.#server.signs) this.say({ case: "keepalive", value: { nowMs: this.#server.clock.now() } });
      this.sign();
    });
  }

  raw(bytes: Uint8Array): void {
    if (this.#server.silent || this.over) return;
    this.#push(encodeEnvelope(0, toBinary(PacketSchema, create(PacketSchema, { data: bytes }))));
  }

  end(error?: ConnectError): void {
    const json =
      error === undefined
        ? "{}"
        : `{"error":${new TextDecoder().decode(errorToJsonBytes(error, undefined))}}`;
    this.#push(encodeEnvelope(2, new TextEncoder().encode(json)));
    this.#close({ fault: undefined });
  }

  cut(): void {
    if (this.#server.silent) return;
    this.break(new ConnectionFault("cut", "scripted: cut", { sent: true }));
  }

  break(fault: unknown): void {
    this.#chunks = [];
    this.#close({ fault: fault as Error | undefined });
  }

  readonly body: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: () => this.#next(),
      return: async () => {
        this.break(undefined);
        return { done: true, value: undefined };
      },
      throw: async (error: unknown) => {
        this.break(undefined);
        throw error;
      },
    }),
  };

  /** Bytes that nobody has read. */
  get unreadCount(): number {
    return this.#chunks.length;
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) return { done: false, value: chunk };
      if (this.#finish !== undefined) {
        if (this.#finish.fault !== undefined) throw this.#finish.fault;
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #push(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#wakeUp();
  }

  #close(finish: { readonly fault: Error | undefined }): void {
    this.#finish ??= finish;
    this.over = true;
    this.#timer?.cancel();
    this.#onOver(this);
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
