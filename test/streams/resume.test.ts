import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { HoldfastError } from "../../runtime/base/errors.ts";
import { expectKinds, numbers, streamWorld } from "../support/stream-world.ts";

it("gives what is published while it is open, each once and in order", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance();
  world.server.publish(3);
  await world.clock.advance();
  expect(reader.got).toEqual([1, 2, 3]);
  expectKinds(reader.states, ["idle", "connecting", "open"]);
  expectKinds(world.states, ["idle", "up"]);
  await reader.stream.close();
});

it("opens nothing before its loop asks for the first item", async () => {
  await using world = streamWorld();
  const stream = world.follow();
  await world.clock.advance(60_000);
  expect(world.server.follows.length).toBe(0);
  expect(stream.state.value.kind).toBe("idle");
  await stream.close();
  expect(stream.state.value).toEqual({ kind: "ended", cause: undefined });
});

it("goes on with what was published meanwhile, when it had taken nothing yet", async () => {
  await using world = streamWorld();
  world.server.publish(5);
  const reader = world.read();
  await world.clock.advance();
  expect(world.server.follows[0]?.follow.after).toBeUndefined();
  world.server.cutAll();
  world.server.publish(3);
  await world.clock.advance();
  expect(reader.got).toEqual([6, 7, 8]);
  expect(world.server.follows[1]?.follow.after).toMatchObject({ epoch: "epoch-1", seq: 5 });
  expectKinds(reader.states, ["idle", "connecting", "open"]);
  await reader.stream.close();
});

it("asks for what follows the last item that the program took, and gives none of the others twice", async () => {
  await using world = streamWorld();
  const stream = world.follow();
  const items = stream[Symbol.asyncIterator]();
  const first = items.next();
  await world.clock.advance();
  world.server.publish(5);
  expect((await first).value?.number).toBe(1n);
  await world.clock.advance();
  world.server.cutAll();
  world.server.publish(2);
  await world.clock.advance();
  expect(world.server.follows[1]?.follow.after?.seq).toBe(1);
  const rest: unknown[] = [];
  for (let at = 0; at < 6; at += 1) rest.push(Number((await items.next()).value?.number));
  expect(rest).toEqual(numbers(7, 2));
  await stream.close();
});

it("comes back at once after a normal end of the server, and shows nothing of it", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance(5_000);
  const before = world.clock.monotonic();
  world.server.follows[0]?.say({ case: "end", value: { stream: 1, again: true } });
  world.server.follows[0]?.end();
  world.server.publish(2);
  await world.clock.advance();
  expect(reader.got).toEqual([1, 2]);
  expect(world.clock.monotonic()).toBe(before);
  expectKinds(reader.states, ["idle", "connecting", "open"]);
  expectKinds(world.states, ["idle", "up"]);
  expect(world.server.follows.map(({ hello }) => hello.generation)).toEqual([1, 2]);
  await reader.stream.close();
});

it("comes back after the time that the server's end names", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance(5_000);
  world.server.follows[0]?.say({ case: "end", value: { stream: 1, again: true, afterMs: 700 } });
  await world.clock.advance(699);
  expect(world.server.follows.length).toBe(1);
  await world.clock.advance(1);
  expect(world.server.follows.length).toBe(2);
  expectKinds(reader.states, ["idle", "connecting", "open"]);
  await reader.stream.close();
});

it("ends its loop when the data has ended, and leaves nothing", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance();
  world.server.publish(2);
  world.server.follows[0]?.say({ case: "end", value: { stream: 1 } });
  await world.clock.advance();
  expect(reader.got).toEqual([1, 2]);
  expect(reader.end).toBe("done");
  expect(reader.stream.state.value).toEqual({ kind: "ended", cause: undefined });
  expect([world.server.openCount, world.server.clientCount, world.clock.pendingCount]).toEqual([0, 0, 0]);
});

it("throws a refusal once, in the server's words", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance();
  world.server.publish();
  world.server.follows[0]?.say({
    case: "end",
    value: { stream: 1, error: { code: "permission_denied", message: "not yours" } },
  });
  await world.clock.advance();
  expect(reader.got).toEqual([1]);
  expect(reader.end).toBeInstanceOf(HoldfastError);
  expect(reader.end).toMatchObject({
    code: Code.PermissionDenied,
    rawMessage: "not yours",
    outcome: "refused",
  });
  expectKinds(world.states, ["idle", "up"]);
  expect(world.server.follows.length).toBe(1);
});

it("a cut is made good unseen; only when that connect fails it is a fault, and the waits grow", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance(5_000);
  world.server.meet("refuse");
  world.server.cutAll();
  await world.clock.advance();
  expectKinds(reader.states, ["idle", "connecting", "open", "down"]);
  expectKinds(world.states, ["idle", "up", "down"]);
  expect(reader.stream.state.value).toMatchObject({ cause: { message: "scripted: refused" } });
  await world.clock.advance(60_000);
  world.server.publish(4);
  world.server.meet("serve");
  await world.clock.advance(6_000);
  expect(reader.got).toEqual([1, 2, 3, 4]);
  expect(reader.stream.state.value.kind).toBe("open");
  expect(world.link.state.value.kind).toBe("up");
  await reader.stream.close();
});

it("a server that opens streams and drops them at once meets waits that grow", async () => {
  await using world = streamWorld();
  world.server.serve = (seen) => {
    seen.say({ case: "ready", value: { stream: 1, at: { epoch: "e", seq: 0 } } });
    seen.cut();
  };
  const reader = world.read();
  await world.clock.advance(60_000);
  // About one each 2.5 to 5 s after the first few.
  expect(world.server.follows.length).toBeGreaterThan(10);
  expect(world.server.follows.length).toBeLessThan(30);
  await reader.stream.close();
});

it("a stream that the server cannot open now is tried again by its hint, and the link shows it", async () => {
  await using world = streamWorld();
  world.server.meet(new ConnectError("busy", Code.Unavailable), "serve");
  const reader = world.read();
  await world.clock.advance();
  expect(world.link.state.value).toMatchObject({ kind: "down" });
  await world.clock.advance(1_000);
  world.server.publish();
  await world.clock.advance();
  expect(reader.got).toEqual([1]);
  await reader.stream.close();
});

it("a connection that says nothing for 45 s is shown as down and replaced at once, and nothing is missed", async () => {
  await using world = streamWorld();
  const reader = world.read();
  await world.clock.advance();
  world.server.publish(2);
  await world.clock.advance(10_000);
  world.server.silent = true;
  world.server.publish(3);
  await world.clock.advance(34_999);
  world.server.silent = false; // the old connection stays dead: its packets were lost
  world.server.signs = false;
  expect(world.link.state.value.kind).toBe("up");
  expect(world.server.follows.length).toBe(1);
  await world.clock.advance(1);
  expect(reader.got).toEqual([1, 2, 3, 4, 5]);
  expect(world.server.follows[1]?.at).toBe(45_000);
  expectKinds(reader.states, ["idle", "connecting", "open", "down", "down", "open"]);
  expectKinds(world.states, ["idle", "up", "down", "up"]);
  await reader.stream.close();
});

it("is not judged while its program takes nothing", async () => {
  await using world = streamWorld();
  const stream = world.follow();
  const items = stream[Symbol.asyncIterator]();
  const first = items.next();
  await world.clock.advance();
  world.server.publish(2_000);
  await first;
  await world.clock.advance(600_000);
  expect(world.server.follows.length).toBe(1);
  expect(stream.state.value.kind).toBe("open");
  for (let at = 2; at <= 2_000; at += 1) expect((await items.next()).value?.number).toBe(BigInt(at));
  await stream.close();
});
