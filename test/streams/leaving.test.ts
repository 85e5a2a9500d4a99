import { Code } from "@connectrpc/connect";
import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { streamWorld } from "../support/stream-world.ts";

it("`break`, a throw in the loop and `return` close the connection and give no error", async () => {
  await using world = streamWorld();
  const loops = [
    async () => {
      for await (const item of world.follow()) if (item.number > 0n) break;
    },
    async () => {
      for await (const item of world.follow()) throw new Error(`the program's own ${item.number}`);
    },
    async () => {
      for await (const item of world.follow()) if (item.number > 0n) return;
    },
  ];
  for (const loop of loops) {
    const over = loop().then(
      () => "over",
      (error: unknown) => String(error),
    );
    await world.clock.advance();
    expect(world.server.openCount).toBe(1);
    world.server.publish();
    await world.clock.advance();
    expect(await over).toMatch(/^over$|the program's own/);
    expect([world.server.openCount, world.server.clientCount]).toEqual([0, 0]);
  }
});

it("`await using` and `close` end the loop that reads it", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance();
  await reader.stream[Symbol.asyncDispose]();
  await reader.over;
  expect(reader.end).toBe("done");
  await reader.stream.close();
  expect(world.server.openCount).toBe(0);
});

it("an aborted signal throws once, with the program's reason as its cause, and drops what waits", async () => {
  await using world = streamWorld();
  const abort = new AbortController();
  const items = world.follow({ signal: abort.signal })[Symbol.asyncIterator]();
  const first = items.next();
  await world.clock.advance();
  world.server.publish(3);
  await first;
  await world.clock.advance();
  abort.abort(new Error("enough"));
  await expect(items.next()).rejects.toMatchObject({
    reason: "ABORTED",
    code: Code.Canceled,
    cause: { message: "enough" },
  });
  expect(await items.next()).toEqual({ done: true, value: undefined });
  expect(getEventListeners(abort.signal, "abort").length).toBe(0);
  expect(world.server.openCount).toBe(0);
});

it("a signal that has aborted before opens nothing", async () => {
  await using world = streamWorld();
  const reader = world.read({ signal: AbortSignal.abort() });
  await reader.over;
  expect(reader.end).toMatchObject({ reason: "ABORTED" });
  expect(world.server.follows.length).toBe(0);
});

it("a link that closes ends its streams, also those that wait", async () => {
  await using world = streamWorld();
  const open = world.read();
  await world.clock.advance();
  world.server.meet("refuse");
  const waiting = world.read();
  await world.clock.advance();
  await world.link.close();
  await Promise.all([open.over, waiting.over]);
  for (const reader of [open, waiting]) expect(reader.end).toMatchObject({ reason: "LINK_CLOSED" });
  const late = world.read();
  await late.over;
  expect(late.end).toMatchObject({ reason: "LINK_CLOSED" });
  expect(world.server.wakeCount).toBe(0);
});

it("is read by one loop", async () => {
  await using world = streamWorld();
  const stream = world.follow();
  const items = stream[Symbol.asyncIterator]();
  expect(() => stream[Symbol.asyncIterator]()).toThrow(TypeError);
  await items.return?.();
});

it("gives several reads at once their items in order", async () => {
  await using world = streamWorld();
  const items = world.follow()[Symbol.asyncIterator]();
  const reads = [items.next(), items.next(), items.next()];
  await world.clock.advance();
  world.server.publish(3);
  await world.clock.advance();
  expect((await Promise.all(reads)).map(({ value }) => value?.number)).toEqual([1n, 2n, 3n]);
  await items.return?.();
});

it("500 rounds of leaving in every phase leave no rejection, timer, listener or connection", async () => {
  await using world = streamWorld();
  const random = seededRandom("leaving");
  const signal = new AbortController().signal;
  for (let round = 0; round < 500; round += 1) {
    const abort = new AbortController();
    const reader = world.read({ signal: abort.signal });
    world.server.meet(random.pick(["serve", "serve", "refuse", "hang"] as const), "serve");
    for (let steps = random.int(4); steps > 0; steps -= 1) {
      await world.clock.advance(random.pick([0, 0, 1, 300, 2_000]));
      if (random.chance(0.3)) world.server.publish(random.int(3));
      if (random.chance(0.3)) world.server.cutAll();
      if (random.chance(0.1)) world.server.follows.at(-1)?.say({ case: "end", value: { stream: 1 } });
      if (random.chance(0.1))
        world.server.follows.at(-1)?.say({ case: "end", value: { stream: 1, again: true } });
      if (random.chance(0.1)) world.server.wake();
    }
    if (random.chance(0.5)) abort.abort();
    else void reader.stream.close();
    await reader.over;
    expect(["done", "ABORTED"]).toContain(
      reader.end === "done" ? "done" : (reader.end as { reason: string }).reason,
    );
    await reader.stream.close();
    await world.clock.settle();
    expect([world.server.openCount, world.server.wakeCount]).toEqual([0, 1]);
    // The link's own, from a probe after a fault.
    expect(world.server.clientCount).toBeLessThanOrEqual(1);
  }
  expect(getEventListeners(signal, "abort").length).toBe(0);
  expect(world.harness.unhandled).toEqual([]);
});

it("a stream that is over can be collected while its link lives", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  await using world = streamWorld();
  const refs: WeakRef<object>[] = [];
  const signal = new AbortController().signal;
  for (let round = 0; round < 20; round += 1) {
    const reader = world.read({ signal });
    await world.clock.advance();
    world.server.publish();
    await world.clock.advance();
    if (round % 2 === 0) await reader.stream.close();
    else world.server.follows.at(-1)?.say({ case: "end", value: { stream: 1 } });
    await reader.over;
    refs.push(new WeakRef(reader.stream));
    world.server.follows.splice(0);
  }
  for (let turn = 0; turn < 5; turn += 1) {
    await world.clock.settle();
    collect();
  }
  const held = refs.filter((ref) => ref.deref() !== undefined).length;
  expect(held).toBeLessThanOrEqual(1);
});
