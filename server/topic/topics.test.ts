import { create } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { jsonCodec } from "../../runtime/codec/json.ts";
import { silentLog } from "../../runtime/base/log.ts";
import type { DurableTopic, Topic } from "../../runtime/base/topics.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { Tally } from "../../test/gen/test/v1/tally_holdfast.ts";
import { type FollowResponse, FollowResponseSchema } from "../../test/gen/test/v1/tally_pb.ts";
import { sqliteStore } from "../sqlite/index.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Store } from "../store/store.ts";
import type { TopicFollower } from "./follower.ts";
import { Publishing } from "./publishing.ts";
import { type DurableName, type MemoryName, topicIdleMs, Topics } from "./topics.ts";

const open: Store[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

function world(kind: "memory" | "sqlite" = "memory", given?: Store) {
  const clock = virtualClock();
  const random = seededRandom(1);
  const store =
    given ??
    (kind === "memory" ? memoryStore({ clock, random }) : sqliteStore(":memory:", { clock, random }));
  open.push(store);
  const topics = new Topics({ store, clock, random, log: silentLog });
  const memory = (key: string) =>
    topics.topic(Tally.follow, key, false) as MemoryName & Topic<typeof FollowResponseSchema>;
  const durable = (key: string) =>
    topics.topic(Tally.follow, key, true) as DurableName & DurableTopic<typeof FollowResponseSchema>;
  return { clock, store, topics, memory, durable };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function take(follower: TopicFollower): string[] | string {
  const taken = follower.takeBatch();
  if (typeof taken === "string") return taken;
  return taken.items.map(({ seq, message }) => `${seq}: ${(message as FollowResponse).number}`);
}

describe("topics", () => {
  it("are one for each method and key, however often they are named", () => {
    const { memory, topics } = world();
    const follower = memory("a").follow(undefined, 0);
    expect(memory("a").publish({ number: 7n })).toBe(1);
    expect(memory("b").publish({ number: 8n })).toBe(1);
    expect(take(follower)).toEqual(["1: 7"]);
    expect(topics.count).toBe(2);
  });

  it("take a message as it is when it is published", () => {
    const { memory } = world();
    const follower = memory("a").follow(undefined, 0);
    const message = create(FollowResponseSchema, { number: 1n });
    memory("a").publish(message);
    message.number = 2n;
    expect(take(follower)).toEqual(["1: 1"]);
  });

  it("refuse what is no stream, no key, no topic of theirs, and an item above 1 MiB", () => {
    const { topics, memory } = world();
    expect(() => topics.topic(Tally.read as never, "a", false)).toThrow(/annotation stream/);
    expect(() => topics.topic(Tally.follow, 7 as never, false)).toThrow(/key is text/);
    expect(() => topics.nameOf(world().memory("a"))).toThrow(/no topic of this server/);
    const large = Tally.add as unknown as typeof Tally.follow;
    const addTopic = topics.topic({ ...large, kind: "stream" }, "x", false) as unknown as Topic;
    expect(() => addTopic.publish({ text: "x".repeat(1_048_577) })).toThrow(/1048576 is the most/);
    expect(() => memory("a").publish({ number: "x" })).toThrow();
  });

  it("refuse one that is durable here and not there", async () => {
    const { memory, durable } = world();
    memory("a").publish({ number: 1n });
    expect(() => durable("a").follow(undefined, 0)).toThrow(/without \{ durable: true \}/);
    await durable("b").follow(undefined, 0);
    expect(() => memory("b").publish({ number: 1n })).toThrow(/with \{ durable: true \}/);
  });

  it("in memory go when nobody has used them for an hour, and come back under another epoch", async () => {
    const { memory, topics, clock } = world();
    const followed = memory("followed").follow(undefined, 0);
    memory("idle").publish({ number: 1n });
    const before = memory("idle").follow(undefined, 0);
    before.close();
    await clock.advance(topicIdleMs / 2);
    memory("used").publish({ number: 1n });
    await clock.advance(topicIdleMs / 2);
    for (let made = 0; made < 4; made += 1) memory(`new ${made}`).publish({ number: 1n });
    expect(topics.count).toBe(6);
    memory("followed").publish({ number: 5n });
    expect(take(followed)).toEqual(["1: 5"]);
    memory("idle").publish({ number: 2n });
    const back = memory("idle").follow(before.at, 0);
    expect([back.restarted, take(back)]).toEqual([true, ["1: 2"]]);
    expect(
      memory("used").follow({ epoch: memory("used").follow(undefined, 0).at.epoch, seq: 0 }, 0).restarted,
    ).toBe(false);
  });
});

describe.each(["memory", "sqlite"] as const)("durable topics on a %s store", (kind) => {
  it("keep numbers, items and epoch over a restart, and give no number twice", async () => {
    const { durable, store } = world(kind);
    const first = await durable("a").follow(undefined, 0);
    expect(await durable("a").publish({ number: 1n })).toBe(1);
    expect(await durable("a").publish({ number: 2n })).toBe(2);
    expect(await durable("b").publish({ number: 9n })).toBe(1);
    expect(take(first)).toEqual(["1: 1", "2: 2"]);
    const next = world(kind, store);
    const again = await next.durable("a").follow({ epoch: first.at.epoch, seq: 1 }, 0);
    expect([again.restarted, again.at, take(again)]).toEqual([
      false,
      { epoch: first.at.epoch, seq: 1 },
      ["2: 2"],
    ]);
    expect(await next.durable("a").publish({ number: 3n })).toBe(3);
    expect(take(again)).toEqual(["3: 3"]);
  });

  it("keep the last items of the method's keep, and say how many are lost", async () => {
    const { durable, store } = world(kind);
    const epoch = (await durable("a").follow(undefined, 0)).at.epoch;
    for (let number = 1n; number <= 1_200n; number += 1n) void durable("a").publish({ number });
    await store.write(() => undefined);
    const follower = await world(kind, store).durable("a").follow({ epoch, seq: 100 }, 0);
    expect(follower.lost).toEqual({ count: 76, seq: 176 });
    expect(take(follower)).toHaveLength(256);
  });

  it("in memory say that an item is lost when its transaction fails at its commit, and may stand", async () => {
    const { memory, topics, store } = world(kind);
    const follower = memory("m").follow(undefined, 0);
    const fails = (at: "callback" | "commit"): Publishing => {
      const publishing = new Publishing(topics);
      publishing.publish(memory("m"), { number: 1n });
      if (at === "commit") publishing.write(undefined);
      publishing.falls();
      return publishing;
    };
    fails("callback");
    fails("commit");
    memory("m").publish({ number: 2n });
    await store.write(() => undefined);
    const taken = follower.takeBatch();
    if (typeof taken === "string") return expect.unreachable(taken);
    const said = taken.messages(jsonCodec, 1).map(({ kind: its }) => [its.case, its.value]);
    expect(said).toMatchObject([
      ["lost", { count: 1, seq: 1 }],
      ["item", { seq: 2 }],
    ]);
  });

  it("show an item of a transaction when it is durable, and never when it is rolled back", async () => {
    const { durable, memory, store, topics } = world(kind);
    const followers = [await durable("a").follow(undefined, 0), memory("m").follow(undefined, 0)] as const;
    const transact = (work: (publishing: Publishing) => void) => {
      const publishing = new Publishing(topics);
      const done = store.write((tx) => {
        work(publishing);
        publishing.write(tx);
      });
      return done.then(
        () => publishing.stands(),
        () => publishing.falls(),
      );
    };
    const both = (publishing: Publishing, number: bigint): void => {
      publishing.publish(durable("a"), { number });
      publishing.publish(memory("m"), { number });
    };
    const done = [
      transact((publishing) => both(publishing, 1n)),
      transact((publishing) => {
        both(publishing, 2n);
        expect(followers.map(take)).toEqual(["nothing", "nothing"]);
        throw new Error("no");
      }),
      transact((publishing) => both(publishing, 3n)),
    ];
    await Promise.all(done);
    await turn();
    expect(followers.map(take)).toEqual([
      ["1: 1", "2: 3"],
      ["1: 1", "2: 3"],
    ]);
    const late = new Publishing(topics);
    late.write(undefined);
    expect(() => late.publish(memory("m"), { number: 1n })).toThrow(/callback had ended/);
  });

  it("are opened while items are published, without a hole and without one twice", async () => {
    const { durable } = world(kind);
    const publish = (number: bigint): Promise<number> => durable("a").publish({ number });
    const before = [publish(1n), publish(2n)];
    const opening = durable("a").follow(undefined, 5);
    const after = [publish(3n), publish(4n)];
    const follower = await opening;
    await Promise.all([...before, ...after]);
    const seen: string[] = [];
    for (let taken = take(follower); typeof taken !== "string"; taken = take(follower)) seen.push(...taken);
    expect(seen).toEqual(["1: 1", "2: 2", "3: 3", "4: 4"].slice(-seen.length));
    expect(seen.length).toBeGreaterThanOrEqual(2);
    expect(follower.at.seq + seen.length).toBe(4);
  });

  it("cost no memory once nobody follows", async () => {
    const { durable, topics } = world(kind);
    for (let key = 0; key < 100; key += 1) {
      await durable(`${key}`).publish({ number: 1n });
      (await durable(`${key}`).follow(undefined, 0)).close();
    }
    expect(topics.count).toBeLessThan(3);
  });
});

it("a durable topic shows items in the order of their numbers, whoever hears of them first", async () => {
  const { durable, topics } = world("sqlite");
  const follower = await durable("a").follow(undefined, 0);
  const state = topics.durable(durable("a"));
  const bytes = Uint8Array.of(8, 1);
  state.stands(2, bytes);
  expect(take(follower)).toBe("nothing");
  state.stands(3, bytes);
  state.stands(1, bytes);
  expect(take(follower)).toEqual(["1: 1", "2: 1", "3: 1"]);
  state.stands(2, bytes);
  expect(take(follower)).toBe("nothing");
});

it("a durable topic asks the store after a transaction that failed in an unknown way", async () => {
  const { durable, topics, store } = world("sqlite");
  const follower = await durable("a").follow(undefined, 0);
  const shelf = await topics.shelf();
  // It stands, and nobody was told.
  await store.write(() => shelf.append(durable("a").name, Uint8Array.of(8, 1), 10));
  topics.durable(durable("a")).doubt();
  expect(await durable("a").publish({ number: 2n })).toBe(2);
  await turn();
  expect(take(follower)).toEqual(["1: 1", "2: 2"]);
});
