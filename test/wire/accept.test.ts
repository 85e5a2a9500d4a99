/** A server's way in for wires, in memory and virtual time: who may say what, and when a wire ends. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  CallSchema,
  type ClientMessage,
  ClientMessageSchema,
  HelloSchema,
  type ServerMessage,
  ServerMessageSchema,
  StampSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { jsonCodec } from "../../runtime/codec/json.ts";
import { msgpackCodec } from "../../runtime/codec/msgpack.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { codecOfHello } from "../../runtime/wire/handshake.ts";
import { fromLinkError } from "../../runtime/wire/link-error.ts";
import { memoryPair } from "../../runtime/wire/memory.ts";
import { payloadOf, readPacket, writePacket } from "../../runtime/wire/packet.ts";
import type { Wire } from "../../runtime/wire/wire.ts";
import { createServer, memoryStore, type Server, type ServerOptions } from "../../server/index.ts";
import { systemRandom } from "../../runtime/base/random.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { ReadRequestSchema } from "../gen/test/v1/tally_pb.ts";
import { tallyHandlers } from "../support/tally-server.ts";

const linkId = "link-0123456789abcdef";
const otherId = "other-0123456789abcdef";

/** The client's end of a wire, by hand: in JSON, which is text to read; bytes that are none may be answered in msgpack. */
class RawClient {
  readonly wire: Wire;
  readonly got: ServerMessage["kind"][] = [];
  closed = false;

  constructor(server: Server, address?: string) {
    const [mine, theirs] = memoryPair();
    this.wire = mine;
    mine.onPacket((packet) => {
      for (const { kind } of readPacket(codecOfHello(packet), ServerMessageSchema, packet))
        this.got.push(kind);
    });
    mine.onClose(() => {
      this.closed = true;
    });
    server.accept(theirs, address === undefined ? {} : { address });
  }

  say(...kinds: MessageInitShape<typeof ClientMessageSchema>["kind"][]): void {
    const messages = kinds.map((kind): ClientMessage => create(ClientMessageSchema, { kind: kind! }));
    this.wire.send(writePacket(jsonCodec, ClientMessageSchema, messages));
  }

  hello(fields: MessageInitShape<typeof HelloSchema> = {}): void {
    const value = { version: 1, codec: "json", link: linkId, slot: "main", generation: 1, ...fields };
    this.say({ case: "hello", value: create(HelloSchema, value) });
  }

  /** The kinds of what came. */
  get kinds(): readonly (string | undefined)[] {
    return this.got.map((kind) => kind.case);
  }

  /** The error of the wire's end. */
  get refusal(): ConnectError | undefined {
    const end = this.got.find((kind) => kind.case === "end");
    return end?.case === "end" && end.value.error !== undefined ? fromLinkError(end.value.error) : undefined;
  }
}

let clock: VirtualClock;
let server: Server;
const servers: Server[] = [];

function start(options: ServerOptions = {}, handlers: Parameters<typeof tallyHandlers>[1] = {}): void {
  const store = memoryStore({ clock, random: systemRandom });
  server = createServer({ clock, store, ...options }).implement(
    Tally,
    tallyHandlers({ total: 0n, runs: 0 }, handlers),
  );
  servers.push(server);
}

async function rest(): Promise<void> {
  for (let turns = 0; turns < 10; turns += 1) await clock.settle();
}

async function open(fields: MessageInitShape<typeof HelloSchema> = {}, address?: string): Promise<RawClient> {
  const client = new RawClient(server, address);
  client.hello(fields);
  await rest();
  return client;
}

function callOf(
  method: number,
  id: number,
  fields: MessageInitShape<typeof CallSchema> = {},
): ClientMessage["kind"] {
  const request = payloadOf(jsonCodec, ReadRequestSchema, create(ReadRequestSchema, { text: "x" }));
  return { case: "call", value: create(CallSchema, { id, method, request, ...fields }) };
}

const nameRead = { case: "name" as const, value: { number: 1, name: "test.v1.TallyService.Read" } };

beforeEach(() => {
  clock = virtualClock();
  start();
});

afterEach(async () => {
  for (const each of servers.splice(0)) await each.close({ within: 0 });
  await rest();
  expect(clock.pendingCount).toBe(0);
});

describe("before the welcome", () => {
  it.each<[string, MessageInitShape<typeof ClientMessageSchema>["kind"]]>([
    ["name", nameRead],
    ["call", callOf(1, 1)],
    ["cancel", { case: "cancel", value: { id: 1 } }],
    ["hold", { case: "hold", value: { hold: 1, type: 1 } }],
    ["retry", { case: "retry", value: { hold: 1 } }],
    ["release", { case: "release", value: { hold: 1 } }],
    ["follow", { case: "follow", value: { stream: 1, method: "a.B.C" } }],
    ["unfollow", { case: "unfollow", value: { stream: 1 } }],
    ["reauth", { case: "reauth", value: { token: "x" } }],
    ["keepalive", { case: "keepalive", value: {} }],
  ])("%s ends the wire", async (_, kind) => {
    const client = new RawClient(server);
    client.say(kind);
    client.hello();
    await rest();
    expect(client.refusal?.code).toBe(Code.InvalidArgument);
    expect(client.kinds).toEqual(["end"]);
    expect(client.closed).toBe(true);
  });

  it("nothing may be said behind hello", async () => {
    const client = new RawClient(server);
    const hello = create(HelloSchema, {
      version: 1,
      codec: "json",
      link: linkId,
      slot: "main",
      generation: 1,
    });
    client.say({ case: "hello", value: hello }, callOf(1, 1));
    await rest();
    expect(client.refusal?.code).toBe(Code.InvalidArgument);
  });

  it("nothing may be said while the sign-in is looked at", async () => {
    start({ authenticate: () => new Promise(() => undefined) });
    const client = await open();
    client.say(nameRead);
    await rest();
    expect(client.refusal?.rawMessage).toContain("before the welcome");
    await clock.advance(5_000);
  });

  it("hello must come within 5 s", async () => {
    const client = new RawClient(server);
    await clock.advance(4_999);
    expect(client.closed).toBe(false);
    await clock.advance(1);
    await rest();
    expect(client.refusal?.code).toBe(Code.DeadlineExceeded);
  });

  it("the sign-in must be looked at within 5 s", async () => {
    start({ authenticate: () => new Promise(() => undefined) });
    const client = await open();
    await clock.advance(5_000);
    await rest();
    expect(client.refusal?.code).toBe(Code.Unavailable);
  });

  it.each<[string, MessageInitShape<typeof HelloSchema>, Code]>([
    ["another version", { version: 2 }, Code.Unimplemented],
    ["another codec", { codec: "xml" }, Code.Unimplemented],
    ["a link without an ID", { link: "" }, Code.InvalidArgument],
    ["an ID that can be guessed", { link: "short" }, Code.InvalidArgument],
    ["a slot with a blank", { slot: "a b" }, Code.InvalidArgument],
    ["generation 0", { generation: 0 }, Code.InvalidArgument],
    ["a secret that cannot be one", { anon: "x" }, Code.InvalidArgument],
    ["a session's name that is a book", { session: "x".repeat(129) }, Code.InvalidArgument],
    ["signs by the thousand", { idleMs: 5 }, Code.InvalidArgument],
  ])("%s is refused", async (_, fields, code) => {
    const client = await open(fields);
    expect(client.refusal?.code).toBe(code);
    expect(client.closed).toBe(true);
  });

  it("hostile bytes end the wire", async () => {
    for (const bytes of [[0xff], [], [0x5b], [0xdd, 0xff, 0xff, 0xff, 0xff], [0x5b, 0x7b, 0x7d, 0x5d]]) {
      const client = new RawClient(server);
      client.wire.send(Uint8Array.from(bytes));
      await rest();
      expect(client.refusal?.code, JSON.stringify(bytes)).toBe(Code.InvalidArgument);
    }
  });
});

describe("the greeting", () => {
  it.each([jsonCodec, msgpackCodec])("answers hello in its own codec: $name", async (codec) => {
    for (const [version, answer] of [
      [1, "welcome"],
      [2, "end"],
    ] as const) {
      const [mine, theirs] = memoryPair();
      const got: (string | undefined)[] = [];
      mine.onPacket((packet) => {
        for (const { kind } of readPacket(codec, ServerMessageSchema, packet)) got.push(kind.case);
      });
      server.accept(theirs, {});
      const hello = { version, codec: codec.name, link: linkId, slot: answer, generation: 1 };
      const kind = { case: "hello" as const, value: create(HelloSchema, hello) };
      mine.send(writePacket(codec, ClientMessageSchema, [create(ClientMessageSchema, { kind })]));
      await rest();
      expect(got).toEqual([answer]);
      mine.close();
    }
  });

  it("refuses a wire without hello in the codec that it is known to read", async () => {
    const [mine, theirs] = memoryPair();
    const got: ServerMessage["kind"][] = [];
    mine.onPacket((packet) => {
      for (const { kind } of readPacket(msgpackCodec, ServerMessageSchema, packet)) got.push(kind);
    });
    server.accept(theirs, { codec: msgpackCodec });
    await clock.advance(5_000);
    await rest();
    expect(got.map((kind) => kind.case)).toEqual(["end"]);
  });

  it("answers hello with the server's version, time, idle time and the caller's tag", async () => {
    const client = await open();
    expect(client.got).toMatchObject(
      [
        {
          case: "welcome",
          value: { version: 1, server: "1", nowMs: clock.now(), idleMs: 45_000, caller: /./ },
        },
      ].map(({ value, ...kind }) => ({
        ...kind,
        value: { ...value, caller: expect.stringMatching(value.caller) },
      })),
    );
  });

  it("signs in once, with hello's token, and never by the ones of the request", async () => {
    const asked: unknown[] = [];
    start({
      authenticate: ({ token, via }) => {
        asked.push([token, via]);
        return { by: "ada" };
      },
    });
    const client = await open({ token: "t1" });
    client.say(nameRead, callOf(1, 1), callOf(1, 2));
    await rest();
    expect(client.kinds).toEqual(["welcome", "result", "result"]);
    expect(asked).toEqual([["t1", "wire"]]);
  });

  it("refuses a sign-in that the server refuses", async () => {
    start({
      authenticate: () => {
        throw new Error("who?");
      },
    });
    const client = await open({ token: "bad" });
    expect(client.refusal?.code).toBe(Code.Unauthenticated);
    expect(client.kinds).toEqual(["end"]);
  });

  it("refuses a build that is not served", async () => {
    start({ build: { id: "2.0.0", accepts: ({ major }) => major === 2 } });
    expect((await open({ build: "1.0.0" })).refusal?.code).toBe(Code.FailedPrecondition);
    expect((await open({ build: "2.1.0" })).kinds).toEqual(["welcome"]);
  });

  it("lets no caller have more wires than it may, and gives the place back", async () => {
    start({ limits: { wiresPerCallerMost: 2 } });
    const first = await open({ slot: "a" });
    await open({ slot: "b" });
    expect((await open({ slot: "c" })).refusal?.code).toBe(Code.ResourceExhausted);
    expect((await open({ slot: "c" }, "10.0.0.2")).kinds).toEqual(["welcome"]);
    first.wire.close();
    await rest();
    expect((await open({ slot: "d" })).kinds).toEqual(["welcome"]);
  });

  it("lets no address have more silent wires than it may", async () => {
    start({ limits: { greetingsPerAddressMost: 2 } });
    const [a, b, c] = [
      new RawClient(server, "10.0.0.1"),
      new RawClient(server, "10.0.0.1"),
      new RawClient(server, "10.0.0.1"),
    ];
    await rest();
    expect([a, b, c].map(({ closed }) => closed)).toEqual([false, false, true]);
    expect((await open({}, "10.0.0.2")).kinds).toEqual(["welcome"]);
  });
});

describe("of one slot of a link", () => {
  it("the newer wire stands, and the older one ends", async () => {
    const older = await open({ generation: 1 });
    const newer = await open({ generation: 2 });
    expect(older.refusal?.code).toBe(Code.Aborted);
    expect(older.closed).toBe(true);
    expect(newer.kinds).toEqual(["welcome"]);
  });

  it.each([1, 2])("a wire of generation %i that comes late is sent away", async (generation) => {
    const standing = await open({ generation: 2 });
    const late = await open({ generation });
    expect(late.refusal?.code).toBe(Code.Aborted);
    expect(standing.closed).toBe(false);
  });

  it("other slots and links are left alone", async () => {
    const clients = [
      await open({ generation: 3 }),
      await open({ generation: 1, slot: "streams" }),
      await open({ generation: 1, link: otherId }),
    ];
    expect(clients.map(({ kinds }) => kinds)).toEqual([["welcome"], ["welcome"], ["welcome"]]);
    expect(clients.some(({ closed }) => closed)).toBe(false);
  });

  it("another caller with the same ID pushes out nobody", async () => {
    start({ authenticate: ({ token }) => (token === undefined ? undefined : { by: token }) });
    const ada = await open({ token: "ada", generation: 1 });
    const eve = await open({ token: "eve", generation: 9 });
    expect(eve.kinds).toEqual(["welcome"]);
    expect(ada.closed).toBe(false);
  });
});

describe("an open wire", () => {
  it("refuses an unknown method and a sign-in in a call's headers, and goes on", async () => {
    const client = await open();
    client.say(
      nameRead,
      { case: "name", value: { number: 2, name: "test.v1.TallyService.Nonsense" } },
      callOf(2, 1),
      callOf(1, 2, { headers: [{ name: "Authorization", value: "Bearer x" }] }),
      callOf(1, 3, { headers: [{ name: "cookie", value: "x" }] }),
      callOf(1, 4),
    );
    await rest();
    const results = client.got.flatMap((kind) => (kind.case === "result" ? [kind.value] : []));
    expect(results.map(({ id, outcome }) => [id, outcome.case])).toEqual([
      [1, "error"],
      [2, "error"],
      [3, "error"],
      [4, "reply"],
    ]);
    expect(client.closed).toBe(false);
  });

  it.each<[string, ClientMessage["kind"][]]>([
    ["a number without a name", [callOf(7, 1)]],
    ["a number that is given twice", [nameRead as never, nameRead as never]],
    ["a call's number that came before", [nameRead as never, callOf(1, 2), callOf(1, 2)]],
    ["a second hello", [{ case: "hello", value: create(HelloSchema, { version: 1 }) }]],
  ])("ends for %s", async (_, kinds) => {
    const client = await open();
    client.say(...kinds);
    await rest();
    expect(client.refusal?.code).toBe(Code.InvalidArgument);
    expect(client.closed).toBe(true);
  });

  it.each([
    { callId: "short" },
    { seq: 0 },
    { seq: 1.5 },
    { seq: 3, settled: 3 },
    { firstSent: { case: "agoMs" as const, value: -1 } },
    { firstSent: { case: undefined } },
  ])("refuses a stamp that cannot be: %o", async (fields) => {
    const client = await open();
    const whole = {
      callId: "c".repeat(22),
      seq: 1,
      settled: 0,
      tries: 1,
      firstSent: { case: "agoMs" as const, value: 0 },
    };
    const stamp = create(StampSchema, { ...whole, ...fields });
    client.say(
      { case: "name", value: { number: 1, name: "test.v1.TallyService.Add" } },
      callOf(1, 1, { stamp }),
    );
    await rest();
    expect(client.got.at(-1)).toMatchObject({ case: "result", value: { outcome: { case: "error" } } });
  });

  it("asks for a new sign-in a minute before its end, and ends half a minute after it", async () => {
    start({ authenticate: () => ({ by: "ada", until: clock.now() + 600_000 }) });
    const client = await open({ token: "t" });
    const alive = (): void => client.say({ case: "keepalive", value: {} });
    for (let s = 0; s < 540; s += 20) {
      await clock.advance(20_000);
      alive();
    }
    await rest();
    expect(client.got.find((kind) => kind.case === "reauthWanted")?.value).toMatchObject({
      withinMs: 90_000,
    });
    for (let s = 0; s < 100; s += 20) {
      await clock.advance(20_000);
      alive();
    }
    await rest();
    expect(client.refusal?.code).toBe(Code.Unauthenticated);
    expect(client.closed).toBe(true);
  });

  it("goes on with a new token of the same principal, and ends with one of another", async () => {
    start({
      authenticate: ({ token }) => ({ by: token?.split("-")[0] ?? "?", until: clock.now() + 600_000 }),
    });
    const client = await open({ token: "ada-1" });
    client.say({ case: "reauth", value: { token: "ada-2" } });
    await rest();
    expect(client.closed).toBe(false);
    client.say({ case: "reauth", value: { token: "eve-1" } });
    await rest();
    expect(client.refusal?.code).toBe(Code.Unauthenticated);
    expect(client.closed).toBe(true);
  });

  it("ends at once when the principal is revoked", async () => {
    start({ authenticate: () => ({ by: "ada" }) });
    const client = await open({ token: "t" });
    expect(server.revoke("ada")).toBe(1);
    await rest();
    expect(client.refusal?.code).toBe(Code.Unauthenticated);
    expect(client.closed).toBe(true);
  });

  it("ends by itself between 45 and 55 minutes, and says to come back", async () => {
    const client = await open();
    const minute = async (): Promise<void> => {
      for (let s = 0; s < 60; s += 20) {
        await clock.advance(20_000);
        client.say({ case: "keepalive", value: {} });
      }
      await rest();
    };
    for (let minutes = 0; minutes < 45; minutes += 1) await minute();
    expect(client.closed).toBe(false);
    for (let minutes = 0; minutes < 10; minutes += 1) await minute();
    expect(client.got.at(-1)).toMatchObject({ case: "end", value: { stream: 0, again: true } });
    expect(client.closed).toBe(true);
  });

  it("that the server closes is told first, and what is under way is answered", async () => {
    let finish: () => void = () => undefined;
    start({}, { read: () => new Promise((resolve) => (finish = () => resolve({ text: "late" }))) });
    const busy = await open();
    const idle = await open({ link: otherId });
    busy.say(nameRead, callOf(1, 1));
    await rest();
    const closed = server.close({ within: 20_000 });
    await clock.advance(1_000);
    await rest();
    expect(idle.got.at(-1)).toMatchObject({ case: "end", value: { again: true } });
    expect(idle.closed).toBe(true);
    expect(busy.kinds).toEqual(["welcome", "end"]);
    expect(busy.closed).toBe(false);
    finish();
    await rest();
    expect(busy.kinds).toEqual(["welcome", "end", "result"]);
    expect(busy.closed).toBe(true);
    await clock.advance(1_000);
    await closed;
  });
});
