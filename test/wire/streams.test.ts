/** Streams on a server's end of a wire, by a client by hand: whose turn it is, and what a slow client costs. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemRandom } from "../../runtime/base/random.ts";
import {
  type ClientMessage,
  ClientMessageSchema,
  FollowSchema,
  HelloSchema,
  type ServerMessage,
  ServerMessageSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { jsonCodec } from "../../runtime/codec/json.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { fromLinkError } from "../../runtime/wire/link-error.ts";
import { payloadOf, readPacket, writePacket } from "../../runtime/wire/packet.ts";
import { packetBytesMost, type Wire } from "../../runtime/wire/wire.ts";
import { createServer, memoryStore, type Server } from "../../server/index.ts";
import { memoryPair } from "../../runtime/wire/memory.ts";
import { ServerEnd } from "../../runtime/wire/server-end.ts";
import { type ItemBatch, itemMessage } from "../../server/topic/source.ts";
import type { WireGuest } from "../../server/wire/greet.ts";
import { OpenWire } from "../../server/wire/open-wire.ts";
import type { OpenedStream } from "../../server/wire/opened-stream.ts";
import { streamsPerWireMost, unsentBytesAim, wireStreams } from "../../server/wire/streams.ts";
import { Tally, type TallyHandlers } from "../gen/test/v1/tally_holdfast.ts";
import { FollowRequestSchema, ReadResponseSchema } from "../gen/test/v1/tally_pb.ts";
import { tallyHandlers } from "../support/tally-server.ts";

type Kind = ServerMessage["kind"];

/** A client whose network takes only what the test reads. */
class Client {
  readonly got: Kind[] = [];
  bufferedAmount = 0;
  bufferedMost = 0;
  closed = false;
  reads = true;
  #unread: Uint8Array[] = [];
  #say: (packet: Uint8Array) => void = () => undefined;
  #hear: (cause: Error | undefined) => void = () => undefined;

  constructor(server: Server) {
    const bytes = (): number => this.bufferedAmount;
    const wire: Wire = {
      name: "by hand",
      get bufferedAmount() {
        return bytes();
      },
      send: (packet) => {
        this.#unread.push(packet);
        this.bufferedAmount += packet.length;
        this.bufferedMost = Math.max(this.bufferedMost, this.bufferedAmount);
        if (this.reads) this.read();
      },
      onPacket: (fn) => {
        this.#say = fn;
      },
      onClose: (fn) => {
        this.#hear = fn;
      },
      close: () => queueMicrotask(() => this.leave()),
      cut: (cause) => queueMicrotask(() => this.leave(cause)),
    };
    server.accept(wire);
    const value = {
      version: 1,
      codec: "json",
      link: "link-0123456789abcdef",
      slot: "streams",
      generation: 1,
    };
    this.say({ case: "hello", value: create(HelloSchema, value) });
  }

  leave(cause?: Error): void {
    if (this.closed) return;
    this.closed = true;
    this.#hear(cause);
  }

  say(...kinds: MessageInitShape<typeof ClientMessageSchema>["kind"][]): void {
    const messages = kinds.map((kind) => create(ClientMessageSchema, { kind: kind! }));
    this.#say(writePacket(jsonCodec, ClientMessageSchema, messages));
  }

  follow(stream: number, count = 0n): void {
    const request = payloadOf(jsonCodec, FollowRequestSchema, create(FollowRequestSchema, { count }));
    const method = "test.v1.TallyService.Follow";
    this.say({ case: "follow", value: create(FollowSchema, { stream, method, request }) });
  }

  read(): void {
    for (const packet of this.#unread.splice(0)) {
      this.bufferedAmount -= packet.length;
      for (const { kind } of readPacket(jsonCodec, ServerMessageSchema, packet)) this.got.push(kind);
    }
  }

  /** Numbers of the streams whose items came, in order. */
  get itemsOf(): readonly number[] {
    return this.got.flatMap((kind) => (kind.case === "item" ? [kind.value.stream] : []));
  }

  /** What was said of one stream. */
  of(stream: number): readonly string[] {
    return this.got.flatMap((kind) => {
      const named = kind.value !== undefined && "stream" in kind.value && kind.value.stream === stream;
      return named ? [kind.case] : [];
    });
  }

  /** How a stream, or with 0 the wire, was refused. */
  refusal(stream: number): Code | undefined {
    for (const kind of this.got)
      if (kind.case === "end" && kind.value.stream === stream && kind.value.error !== undefined)
        return fromLinkError(kind.value.error).code;
    return undefined;
  }
}

let clock: VirtualClock;
let server: Server;
let now = 0;

type Follow = (
  ...args: Parameters<TallyHandlers["follow"]>
) => ReturnType<TallyHandlers["follow"]> | undefined;

function start(follow?: Follow): void {
  const made = createServer({ clock, store: memoryStore({ clock, random: systemRandom }) });
  const counted: TallyHandlers["follow"] = (request, context) => {
    now += 1;
    context.signal.addEventListener("abort", () => (now -= 1));
    return follow?.(request, context) ?? context.follow(made.topic(Tally.follow, `${request.count}`));
  };
  server = made.implement(Tally, tallyHandlers({ total: 0n, runs: 0 }, { follow: counted }));
}

async function rest(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await clock.settle();
}

async function connect(): Promise<Client> {
  const client = new Client(server);
  await rest();
  expect(client.got.map(({ case: kind }) => kind)).toEqual(["welcome"]);
  return client;
}

function publish(key: string, count: number): void {
  for (let made = 0; made < count; made += 1) server.topic(Tally.follow, key).publish({ number: 1n });
}

beforeEach(() => {
  clock = virtualClock();
  now = 0;
  start();
});

afterEach(async () => {
  const closed = server.close({ within: 0 });
  await clock.advance(20_000);
  await closed;
  expect([now, clock.pendingCount]).toEqual([0, 0]);
});

it("each stream is answered by its number, and ends with its wire", async () => {
  const client = await connect();
  client.follow(1, 1n);
  client.follow(5, 5n);
  await rest();
  publish("5", 2);
  publish("1", 1);
  await rest();
  expect([client.of(1), client.of(5)]).toEqual([
    ["ready", "item"],
    ["ready", "item", "item"],
  ]);
  expect(now).toBe(2);
  client.leave();
  await rest();
  expect(now).toBe(0);
});

it("a number is given once, and rises", async () => {
  for (const number of [3, 2, 0]) {
    const client = await connect();
    client.follow(3);
    client.follow(number);
    await rest();
    expect([client.refusal(0), client.closed]).toEqual([Code.InvalidArgument, true]);
  }
});

it("what is unfollowed is let go, without another word of it", async () => {
  const client = await connect();
  client.follow(1);
  await rest();
  client.say({ case: "unfollow", value: { stream: 1 } });
  publish("0", 3);
  await rest();
  expect([client.of(1), now, client.closed]).toEqual([["ready"], 0, false]);
  client.say({ case: "unfollow", value: { stream: 1 } }); // it may have ended in the meantime
  await rest();
  expect(client.closed).toBe(false);
  client.say({ case: "unfollow", value: { stream: 2 } });
  await rest();
  expect(client.refusal(0)).toBe(Code.InvalidArgument);
});

it("what is unfollowed before its handler has answered is never opened", async () => {
  await server.close({ within: 0 });
  let answer: () => void = () => undefined;
  start(async (_, context) => {
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    return context.follow(server.topic(Tally.follow, "0"));
  });
  const client = await connect();
  client.follow(1);
  client.say({ case: "unfollow", value: { stream: 1 } });
  answer();
  await rest();
  expect([client.of(1), now]).toEqual([[], 0]);
});

it("a client that does not read costs what may be unsent, and the streams take turns", async () => {
  await server.close({ within: 0 });
  const count = 15_000;
  start((_, context) =>
    context.numbered({
      async *after(seq) {
        for (let number = seq + 1; number <= count; number += 1) yield [number, { number: 1n }];
      },
    }),
  );
  const client = await connect();
  client.reads = false;
  const streams = [1, 2, 3, 4];
  for (const number of streams) client.follow(number);
  await clock.advance(2_000);
  expect(client.bufferedMost).toBeGreaterThan(unsentBytesAim);
  expect(client.bufferedMost).toBeLessThan(1.5 * unsentBytesAim);
  client.read();
  const counts = streams.map((stream) => client.itemsOf.filter((of) => of === stream).length);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(64);
  client.reads = true;
  // In steps: an iterable that has all ready is read in several turns of the event loop.
  for (let step = 0; step < 10; step += 1) await clock.advance(200);
  for (const number of streams) expect(client.of(number)).toHaveLength(count + 2);
});

it("an item that is larger than a packet ends its stream, and no other", async () => {
  const [mine, theirs] = memoryPair();
  const got: Kind[] = [];
  mine.onPacket((packet) => {
    for (const { kind } of readPacket(jsonCodec, ServerMessageSchema, packet)) got.push(kind);
  });
  const times = { idleMs: 45_000, otherIdleMs: 45_000 };
  const end = new ServerEnd({ wire: theirs, codec: jsonCodec, clock, ...times });
  theirs.onPacket((packet) => end.receive(packet));
  theirs.onClose((cause) => end.gone(cause));
  const serve = wireStreams({
    refusal: () => undefined,
    open: async ({ follow }) => sourceOf(follow.stream === 1 ? "x".repeat(packetBytesMost) : "small"),
    streams: { add: () => undefined, delete: () => undefined },
    clock,
  });
  serve(new OpenWire(end, {} as WireGuest, clock));
  const follow = (stream: number): ClientMessage =>
    create(ClientMessageSchema, { kind: { case: "follow", value: create(FollowSchema, { stream }) } });
  mine.send(writePacket(jsonCodec, ClientMessageSchema, [follow(1), follow(2)]));
  await rest();
  expect(
    got.map(({ case: kind, value }) => [kind, value !== undefined && "stream" in value && value.stream]),
  ).toEqual([
    ["ready", 1],
    ["ready", 2],
    ["end", 1],
    ["item", 2],
    ["end", 2],
  ]);
  end.close();
  await rest();
});

/** A source with one item. */
function sourceOf(text: string): OpenedStream {
  const item = payloadOf(jsonCodec, ReadResponseSchema, create(ReadResponseSchema, { text }));
  let taken = false;
  const messages: ItemBatch["messages"] = (_, stream) => [itemMessage(stream, 1, item)];
  const packets: ItemBatch["packets"] = (codec, stream) => [
    writePacket(codec, ServerMessageSchema, messages(codec, stream)),
  ];
  return {
    source: {
      at: { epoch: "e", seq: 0 },
      restarted: false,
      lost: undefined,
      take() {
        if (taken) return { kind: "done" };
        taken = true;
        return { kind: "items", batch: { messages, packets } };
      },
      wait: () => undefined,
      close: () => undefined,
    },
    errorOf: (error) => ConnectError.from(error),
    close: () => undefined,
  };
}

it("has a most of streams, beyond which one is refused and the others stand", async () => {
  const client = await connect();
  for (let number = 1; number <= streamsPerWireMost + 1; number += 1) client.follow(number);
  await rest();
  expect(client.refusal(streamsPerWireMost + 1)).toBe(Code.ResourceExhausted);
  expect([now, client.closed]).toEqual([streamsPerWireMost, false]);
});

it("a drain ends each with its own time to come back, and takes no new one", async () => {
  const client = await connect();
  client.follow(1);
  client.follow(2);
  await rest();
  const closed = server.close();
  await rest();
  client.follow(3);
  await rest();
  const ends = client.got.flatMap((kind) =>
    kind.case === "end" && kind.value.stream > 0 ? [kind.value] : [],
  );
  expect(ends.map(({ stream, again }) => [stream, again])).toEqual([
    [1, true],
    [2, true],
    [3, false],
  ]);
  expect(new Set(ends.map(({ afterMs }) => afterMs)).size).toBeGreaterThan(1);
  expect(client.refusal(3)).toBe(Code.Unavailable);
  client.leave();
  await clock.advance(5_000);
  await closed;
});
