/** Slow readers, many readers, every route of publishing, and restarts, against the server's real Follow. */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Http2Stream } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toBinary, create } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { PacketSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import { silentLog } from "../../runtime/base/log.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { memoryStore, type Store, type StreamContext } from "../../server/index.ts";
import { sqliteStore } from "../../server/sqlite/index.ts";
import type { TopicFollower } from "../../server/topic/follower.ts";
import { Topics } from "../../server/topic/topics.ts";
import { Tally, type TallyHandlers } from "../gen/test/v1/tally_holdfast.ts";
import { type Harness, harness } from "../support/harness.ts";
import { post } from "../support/raw-calls.ts";
import { startTally, type TallyServer } from "../support/tally-server.ts";
import { followPacket, itemsOf, rawClient, type Said } from "./raw-follow.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A server whose stream follows a durable topic, and whose command `add` publishes in its transaction. */
async function start(
  held: Harness,
  store: Store,
  replaced: Partial<TallyHandlers> = {},
): Promise<TallyServer> {
  const tally: TallyServer = held.own(
    await startTally({
      store,
      handlers: {
        follow: (_request, context: StreamContext) => context.follow(topicOf(tally)),
        add: ({ amount, text }, context) =>
          context.transaction((_tx, publish) => {
            publish(topicOf(tally), { number: amount });
            if (text === "fail") throw new Error("after it published");
            return { total: amount };
          }),
        ...replaced,
      },
    }),
  );
  return tally;
}

const topicOf = ({ server }: TallyServer) => server.topic(Tally.follow, "a", { durable: true });
const placeOf = (said: readonly Said[]): { epoch: string; seq: number } => {
  const found = said.find((one) => one.said === "ready");
  if (found?.said !== "ready" || found.epoch === undefined) return expect.unreachable("ready with a place");
  return { epoch: found.epoch, seq: found.seq ?? 0 };
};

function fileStore(folder: string): () => Store {
  return () => sqliteStore(join(folder, "topics.db"));
}

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-topics-"));
  folders.push(folder);
  return folder;
}

describe("a durable topic over a restart of the server", () => {
  it("keeps epoch and numbers: a client goes on where it was, and gets what a command published meanwhile", async () => {
    await using held = harness();
    const open = fileStore(temporary());
    const first = await start(held, open());
    const client = held.own(rawClient(first.address));
    const follow = client.follow();
    const place = placeOf(await follow.take(2));
    await post(first.address, "Add", { amount: "1" });
    expect(itemsOf(await follow.take(1))).toEqual(["1:1"]);
    await post(first.address, "Add", { amount: "2" });
    await first.server.close({ within: 0 });
    const second = await start(held, open());
    await post(second.address, "Add", { amount: "3" });
    const again = await held
      .own(rawClient(second.address))
      .follow({ after: { ...place, seq: 1 } })
      .take(4);
    expect(placeOf(again)).toEqual({ ...place, seq: 1 });
    expect(itemsOf(again)).toEqual(["2:2", "3:3"]);
  });

  it("in memory begins anew, and says so", async () => {
    await using held = harness();
    const first = await start(held, memoryStore());
    const place = placeOf(await held.own(rawClient(first.address)).follow().take(2));
    await first.server.close({ within: 0 });
    const second = await start(held, memoryStore());
    const said = await held.own(rawClient(second.address)).follow({ after: place }).take(2);
    expect(said[1]).toMatchObject({ said: "ready", restarted: true });
    expect(placeOf(said).epoch).not.toBe(place.epoch);
  });
});

describe.each([
  ["memory", () => memoryStore()],
  ["a file", () => fileStore(temporary())()],
] as const)("every route of publishing, with cuts, on %s (S3)", (_, open) => {
  it("1,000 items and 20 cuts: each once, in order, with the next number", async () => {
    await using held = harness();
    const tally = await start(held, open());
    const random = seededRandom(7);
    let published = 0n;
    const routes: (() => Promise<unknown>)[] = [
      () => topicOf(tally).publish({ number: (published += 1n) }),
      () => post(tally.address, "Add", { amount: `${(published += 1n)}` }),
      () => tally.server.topic(Tally.follow, "a", { durable: true }).publish({ number: (published += 1n) }),
      () => post(tally.address, "Add", { amount: "0", text: "fail" }),
    ];
    const client = held.own(rawClient(tally.address));
    const first = client.follow();
    let after = placeOf(await first.take(2));
    await first[Symbol.asyncDispose]();
    const got: Said[] = [];
    let cuts = 0;
    const publishing = (async () => {
      while (published < 1_000n) {
        const burst: Promise<unknown>[] = [];
        for (let one = 0; one < 25; one += 1) {
          const route = routes[Math.floor(random.fraction() * routes.length)];
          if (route !== undefined) burst.push(route());
        }
        await Promise.all(burst);
      }
    })();
    while (got.length < 1_000) {
      const follow = client.follow({ after, codec: cuts % 2 === 0 ? "json" : "msgpack" });
      const opened = await follow.take(2);
      expect(opened[1]).toMatchObject({ said: "ready", seq: after.seq, restarted: false });
      const until = cuts < 20 ? got.length + 1 + Math.floor(random.fraction() * 50) : 1_000;
      while (got.length < Math.min(until, 1_000)) got.push(...(await follow.take(1)));
      after = { epoch: after.epoch, seq: got.length };
      await follow[Symbol.asyncDispose]();
      cuts += 1;
    }
    await publishing;
    expect(got.slice(0, 1_000).map((one) => (one.said === "item" ? one.seq : one.said))).toEqual(
      Array.from({ length: 1_000 }, (__, index) => index + 1),
    );
    const numbers = got.slice(0, 1_000).map((one) => (one.said === "item" ? one.number : -1n));
    expect(new Set(numbers).size).toBe(1_000);
    expect(numbers).not.toContain(0n);
    expect(cuts).toBeGreaterThanOrEqual(20);
  }, 120_000);
});

describe("a slow reader (S5)", () => {
  it("costs the server next to nothing, ends as lagged, and takes nothing from the others", async () => {
    await using held = harness();
    const tally: TallyServer = held.own(
      await startTally({
        handlers: { follow: (_, context) => context.follow(tally.server.topic(Tally.follow, "a")) },
      }),
    );
    const topic = tally.server.topic(Tally.follow, "a");
    const client = held.own(rawClient(tally.address));
    const others = Array.from({ length: 10 }, () => client.follow({ codec: "msgpack" }));
    const places = await Promise.all(others.map((other) => other.take(2)));
    const slow = stalledFollow(tally.address.port);
    held.own({ [Symbol.asyncDispose]: async () => slow.close() });
    await slow.opened;
    const received = others.map((other) => other.take(40_000));
    for (let burst = 0; burst < 400; burst += 1) {
      for (let one = 0; one < 100; one += 1) topic.publish({ number: 1n });
      await new Promise((resolve) => setImmediate(resolve));
      // The others read as fast as they come: none of them may fall out of its room here.
      if (burst % 4 === 3) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const unsent = slow.bufferedBytes();
    expect(unsent).toBeLessThan(200_000);
    for (const items of await Promise.all(received)) {
      expect(items.every((one) => one.said === "item")).toBe(true);
      expect(items).toHaveLength(40_000);
    }
    expect(await slow.resume()).toContain('"lagged":true');
    const again = await client.follow({ after: placeOf(places[0] ?? []) }).take(3);
    expect(again[2]).toMatchObject({ said: "lost", count: 40_000 - 1_024 });
  }, 120_000);
});

/** A Follow in JSON over a connection of its own that does not read until it is told to. */
function stalledFollow(port: number): {
  readonly opened: Promise<unknown>;
  bufferedBytes(): number;
  /** Reads to the end. */
  resume(): Promise<string>;
  close(): void;
} {
  const session = connect(`http://127.0.0.1:${port}`);
  const stream: Http2Stream & NodeJS.ReadWriteStream = session.request({
    ":method": "POST",
    ":path": "/holdfast.link.v1.LinkService/Follow",
    "content-type": "application/connect+proto",
  });
  stream.end(encodeEnvelope(0, toBinary(PacketSchema, create(PacketSchema, { data: followPacket() }))));
  let text = "";
  let bytes = 0;
  const opened = new Promise((resolve) => {
    stream.once("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      bytes += chunk.length;
      stream.pause();
      resolve(undefined);
    });
  });
  return {
    opened,
    bufferedBytes: () => bytes + stream.readableLength,
    resume: () =>
      new Promise((resolve) => {
        stream.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
        stream.on("end", () => resolve(text));
        stream.resume();
      }),
    close: () => session.destroy(),
  };
}

it("10,000 followers of one topic cost a publisher no more than one wake each, and no copy of an item", async () => {
  const clock = { now: () => 0, monotonic: () => 0, timer: () => ({ cancel: () => undefined }) };
  const topics = new Topics({ store: memoryStore(), clock, random: seededRandom(1), log: silentLog });
  const topic = topics.topic(Tally.follow, "a", false);
  let wakes = 0;
  const followers = Array.from({ length: 10_000 }, () => topic.follow(undefined, 0) as TopicFollower);
  for (const follower of followers) follower.wait(() => (wakes += 1));
  for (let item = 0; item < 200; item += 1) void topic.publish({ number: 1n });
  expect(wakes).toBe(0);
  await new Promise((resolve) => setImmediate(resolve));
  expect(wakes).toBe(10_000);
  const batches = followers.map((follower) => follower.takeBatch());
  expect(new Set(batches).size).toBe(1);
});
