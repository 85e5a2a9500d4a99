/** Streams of Node over real sockets, from a real server, through a proxy that breaks things. */
import { expect, it } from "vitest";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import type { StreamContext } from "../../server/index.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { socketWorld, type SocketWorld } from "../support/socket-world.ts";
import { numbers } from "../support/stream-world.ts";

interface TopicWorld extends AsyncDisposable {
  readonly world: SocketWorld;
  publish(from: number, to: number): void;
  /** Resolves when the next handler's signal aborts. */
  readonly ended: () => Promise<void>;
}

async function topicWorld(options: LinkOptions = {}): Promise<TopicWorld> {
  const ends: (() => void)[] = [];
  const follow = (_: unknown, context: StreamContext): ReturnType<StreamContext["follow"]> => {
    context.signal.addEventListener("abort", () => ends.shift()?.());
    return context.follow(world.server.server.topic(Tally.follow, "all"), { backlog: 0 });
  };
  const world: SocketWorld = await socketWorld(options, { handlers: { follow: follow as never } });
  return {
    world,
    publish: (from, to) => {
      for (const number of numbers(to, from))
        world.server.server.topic(Tally.follow, "all").publish({ number: BigInt(number) });
    },
    ended: () => new Promise((resolve) => ends.push(resolve)),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

it("goes on through cuts and half-open connections, each item once, and tells the server that it leaves", async () => {
  await using topics = await topicWorld();
  const { world, publish, ended } = topics;
  const stream = world.client.follow({});
  const items = stream[Symbol.asyncIterator]();
  const take = async (count: number): Promise<readonly number[]> => {
    const got: number[] = [];
    while (got.length < count) got.push(Number((await items.next()).value?.number));
    return got;
  };
  const first = items.next();
  for await (const { kind } of stream.state) if (kind === "open") break;
  publish(1, 10);
  expect([Number((await first).value?.number), ...(await take(9))]).toEqual(numbers(10));
  for (let round = 1; round <= 20; round += 1) {
    world.proxy.cut(round % 2 === 0 ? "reset" : "end");
    publish(round * 10 + 1, round * 10 + 10);
    expect(await take(10)).toEqual(numbers(round * 10 + 10, round * 10 + 1));
  }
  expect([stream.lostCount, stream.restartCount]).toEqual([0, 0]);
  const left = ended();
  await items.return?.();
  await left;
  expect(stream.state.value.kind).toBe("ended");
});

it("a reader that takes nothing slows nobody, and hears what it lost when it goes on", async () => {
  await using topics = await topicWorld();
  const { world, publish } = topics;
  const slow = world.client.follow({});
  const slowItems = slow[Symbol.asyncIterator]();
  const slowFirst = slowItems.next();
  const fast = world.client.follow({});
  const fastItems = fast[Symbol.asyncIterator]();
  const fastFirst = fastItems.next();
  for (const stream of [slow, fast]) for await (const { kind } of stream.state) if (kind === "open") break;
  // Many times what the ring keeps, and what the sockets can hold.
  const total = 60_000;
  let at = 0;
  for (; at < total; at += 200) {
    publish(at + 1, at + 200);
    if (at === 0) expect(Number((await fastFirst).value?.number)).toBe(1);
    for (let count = at === 0 ? 1 : 0; count < 200; count += 1) await fastItems.next();
  }
  expect(fast.lostCount).toBe(0);
  expect(Number((await slowFirst).value?.number)).toBe(1);
  let got = 1;
  let last = 1;
  while (last < total) {
    const number = Number((await slowItems.next()).value?.number);
    expect(number).toBe(got + slow.lostCount + 1);
    got += 1;
    last = number;
  }
  expect(got + slow.lostCount).toBe(total);
  expect(slow.lostCount).toBeGreaterThan(0);
  await slow.close();
  await fast.close();
});

it("of a plain server it reads the bare messages, and starts over after a drop, which it says", async () => {
  await using topics = await topicWorld({ server: "plain" });
  const { world } = topics;
  const topic = world.server.server.topic(Tally.follow, "all");
  const stream = world.client.follow({}, { gaps: "yield" });
  const items = stream[Symbol.asyncIterator]();
  /** Such a server may say nothing before its first item, so that items come until one is seen. */
  const next = async (number: bigint): Promise<bigint | string | undefined> => {
    let over = false;
    const result = items.next().finally(() => {
      over = true;
    });
    const isOver = (): boolean => over;
    while (!isOver()) {
      topic.publish({ number });
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { value } = await result;
    return value !== undefined && "$gap" in value ? value.$gap : value?.number;
  };
  expect(await next(1n)).toBe(1n);
  world.proxy.cut();
  while ((await next(2n)) !== "restarted");
  expect(await next(2n)).toBe(2n);
  expect(stream.restartCount).toBe(1);
  await stream.close();
});
