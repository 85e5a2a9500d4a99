import { Code } from "@connectrpc/connect";
import { expect, it } from "vitest";
import type { Gap } from "../../runtime/base/streams.ts";
import { numbers, type Reader, type StreamWorld, streamWorld } from "../support/stream-world.ts";

/** A reader that took 3 items and was away while `count` more were published to a ring of 5. */
async function away(
  world: StreamWorld,
  options: Parameters<StreamWorld["read"]>[0] = {},
): Promise<Reader<"tell" | "throw" | "yield">> {
  world.server.keep = 5;
  const reader = world.read(options);
  await world.clock.advance();
  world.server.publish(3);
  await world.clock.advance();
  world.server.meet("refuse");
  world.server.cutAll();
  await world.clock.advance();
  return reader;
}

it("items that the ring has lost are told in their place, by number, and the loop goes on", async () => {
  await using world = streamWorld();
  const reader = await away(world);
  world.server.publish(12);
  world.server.meet("serve");
  await world.clock.advance(10_000);
  world.server.publish();
  await world.clock.advance();
  expect(reader.got).toEqual([1, 2, 3, "lost 7", 11, 12, 13, 14, 15, 16]);
  expect([reader.stream.lostCount, reader.stream.restartCount]).toEqual([7, 0]);
  await reader.stream.close();
});

it("a gap that is told once is not told again when the next connection says it again", async () => {
  await using world = streamWorld();
  const reader = await away(world);
  world.server.publish(12);
  world.server.serve = (seen) => {
    seen.say({ case: "ready", value: { stream: 1, at: { epoch: "epoch-1", seq: 3 } } });
    seen.say({ case: "lost", value: { stream: 1, count: 7, seq: 10 } });
    if (world.server.follows.length < 4) seen.cut();
  };
  world.server.meet("serve");
  await world.clock.advance(30_000);
  expect(world.server.follows.slice(1).map(({ follow }) => follow.after?.seq)).toEqual([3, 3, 3]);
  expect(reader.got).toEqual([1, 2, 3, "lost 7"]);
  await reader.stream.close();
});

it("a numbering that began anew is a gap of unknown size", async () => {
  await using world = streamWorld();
  const reader = await away(world);
  world.server.restart();
  world.server.publish(4);
  world.server.meet("serve");
  await world.clock.advance(10_000);
  world.server.publish(2);
  await world.clock.advance();
  expect(reader.got).toEqual([1, 2, 3, "restarted", 5, 6]);
  expect([reader.stream.lostCount, reader.stream.restartCount]).toEqual([0, 1]);
  expect(world.server.follows[1]?.follow.after?.epoch).toBe("epoch-1");
  world.server.cutAll();
  await world.clock.advance();
  expect(world.server.follows[2]?.follow.after).toMatchObject({ epoch: "epoch-2", seq: 6 });
  await reader.stream.close();
});

it("a numbering that went back under its old name is one that began anew", async () => {
  await using world = streamWorld();
  const reader = await away(world);
  world.server.restart();
  world.server.epoch = "epoch-1";
  world.server.serve = (seen) => {
    seen.say(
      { case: "ready", value: { stream: 1, at: { epoch: "epoch-1", seq: 0 } } },
      seen.item(1),
      seen.item(2),
    );
  };
  world.server.meet("serve");
  await world.clock.advance(10_000);
  expect(reader.got).toEqual([1, 2, 3, "restarted", 1, 2]);
  await reader.stream.close();
});

it("a place that lies further on without a word is a gap too", async () => {
  await using world = streamWorld();
  const reader = await away(world);
  world.server.serve = (seen) => {
    seen.say({ case: "ready", value: { stream: 1, at: { epoch: "epoch-1", seq: 9 } } }, seen.item(10));
  };
  world.server.meet("serve");
  await world.clock.advance(10_000);
  expect(reader.got).toEqual([1, 2, 3, "lost 6", 10]);
  await reader.stream.close();
});

it("items that have arrived are given, also where the server no longer has them", async () => {
  await using world = streamWorld();
  world.server.keep = 2;
  const seen: (number | string)[] = [];
  const stream = world.follow({ onGap: (gap) => seen.push(gap.$gap) });
  const items = stream[Symbol.asyncIterator]();
  const first = items.next();
  await world.clock.advance();
  world.server.publish(5);
  seen.push(Number((await first).value?.number));
  await world.clock.advance();
  world.server.cutAll();
  world.server.publish(2);
  await world.clock.advance();
  expect(world.server.follows[1]?.follow.after?.seq).toBe(1);
  for (let at = 0; at < 6; at += 1) seen.push(Number((await items.next()).value?.number));
  expect(seen).toEqual(numbers(7));
  expect(stream.lostCount).toBe(0);
  await stream.close();
});

it("`throw` ends the loop at the gap, after what came before it", async () => {
  await using world = streamWorld();
  const gaps: Gap[] = [];
  const reader = await away(world, { gaps: "throw", onGap: (gap) => gaps.push(gap) });
  world.server.publish(12);
  world.server.meet("serve");
  await world.clock.advance(10_000);
  expect(reader.got).toEqual([1, 2, 3, "lost 7"]);
  expect(reader.end).toMatchObject({ reason: "ITEMS_LOST", code: Code.DataLoss });
  expect(gaps).toEqual([{ $gap: "lost", count: 7 }]);
  expect(world.server.openCount).toBe(0);
});

it("`yield` gives the gap in its place, which its type tells from an item", async () => {
  await using world = streamWorld();
  world.server.keep = 1;
  const stream = world.follow({ gaps: "yield" });
  const got: (bigint | string)[] = [];
  const run = (async () => {
    for await (const one of stream) got.push("$gap" in one ? `${one.$gap} ${one.count}` : one.number);
  })();
  await world.clock.advance();
  world.server.publish(1);
  await world.clock.advance();
  world.server.meet("refuse");
  world.server.cutAll();
  await world.clock.advance();
  world.server.publish(3);
  world.server.meet("serve");
  await world.clock.advance(10_000);
  expect(got).toEqual([1n, "lost 2", 4n]);
  await stream.close();
  await run;
});

it("numbers out of order are a fault, and the stream goes on from the last that it took", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance();
  world.server.publish(2);
  await world.clock.advance();
  const first = world.server.follows[0]!;
  first.say(first.item(4));
  await world.clock.advance();
  world.server.publish(2);
  await world.clock.advance(10_000);
  expect(reader.got).toEqual([1, 2, 3, 4]);
  expect(world.server.follows.length).toBe(2);
  await reader.stream.close();
});

it("numbers that are out of order again at the same place end the loop, never in silence", async () => {
  await using world = streamWorld();
  const reader = world.read();
  world.server.serve = (seen) => {
    const seq = seen.follow.after?.seq ?? 0;
    seen.say({ case: "ready", value: { stream: 1, at: { epoch: "e", seq } } });
    if (seq === 0) seen.say(seen.item(1));
    seen.say(seen.item(3));
  };
  await world.clock.advance(30_000);
  expect(reader.got).toEqual([1]);
  expect(String(reader.end)).toContain("item 3 came after item 1");
});

it("an item before the stream is open is out of order", async () => {
  await using world = streamWorld();
  const reader = world.read();
  world.server.serve = (seen) => seen.say(seen.item(1));
  await world.clock.advance(30_000);
  expect(reader.got).toEqual([]);
  expect(String(reader.end)).toContain("item came before ready");
});
