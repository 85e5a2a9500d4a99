/** LinkService.Follow over a real socket, by a bare client: what design "Streams" promises of the server. */
import { describe, expect, it } from "vitest";
import { Code, ConnectError } from "@connectrpc/connect";
import { streamAgeMs } from "../../runtime/base/constants.ts";
import { writePacket } from "../../runtime/wire/packet.ts";
import { jsonCodec } from "../../runtime/codec/json.ts";
import { ClientMessageSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { memoryStore, type ServerOptions, type StreamContext } from "../../server/index.ts";
import { Tally, type TallyHandlers } from "../gen/test/v1/tally_holdfast.ts";
import { post } from "../support/raw-calls.ts";
import { type Harness, harness } from "../support/harness.ts";
import { startTally, type TallyServer } from "../support/tally-server.ts";
import { followPacket, itemsOf, rawClient, type RawClient, type Said } from "./raw-follow.ts";

type Follow = (
  context: StreamContext,
  tally: TallyServer,
  count: bigint,
) => ReturnType<TallyHandlers["follow"]>;

interface World {
  readonly held: Harness;
  readonly tally: TallyServer;
  readonly client: RawClient;
  publish(...numbers: bigint[]): void;
}

const ofTopic: Follow = (context, tally, count) =>
  context.follow(tally.server.topic(Tally.follow, "a"), { backlog: Number(count) });

/** A server whose stream follows one topic unless a test says otherwise, and a client of it. */
async function withWorld(
  use: (world: World) => Promise<void>,
  follow: Follow = ofTopic,
  options: ServerOptions = {},
): Promise<void> {
  const held = harness();
  try {
    const tally: TallyServer = held.own(
      await startTally({
        ...options,
        handlers: { follow: ({ count }, context) => follow(context, tally, count) },
      }),
    );
    const topic = tally.server.topic(Tally.follow, "a");
    const publish = (...numbers: bigint[]): void => {
      for (const number of numbers) topic.publish({ number });
    };
    await use({ held, tally, client: held.own(rawClient(tally.address)), publish });
  } finally {
    await held[Symbol.asyncDispose]();
  }
}

const ready = (said: Said | undefined): { epoch: string; seq: number; restarted: boolean } => {
  if (said?.said !== "ready" || said.epoch === undefined || said.seq === undefined)
    return expect.unreachable("ready with a place");
  return { epoch: said.epoch, seq: said.seq, restarted: said.restarted };
};
const end = { said: "end", again: false, afterMs: 0, lagged: false, error: undefined };

describe.each(["json", "msgpack"] as const)("Follow in %s", (codec) => {
  it("says welcome and ready, then each item with its number, those of one turn in one packet", () =>
    withWorld(async ({ client, publish }) => {
      const follow = client.follow({ codec });
      const [welcome, opened] = await follow.take(2);
      expect(welcome).toEqual({ said: "welcome" });
      expect(opened).toEqual({ said: "ready", epoch: expect.any(String), seq: 0, restarted: false });
      publish(7n, 8n, 9n);
      expect(itemsOf(await follow.take(3))).toEqual(["1:7", "2:8", "3:9"]);
      expect(follow.packets.map((packet) => packet.length)).toEqual([2, 3]);
    }));
});

describe("resuming", () => {
  it("from nothing received gives all that was published since (S1)", () =>
    withWorld(async ({ client, publish }) => {
      publish(1n);
      const first = client.follow();
      const { epoch, seq } = ready((await first.take(2))[1]);
      expect(seq).toBe(1);
      await first[Symbol.asyncDispose]();
      publish(2n, 3n, 4n);
      const again = await client.follow({ after: { epoch, seq } }).take(5);
      expect(ready(again[1])).toEqual({ epoch, seq, restarted: false });
      expect(itemsOf(again)).toEqual(["2:2", "3:3", "4:4"]);
    }));

  it("beyond the ring says exactly how many are lost, then goes on", () =>
    withWorld(async ({ client, publish }) => {
      const { epoch } = ready((await client.follow().take(2))[1]);
      publish(...Array.from({ length: 2_000 }, (_, index) => BigInt(index + 1)));
      const said = await client.follow({ after: { epoch, seq: 10 } }).take(3 + 1_024);
      expect(ready(said[1])).toEqual({ epoch, seq: 10, restarted: false });
      expect(said[2]).toEqual({ said: "lost", count: 966, seq: 976 });
      expect(itemsOf(said)).toHaveLength(1_024);
      expect(itemsOf(said)[0]).toBe("977:977");
    }));

  it("at a server that began anew says so, and gives what the new one has", () =>
    withWorld(async ({ client, publish }) => {
      publish(5n, 6n);
      const said = await client.follow({ after: { epoch: "ofAnEarlierLife", seq: 1 } }).take(4);
      expect(ready(said[1])).toMatchObject({ seq: 0, restarted: true });
      expect(itemsOf(said)).toEqual(["1:5", "2:6"]);
    }));

  it("asks the handler anew each time, with the caller of this time", () =>
    withWorld(
      async ({ client }) => {
        const { epoch, seq } = ready((await client.follow({ token: "ada" }).take(2))[1]);
        const other = await client.follow({ token: "eve", after: { epoch, seq } }).rest();
        expect(other).toEqual([{ said: "welcome" }, { ...end, error: "permission_denied: not for eve" }]);
      },
      async (context, tally, count) => {
        await Promise.resolve(); // it may look the caller up
        if (context.caller.by !== "ada")
          throw new ConnectError(`not for ${context.caller.by}`, Code.PermissionDenied);
        return ofTopic(context, tally, count);
      },
      { authenticate: ({ token }) => (token === undefined ? undefined : { by: token }) },
    ));
});

describe("a first-time follower", () => {
  it("gets as much of what is there as the handler says", () =>
    withWorld(async ({ client, publish }) => {
      publish(1n, 2n, 3n);
      expect(itemsOf(await client.follow({ count: 2n }).take(4))).toEqual(["2:2", "3:3"]);
    }));
});

describe("a handler's own items", () => {
  it("without numbers have none, and their end is the end of the data", () =>
    withWorld(
      async ({ client }) => {
        const said = await client.follow({ after: { epoch: "e", seq: 1 } }).rest();
        expect(said).toEqual([
          { said: "welcome" },
          { said: "ready", epoch: undefined, seq: undefined, restarted: true },
          { said: "item", seq: 0, number: 1n },
          { said: "item", seq: 0, number: 2n },
          end,
        ]);
      },
      async function* () {
        yield { number: 1n };
        yield { number: 2n };
      },
    ));

  it("with numbers of their own resume, and may skip", () => {
    const rows = [3, 5, 6, 9];
    const follow: Follow = (context) =>
      context.numbered({
        begin: () => 5,
        oldest: () => 3,
        async *after(seq) {
          for (const row of rows) if (row > seq) yield [row, { number: BigInt(row) }];
        },
      });
    return withWorld(async ({ client }) => {
      const first = await client.follow().rest();
      const { epoch, seq } = ready(first[1]);
      expect(seq).toBe(5);
      expect(first.slice(2)).toEqual([
        { said: "item", seq: 6, number: 6n },
        { said: "lost", count: 0, seq: 8 },
        { said: "item", seq: 9, number: 9n },
        end,
      ]);
      expect(itemsOf(await client.follow({ after: { epoch, seq: 6 } }).rest())).toEqual(["9:9"]);
      const old = await client.follow({ after: { epoch, seq: 1 } }).rest();
      expect(ready(old[1])).toEqual({ epoch, seq: 2, restarted: true });
      expect(itemsOf(old)).toEqual(["3:3", "5:5", "6:6", "9:9"]);
    }, follow);
  });

  it("that do not rise, and a throw, end the stream with an error that hides what was thrown", () =>
    withWorld(
      async ({ client }) => {
        const unordered = await client.follow({ count: 1n }).rest();
        expect(unordered.at(-1)).toMatchObject({
          error: expect.stringContaining("internal: the handler failed"),
        });
        const thrown = await client.follow({ count: 2n }).rest();
        expect(thrown.at(-1)).toMatchObject({ error: "not_found: no thread" });
      },
      async function (context, _tally, count) {
        if (count === 2n) throw new ConnectError("no thread", Code.NotFound);
        return context.numbered({
          async *after() {
            yield [2, { number: 2n }];
            yield [2, { number: 2n }];
          },
        });
      },
    ));
});

describe("a stream ends", () => {
  it("at a drain with a time to come back that differs", () =>
    withWorld(async ({ client, tally }) => {
      const follows = Array.from({ length: 5 }, () => client.follow());
      for (const follow of follows) await follow.take(2);
      const closed = tally.server.close({ within: 5_000 });
      const ends = await Promise.all(follows.map(async (follow) => (await follow.rest()).at(-1)));
      for (const one of ends)
        expect(one).toMatchObject({ said: "end", again: true, lagged: false, error: undefined });
      expect(new Set(ends.map((one) => (one?.said === "end" ? one.afterMs : 0))).size).toBeGreaterThan(1);
      await client[Symbol.asyncDispose]();
      await closed;
    }));

  it("when its caller is revoked, so that the client comes back and is asked anew", () =>
    withWorld(
      async ({ client, tally }) => {
        const follow = client.follow({ token: "ada" });
        await follow.take(2);
        expect(tally.server.revoke("ada")).toBe(1);
        expect((await follow.rest()).at(-1)).toEqual({ ...end, again: true });
      },
      ofTopic,
      { authenticate: () => ({ by: "ada" }) },
    ));

  it("at its age, give or take a tenth; before, a sign comes after a third of the client's idle time", async () => {
    const clock = virtualClock();
    const store = memoryStore({ clock });
    await withWorld(
      async ({ client, held }) => {
        held.watch(clock);
        const follow = client.follow({ idleMs: 45_000 });
        await follow.take(2);
        await clock.advance(14_999);
        const next = follow.next();
        await clock.advance(1);
        expect(await next).toEqual({ said: "keepalive" });
        const rest = follow.rest();
        const state = { ended: false };
        void rest.then(() => (state.ended = true));
        const startMs = clock.monotonic();
        while (!state.ended && clock.monotonic() < 1.2 * streamAgeMs) {
          await clock.advance(15_000);
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
        const lastedMs = clock.monotonic() - startMs;
        const said = await rest;
        expect(said.at(-1)).toEqual({ ...end, again: true });
        expect(said.filter((one) => one.said === "keepalive").length).toBeGreaterThan(100);
        expect(lastedMs).toBeGreaterThan(0.89 * streamAgeMs);
        expect(lastedMs).toBeLessThan(1.11 * streamAgeMs);
      },
      ofTopic,
      { clock, store },
    );
  });
});

describe("what cannot be answered", () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  const hello = JSON.parse(new TextDecoder().decode(followPacket())) as [
    { hello: object },
    { follow: object },
  ];
  const packet = (hello1: object, ...more: object[]): Uint8Array =>
    bytes(JSON.stringify([{ hello: { ...hello[0].hello, ...hello1 } }, ...more]));

  it.each<[string, Uint8Array, string]>([
    ["no packet", bytes("}{"), "invalid_argument"],
    ["nothing", new Uint8Array(), "invalid_argument"],
    ["no hello", writePacket(jsonCodec, ClientMessageSchema, []), "invalid_argument"],
    ["a hello alone", packet({}), "invalid_argument"],
    ["two follows", packet({}, hello[1], hello[1]), "invalid_argument"],
    ["another version", packet({ version: 9 }, hello[1]), "unimplemented"],
    ["an unknown codec", packet({ codec: "xml" }, hello[1]), "unimplemented"],
    ["a stream 0", packet({}, { follow: { ...hello[1].follow, stream: 0 } }), "invalid_argument"],
  ])("%s is told in a packet of JSON, before welcome", (_, sent, code) =>
    withWorld(async ({ client }) => {
      const said = await client.send(sent).rest();
      expect(said).toEqual([{ ...end, error: expect.stringMatching(`^${code}: `) }]);
    }),
  );

  it.each<[string, Parameters<RawClient["follow"]>[0], string]>([
    ["an unknown method", { method: "test.v1.TallyService.None" }, "unimplemented"],
    ["a method that is no stream", { method: "test.v1.TallyService.Add" }, "unimplemented"],
    ["a place below 0", { after: { epoch: "e", seq: -1 } }, "invalid_argument"],
    ["a place that is no number", { after: { epoch: "e", seq: Number.NaN } }, "invalid_argument"],
    ["a place without an epoch", { after: { epoch: "", seq: 1 } }, "invalid_argument"],
    ["an epoch without end", { after: { epoch: "e".repeat(65), seq: 1 } }, "invalid_argument"],
    [
      "a token in the headers",
      { headers: [{ name: "Authorization", value: "Bearer x" }] },
      "invalid_argument",
    ],
    ["a header that is none", { headers: [{ name: "a b", value: "\n" }] }, "invalid_argument"],
  ])("%s is told after welcome", (_, asked, code) =>
    withWorld(async ({ client }) => {
      const said = await client.follow(asked).rest();
      expect(said).toEqual([{ said: "welcome" }, { ...end, error: expect.stringMatching(`^${code}: `) }]);
    }),
  );

  it("more than a request may have is refused by its size, and takes the server nothing", () =>
    withWorld(async ({ client }) => {
      const follow = client.send(new Uint8Array(6 * 1_048_576));
      await expect(follow.rest()).rejects.toMatchObject({ code: Code.ResourceExhausted });
    }));

  it("a request that the method's schema does not fit", () =>
    withWorld(async ({ client }) => {
      const bad = packet({}, { follow: { ...hello[1].follow, request: { count: "many" } } });
      expect((await client.send(bad).rest()).at(-1)).toMatchObject({
        error: expect.stringMatching(/^invalid_argument: follow.request cannot be read/),
      });
    }));
});

describe("at the rpc's own path", () => {
  it("a plain client gets the bare messages", () =>
    withWorld(async ({ tally, publish }) => {
      publish(1n);
      const response = await post(tally.address, "Follow", enveloped('{"count":"1"}'), {
        "content-type": "application/connect+json",
      });
      const reader = response.body?.getReader();
      publish(2n, 3n);
      let text = "";
      while (reader !== undefined && !text.includes('"3"')) {
        const { value, done } = await reader.read();
        if (done) break;
        text += new TextDecoder().decode(value);
      }
      expect(text.match(/\{"number":"\d"\}/g)).toEqual([
        '{"number":"1"}',
        '{"number":"2"}',
        '{"number":"3"}',
      ]);
      await reader?.cancel();
    }));
});

function enveloped(text: string): string {
  return `\0\0\0\0${String.fromCharCode(text.length)}${text}`;
}
