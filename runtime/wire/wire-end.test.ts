/** One end of a wire against the other, in memory and virtual time. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  CallSchema,
  CancelSchema,
  ClientMessageSchema,
  ResultSchema,
  ServerMessageSchema,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { type VirtualClock, virtualClock } from "../testing/virtual-clock.ts";
import { jsonCodec } from "../codec/json.ts";
import { msgpackCodec } from "../codec/msgpack.ts";
import { ClientEnd, WireEnded } from "./client-end.ts";
import { memoryPair } from "./memory.ts";
import { ServerEnd } from "./server-end.ts";
import type { Wire } from "./wire.ts";
import { unsentBytesMost } from "./wire-end.ts";

const cancel = (id: number) =>
  create(ClientMessageSchema, { kind: { case: "cancel", value: create(CancelSchema, { id }) } });
const result = (id: number) =>
  create(ServerMessageSchema, { kind: { case: "result", value: create(ResultSchema, { id }) } });

describe.each([jsonCodec, msgpackCodec])("an end of a wire in $name", (codec) => {
  let clock: VirtualClock;
  let client: ClientEnd;
  let server: ServerEnd;
  let wires: readonly [Wire, Wire];
  /** Packets in the order in which they were sent. */
  let packets: { from: "client" | "server"; bytes: Uint8Array }[];
  let closes: Record<"client" | "server", (Error | undefined)[]>;

  function connect(times: { clientIdleMs?: number; serverIdleMs?: number } = {}): void {
    const { clientIdleMs = 45_000, serverIdleMs = 45_000 } = times;
    wires = memoryPair();
    const [mine, theirs] = wires;
    client = new ClientEnd({
      wire: noting(mine, "client"),
      codec,
      clock,
      idleMs: clientIdleMs,
      otherIdleMs: serverIdleMs,
    });
    server = new ServerEnd({
      wire: noting(theirs, "server"),
      codec,
      clock,
      idleMs: serverIdleMs,
      otherIdleMs: clientIdleMs,
    });
    for (const [wire, end] of [
      [mine, client],
      [theirs, server],
    ] as const) {
      wire.onPacket((packet) => end.receive(packet));
      wire.onClose((cause) => end.gone(cause));
    }
    client.onClose((cause) => closes.client.push(cause));
    server.onClose((cause) => closes.server.push(cause));
  }

  function noting(wire: Wire, from: "client" | "server"): Wire {
    const send = wire.send.bind(wire);
    wire.send = (bytes) => {
      packets.push({ from, bytes });
      send(bytes);
    };
    return wire;
  }

  /** Packets take a turn to their other end, and so does a close. */
  async function rest(): Promise<void> {
    for (let turns = 0; turns < 8; turns += 1) await clock.settle();
  }

  beforeEach(() => {
    clock = virtualClock();
    packets = [];
    closes = { client: [], server: [] };
    connect();
  });

  afterEach(async () => {
    client.close();
    await rest();
    expect(closes.client).toHaveLength(1);
    expect(closes.server).toHaveLength(1);
    expect(clock.pendingCount).toBe(0);
  });

  it("hands each message to the one who takes its kind, in order", async () => {
    const got: string[] = [];
    server.take({
      cancel: ({ id }) => got.push(`cancel ${id}`),
      unfollow: ({ stream }) => got.push(`unfollow ${stream}`),
    });
    client.send(cancel(1));
    client.send(create(ClientMessageSchema, { kind: { case: "unfollow", value: { stream: 2 } } }));
    client.send(cancel(3));
    await rest();
    expect(got).toEqual(["cancel 1", "unfollow 2", "cancel 3"]);
  });

  it("sends all that one turn says as one packet, what promises say included", async () => {
    server.take({ cancel: () => undefined });
    for (let id = 1; id <= 100; id += 1) {
      void (async () => {
        for (let hop = 0; hop < id % 12; hop += 1) await Promise.resolve();
        client.send(cancel(id));
      })();
    }
    await rest();
    expect(packets).toHaveLength(1);
  });

  it("begins a new packet after 128 messages, so that both ends work at once", async () => {
    let got = 0;
    server.take({ cancel: () => (got += 1) });
    for (let id = 1; id <= 2_500; id += 1) client.send(cancel(id));
    await rest();
    expect(got).toBe(2_500);
    expect(packets).toHaveLength(20);
  });

  it("lets nobody take a kind that is taken", () => {
    server.take({ cancel: () => undefined });
    expect(() => server.take({ cancel: () => undefined })).toThrow(TypeError);
  });

  it.each([
    ["bytes that are no packet", () => wires[0].send(Uint8Array.of(1, 2, 3)), /cannot be read/],
    ["a kind that nobody takes", () => client.send(cancel(1)), /"cancel" is not taken/],
    ["a packet above its limit", () => wires[0].send(new Uint8Array(5 * 1_048_576)), /larger than/],
  ])("ends with an error that says what was wrong: %s", async (_, breach, text) => {
    breach();
    await rest();
    const [cause] = closes.client;
    expect(cause).toBeInstanceOf(WireEnded);
    expect(cause?.message).toMatch(text);
    expect((cause as WireEnded).error?.code).toBe(Code.InvalidArgument);
    expect(closes.server[0]?.message).toMatch(text);
  });

  it("ends for a number that was not named, and hands out nothing after that", async () => {
    const got: number[] = [];
    server.take({
      call: ({ id, method }) => {
        server.nameOf(method);
        got.push(id);
      },
    });
    const call = (id: number, method: number) =>
      create(ClientMessageSchema, {
        kind: { case: "call", value: create(CallSchema, { id, method, request: undefined! }) },
      });
    const method = client.numberOf("board.v1.BoardService.Claim");
    client.send(call(1, method));
    client.send(call(2, 77));
    client.send(call(3, method));
    await rest();
    expect(got).toEqual([1]);
    expect((closes.client[0] as WireEnded).error?.rawMessage).toContain("77");
  });

  it("names a method once", async () => {
    expect(client.numberOf("a.B.C")).toBe(1);
    expect(client.numberOf("a.B.D")).toBe(2);
    expect(client.numberOf("a.B.C")).toBe(1);
    await rest();
    expect(server.nameOf(2)).toBe("a.B.D");
  });

  it("tells nobody what a handler's own failure was", async () => {
    server.take({
      cancel: () => {
        throw new RangeError("a secret");
      },
    });
    client.send(cancel(1));
    await rest();
    expect((closes.client[0] as WireEnded).error).toMatchObject({ code: Code.Internal });
    expect(closes.client[0]?.message).not.toContain("secret");
  });

  it("gives a sign each third of the other end's idle time, and lives on them", async () => {
    client.close();
    await rest();
    closes = { client: [], server: [] };
    connect({ clientIdleMs: 30_000, serverIdleMs: 60_000 });
    await clock.advance(120_000);
    const signs = (from: string) => packets.filter((packet) => packet.from === from).length;
    expect(signs("server")).toBe(12);
    expect(signs("client")).toBe(6);
    expect(closes).toEqual({ client: [], server: [] });
  });

  it("takes an end that is silent for its idle time for dead", async () => {
    wires[1].onPacket(() => undefined);
    const silent = wires[1];
    silent.send = () => undefined;
    await clock.advance(44_999);
    expect(closes.client).toEqual([]);
    await clock.advance(1);
    await rest();
    expect(closes.client[0]).toMatchObject({ code: Code.Unavailable });
  });

  it("judges nobody by the time that the machine slept: one question decides", async () => {
    await clock.sleepLaptop(3_600_000);
    await rest();
    await clock.advance(10_000);
    expect(closes).toEqual({ client: [], server: [] });
  });

  it("gives up an end that does not answer after a sleep, within 5 s", async () => {
    wires[1].send = () => undefined;
    await clock.sleepLaptop(3_600_000);
    await clock.advance(4_999);
    expect(closes.client).toEqual([]);
    await clock.advance(1);
    await rest();
    expect(closes.client[0]).toMatchObject({ code: Code.Unavailable });
  });

  it("asks for a sign and gets it", async () => {
    const alive = client.ask();
    await rest();
    expect(await alive).toBe(true);
  });

  it("is cut when no sign comes", async () => {
    wires[1].send = () => undefined;
    const alive = client.ask(5_000);
    await clock.advance(5_000);
    await rest();
    expect(await alive).toBe(false);
    expect(closes.client[0]).toMatchObject({ code: Code.Unavailable });
  });

  it("cuts an end that does not read, and says before that it is slow", async () => {
    Object.defineProperty(wires[1], "bufferedAmount", { value: unsentBytesMost / 2, configurable: true });
    client.take({ result: () => undefined });
    expect(server.slow).toBe(true);
    server.send(result(1));
    await rest();
    expect(closes.server).toEqual([]);
    Object.defineProperty(wires[1], "bufferedAmount", { value: unsentBytesMost + 1 });
    server.send(result(2));
    await rest();
    expect(closes.server[0]).toMatchObject({ code: Code.ResourceExhausted });
  });

  it("sends what was said before a close", async () => {
    const got: number[] = [];
    client.take({ result: ({ id }) => got.push(id) });
    client.onLeave((afterMs) => got.push(afterMs));
    server.send(result(7));
    server.end({ again: true, afterMs: 250 });
    await rest();
    expect(got).toEqual([7, 250]);
    expect(closes.client).toEqual([undefined]);
  });

  it("tells a refusal with its code and details", async () => {
    server.end({ error: new ConnectError("not you", Code.PermissionDenied) });
    await rest();
    expect((closes.client[0] as WireEnded).error).toMatchObject({
      code: Code.PermissionDenied,
      rawMessage: "not you",
    });
  });

  it("drops what is said after the end", async () => {
    client.close();
    client.send(cancel(1));
    await rest();
    expect(packets).toEqual([]);
    expect(closes).toEqual({ client: [undefined], server: [undefined] });
  });
});
