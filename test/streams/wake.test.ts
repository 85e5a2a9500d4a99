import { expect, it } from "vitest";
import { streamWorld } from "../support/stream-world.ts";

it("a sign that the network is back ends the wait, with no failures left from before", async () => {
  await using world = streamWorld();
  world.server.meet("refuse");
  const reader = world.read();
  await world.clock.advance(120_000);
  expect(reader.stream.state.value.kind).toBe("down");
  world.server.meet("serve");
  world.server.wake();
  await world.clock.advance(1_000); // a probe by signs comes at most once a second
  expect(reader.stream.state.value.kind).toBe("open");
  await reader.stream.close();
});

it("a wake asks a quiet connection, and keeps one that lives", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance(10_000);
  world.server.wake();
  await world.clock.advance(30_000);
  expect(world.server.probes).toBe(1);
  expect(world.server.follows.length).toBe(1);
  await reader.stream.close();
});

it("a wake replaces a connection that gives no sign within 5 s", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance(10_000);
  world.server.silent = true;
  world.server.publish(2);
  world.server.wake();
  world.server.signs = false;
  await world.clock.advance(4_999);
  world.server.silent = false; // the old connection stays dead
  expect(world.server.follows.length).toBe(1);
  await world.clock.advance(1);
  expect(world.server.follows.length).toBe(2);
  expect(reader.got).toEqual([1, 2]);
  expect(world.link.state.value.kind).toBe("up");
  await reader.stream.close();
});

it("a night's sleep costs one probe, and the stream goes on where it was", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance(10_000);
  world.server.silent = true;
  world.server.publish(3);
  await world.clock.sleepLaptop(7_200_000);
  await world.clock.advance(4_999);
  world.server.silent = false;
  await world.clock.advance(1);
  expect(reader.got).toEqual([1, 2, 3]);
  expect(world.server.follows.length).toBe(2);
  await reader.stream.close();
});

it("a page in the background keeps its stream while signs arrive", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance(600_000);
  expect(world.server.follows.length).toBe(1);
  expect(world.server.probes).toBe(0);
  await reader.stream.close();
});
