/** A bare client of `LinkService.Follow`, for tests of what the server really sends. */
import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import {
  ClientMessageSchema,
  LinkService,
  type ServerMessage,
  ServerMessageSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { jsonCodec } from "../../runtime/codec/json.ts";
import { type CodecName, codecNamed, helloPacket } from "../../runtime/wire/handshake.ts";
import { messageIn, payloadOf, readPacket, writePacket } from "../../runtime/wire/packet.ts";
import { FollowRequestSchema, FollowResponseSchema } from "../gen/test/v1/tally_pb.ts";
import type { ListenAddress } from "../../server/index.ts";

export interface RawAsked {
  readonly codec?: CodecName;
  readonly after?: { readonly epoch: string; readonly seq: number } | undefined;
  readonly token?: string;
  readonly idleMs?: number;
  readonly method?: string;
  readonly count?: bigint;
  readonly session?: string;
  readonly headers?: readonly { readonly name: string; readonly value: string }[];
}

/** A message of the server, short enough to compare. */
export type Said =
  | { readonly said: "welcome" | "keepalive" }
  | {
      readonly said: "ready";
      readonly epoch: string | undefined;
      readonly seq: number | undefined;
      readonly restarted: boolean;
    }
  | { readonly said: "item"; readonly seq: number; readonly number: bigint }
  | { readonly said: "lost"; readonly count: number; readonly seq: number }
  | {
      readonly said: "end";
      readonly again: boolean;
      readonly afterMs: number;
      readonly lagged: boolean;
      readonly error: string | undefined;
    };

/** An open Follow: what the server says, in order. */
export interface RawFollow extends AsyncDisposable {
  /** The next message; undefined at the end. */
  next(): Promise<Said | undefined>;
  /** The next messages that are no keepalive, so many. */
  take(count: number): Promise<Said[]>;
  /** All until the end. */
  rest(): Promise<Said[]>;
  /** Packets so far, with the messages of each. */
  readonly packets: readonly (readonly Said[])[];
}

/** A client of one connection. */
export interface RawClient extends AsyncDisposable {
  follow(asked?: RawAsked): RawFollow;
  /** Sends any bytes as the request's packet. */
  send(packet: Uint8Array): RawFollow;
}

export function followPacket(asked: RawAsked = {}): Uint8Array {
  const {
    codec = "json",
    after,
    token,
    idleMs = 45_000,
    method = "test.v1.TallyService.Follow",
    count = 0n,
  } = asked;
  const packedBy = codecNamed(codec) ?? jsonCodec;
  const hello = readPacket(
    packedBy,
    ClientMessageSchema,
    helloPacket({
      codec: packedBy,
      link: "l".repeat(16),
      slot: "stream1",
      generation: 1,
      session: asked.session ?? "",
      build: undefined,
      token,
      anon: undefined,
      idleMs,
    }),
  );
  const follow = create(ClientMessageSchema, {
    kind: {
      case: "follow",
      value: {
        stream: 1,
        method,
        request: payloadOf(jsonCodec, FollowRequestSchema, create(FollowRequestSchema, { count })),
        ...(after === undefined ? {} : { after }),
        headers: [...(asked.headers ?? [])],
      },
    },
  });
  return writePacket(jsonCodec, ClientMessageSchema, [...hello, follow]);
}

export function rawClient({ port }: Pick<ListenAddress, "port">): RawClient {
  const baseUrl = `http://127.0.0.1:${port}`;
  const sessionManager = new Http2SessionManager(baseUrl);
  const transport = createConnectTransport({
    baseUrl,
    httpVersion: "2",
    sessionManager,
    useBinaryFormat: true,
  });
  const client = createClient(LinkService, transport);
  const open = (data: Uint8Array, codec: CodecName): RawFollow => {
    const stop = new AbortController();
    const packets = client.follow({ data: data }, { signal: stop.signal });
    return reading(packets[Symbol.asyncIterator](), codec, stop);
  };
  return {
    follow: (asked = {}) => open(followPacket(asked), asked.codec ?? "json"),
    send: (packet) => open(packet, "json"),
    async [Symbol.asyncDispose]() {
      sessionManager.abort();
    },
  };
}

function reading(
  packets: AsyncIterator<{ readonly data: Uint8Array }>,
  codecName: CodecName,
  stop: AbortController,
): RawFollow {
  const read: Said[][] = [];
  let waiting: Said[] = [];
  const codec = codecNamed(codecName) ?? jsonCodec;
  const next = async (): Promise<Said | undefined> => {
    while (waiting.length === 0) {
      const packet = await packets.next().catch((error: unknown) => {
        if (stop.signal.aborted) return { done: true, value: undefined } as const;
        throw error;
      });
      if (packet.done === true) return undefined;
      const its = read.length === 0 ? jsonCodec : codec;
      waiting = readPacket(its, ServerMessageSchema, packet.value.data).map((message) =>
        saidOf(message, its),
      );
      read.push([...waiting]);
    }
    return waiting.shift();
  };
  return {
    packets: read,
    next,
    async take(count) {
      const taken: Said[] = [];
      while (taken.length < count) {
        const one = await next();
        if (one === undefined) break;
        if (one.said !== "keepalive") taken.push(one);
      }
      return taken;
    },
    async rest() {
      const taken: Said[] = [];
      for (let one = await next(); one !== undefined; one = await next()) taken.push(one);
      return taken;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await packets.return?.().catch(() => undefined);
    },
  };
}

function saidOf({ kind }: ServerMessage, codec: typeof jsonCodec): Said {
  switch (kind.case) {
    case "welcome":
    case "keepalive":
      return { said: kind.case };
    case "ready": {
      const { at, restarted } = kind.value;
      return { said: "ready", epoch: at?.epoch, seq: at?.seq, restarted };
    }
    case "item":
      return {
        said: "item",
        seq: kind.value.seq,
        number: item(codec, FollowResponseSchema, kind.value.item).number,
      };
    case "lost":
      return { said: "lost", count: kind.value.count, seq: kind.value.seq };
    case "end": {
      const { again, afterMs, lagged, error } = kind.value;
      return { said: "end", again, afterMs, lagged, error: error && `${error.code}: ${error.message}` };
    }
    default:
      throw new Error(`the server said ${String(kind.case)}`);
  }
}

function item<Desc extends DescMessage>(
  codec: typeof jsonCodec,
  desc: Desc,
  payload: Parameters<typeof messageIn>[2],
): MessageShape<Desc> {
  return messageIn(codec, desc, payload);
}

/** The items among what was said, as "seq:number". */
export function itemsOf(said: readonly Said[]): string[] {
  return said.flatMap((one) => (one.said === "item" ? [`${one.seq}:${one.number}`] : []));
}
