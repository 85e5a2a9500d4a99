/** A call whose entry another process sends: what it says of itself at its end is true all the same. */
import { create, toBinary } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { expect, it, onTestFinished } from "vitest";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { positionOf } from "../support/call-world.ts";
import { early, late, none, outboxWorld, type OutboxWorld, withoutLock } from "./outbox-world.ts";
import { jsonCodec } from "../../runtime/codec/json.ts";
import { memoryOutbox } from "../../runtime/outbox/memory-outbox.ts";
import type { OutboxStore } from "../../runtime/outbox/outbox-store.ts";
import { after, fault, hang } from "../support/scripted-http.ts";
import { sleep } from "../../runtime/base/clock.ts";

/** Entries of two processes, in the order a1, b1, a2; the first process has the lock and sends them all. */
async function twoProcesses(world: OutboxWorld) {
  const { clock, http, answers } = world;
  const a = world.process();
  const b = world.process();
  http.next(after(1_000, answers.ok()), after(1_000, answers.ok()), hang());
  const a1 = a.call(early, { text: "a1" });
  await clock.advance(100);
  const leave = new AbortController();
  const b1 = b.call(early, { text: "b1" }, { timeoutMs: 5_000, signal: leave.signal });
  await clock.advance(100);
  const a2 = a.call(early, { text: "a2" }, { timeoutMs: 9_000 });
  for (const call of [a1, b1, a2]) call.catch(() => undefined);
  return { a, b, b1, leave };
}

it("one that another process has sent is not said to have not run", async () => {
  const world = outboxWorld();
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { b, b1 } = await twoProcesses(world);
  const error = await world.failure(b1);
  expect(error).toMatchObject({ reason: "BUDGET_ENDED", outcome: "unknown" });
  expect(error.rawMessage).toContain("link.outbox.settled");
  const settlement = await world.settled(b.outbox.settled(error.callId ?? ""));
  expect(settlement.kind).toBe("reply");
});

it("one that is aborted while another process sends it is not said to have not run", async () => {
  const world = outboxWorld();
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { b1, leave } = await twoProcesses(world);
  await world.clock.advance(1_300); // b1 is under way in the first process
  leave.abort();
  expect(await world.failure(b1)).toMatchObject({ reason: "ABORTED", outcome: "unknown" });
});

it("one whose budget ends does not write over what the process says that sends it", async () => {
  const world = outboxWorld();
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { clock, http, answers } = world;
  const a = world.process();
  const b = world.process();
  http.next(after(1_000, answers.ok()), hang());
  a.call(early, { text: "a1" }).catch(() => undefined);
  await clock.advance(100);
  const b1 = b.call(early, { text: "b1" }, { timeoutMs: 3_000 });
  const error = await world.failure(b1);
  expect(error.outcome).toBe("in-outbox");
  const later = world.process({ outbox: { atStart: false } });
  const [item] = await later.outbox.list();
  expect(item).toMatchObject({ callId: error.callId, mayHaveRun: true });
});

it("one that is aborted, and whose entry cannot be removed, is said to wait, since it will be sent", async () => {
  const inner = memoryOutbox();
  const store = { ...inner, drop: () => Promise.reject(new Error("read-only file system")) };
  const world = outboxWorld(store);
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { http, clock } = world;
  http.otherwise = () => fault("connect-failed");
  http.probe = () => fault("connect-failed");
  const leave = new AbortController();
  const call = world.process().call(early, { text: "a" }, { signal: leave.signal });
  call.catch(() => undefined);
  await clock.advance(1_000);
  leave.abort();
  expect(await world.failure(call)).toMatchObject({ reason: "WAITS_IN_OUTBOX", outcome: "in-outbox" });
});

it("one that another process has sent in vain was first sent when that one sent it", async () => {
  const world = outboxWorld();
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { clock, http, answers } = world;
  const a = world.process();
  const b = world.process();
  http.next(after(1_000, answers.ok()), hang());
  a.call(early, { text: "a1" }).catch(() => undefined);
  await clock.advance(100);
  const b1 = b.call(early, { text: "b1" }, { timeoutMs: 20_000 });
  await clock.advance(1_500); // it is under way in the first process
  const closing = a.close();
  await clock.advance(3_000);
  await closing;
  await world.settled(b1);
  const [, first, second] = http.requests.filter(({ rpc }) => rpc === "Add");
  expect(positionOf(second).id).toBe(positionOf(first).id);
  expect(positionOf(second).firstSent).toEqual(positionOf(first).firstSent);
});

it("one that is aborted in the moment in which another process begins to send it is not said to have not run", async () => {
  const inner = memoryOutbox();
  let slow = false;
  const drop = async (name: string): Promise<void> => {
    if (slow) {
      slow = false;
      await sleep(world.clock, 1_500);
    }
    await inner.drop(name);
  };
  const world = outboxWorld({ ...inner, drop });
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { b1, leave } = await twoProcesses(world);
  await world.clock.advance(500);
  slow = true;
  leave.abort(); // nobody has sent b1 yet; before its entry is gone, the first process does
  const error = await world.failure(b1);
  expect(error).toMatchObject({ reason: "ABORTED", outcome: "unknown" });
  await world.clock.advance(5_000);
});

it("one that another process has sent and taken out, while this one waited for the server, is as old as its entry", async () => {
  const world = outboxWorld(withoutLock(memoryOutbox()));
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { clock, http, answers } = world;
  http.probe = () => fault("connect-failed");
  const later = world.process();
  const madeAtMs = clock.now();
  http.next(fault("connect-failed"), fault("connect-failed"));
  const first = world.process().call(early, { text: "a" });
  first.catch(() => undefined);
  await clock.advance();
  const sending = later.outbox.send(); // believes to have the lock, and waits for the server
  sending.catch(() => undefined);
  await clock.advance(3_000);
  http.probe = () => answers.ok();
  await world.settled(first);
  await clock.advance(60_000);
  const { firstSent } = positionOf(http.requests.filter(({ rpc }) => rpc === "Add").at(-1));
  // The last one knows nothing of the one that has arrived.
  expect(http.requests).toHaveLength(4);
  expect("serverMs" in firstSent ? firstSent.serverMs : Infinity).toBeLessThanOrEqual(madeAtMs);
});

it("one of which a process knows no more than its age asks for the server's time before it is sent", async () => {
  const world = outboxWorld();
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { clock, http } = world;
  const sentAtMs = clock.now();
  http.next(fault("cut"));
  http.probe = () => fault("cut");
  const first = world.process();
  const call = first.call(early, { text: "a" });
  call.catch(() => undefined);
  await clock.advance(1_000);
  const closing = first.close();
  await clock.advance(3_000);
  await closing;
  http.probe = () => world.answers.ok();
  const later = world.process();
  await world.settled(later.outbox.send());
  const [, again] = http.requests.map(positionOf);
  expect(again?.tries).toBe(2);
  expect(again?.firstSent).toEqual({ serverMs: sentAtMs });
});

it("one that another process has sent and taken out does not come back when a try of this one has not left", async () => {
  const world = outboxWorld(withoutLock(memoryOutbox()));
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { clock, http, answers, store } = world;
  const later = world.process({ outbox: { atStart: false } });
  const madeAtMs = clock.now();
  http.next(after(3_000, fault("connect-failed")), answers.ok());
  const first = world.process().call(early, { text: "a" });
  first.catch(() => undefined);
  await clock.advance(100);
  await world.settled(later.outbox.send()); // it believes to have the lock, and arrives
  await clock.advance(60_000);
  await first.catch(() => undefined);
  const [, arrived, ...repeats] = http.requests.filter(({ rpc }) => rpc === "Add").map(positionOf);
  for (const { tries, firstSent } of repeats) {
    expect(tries).toBeGreaterThan(1);
    expect("serverMs" in firstSent ? firstSent.serverMs : Infinity).toBeLessThanOrEqual(madeAtMs);
  }
  expect(arrived?.tries).toBe(2);
  expect((await store.list()).filter(({ name }) => !name.startsWith("ended-"))).toEqual([]);
});

it("one that another process sends stays sent when a try of this one has not left", async () => {
  const world = outboxWorld(withoutLock(memoryOutbox()));
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { clock, http } = world;
  const later = world.process({ outbox: { atStart: false } });
  http.otherwise = () => hang();
  http.next(after(3_000, fault("connect-failed")), hang());
  const first = world.process().call(early, { text: "a" }, { timeoutMs: 4_000 });
  first.catch(() => undefined);
  await clock.advance(100);
  const sending = later.outbox.send();
  sending.catch(() => undefined);
  expect(await world.failure(first)).toMatchObject({ outcome: "in-outbox" });
  const tries = http.requests.filter(({ rpc }) => rpc === "Add").map((seen) => positionOf(seen).tries);
  expect(tries.slice(1)).toEqual([2, 2]);
});

it("one that its own process has taken out unsent is not sent any more by another one that waits for a server", async () => {
  const world = outboxWorld(withoutLock(memoryOutbox()));
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { clock, http, answers } = world;
  http.otherwise = () => fault("connect-failed");
  http.probe = () => fault("connect-failed");
  const later = world.process({ outbox: { atStart: false } });
  const leave = new AbortController();
  const first = world.process().call(early, { text: "a" }, { signal: leave.signal });
  first.catch(() => undefined);
  await clock.advance(100);
  later.outbox.send().catch(() => undefined); // it believes to have the lock
  await clock.advance(100);
  leave.abort();
  expect(await world.failure(first)).toMatchObject({ reason: "ABORTED", outcome: "not-run" });
  const before = http.requests.filter(({ rpc }) => rpc === "Add").length;
  http.otherwise = () => answers.ok();
  http.probe = () => answers.ok();
  await clock.advance(60_000);
  expect(http.requests.filter(({ rpc }) => rpc === "Add")).toHaveLength(before);
});

it("a command without an outbox does not wait for long behind an entry whose server is well again", async () => {
  const world = outboxWorld();
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { clock, http, answers } = world;
  http.otherwise = () => fault("cut", true);
  http.probe = () => answers.ok();
  const link = world.process();
  await world.failure(link.call(early, { text: "a" }, { timeoutMs: 2_000 }));
  await clock.advance(600_000); // nobody waits: it is tried ever more seldom
  http.otherwise = () => answers.ok();
  const calledAt = clock.monotonic();
  await world.settled(link.call(none, {}, { timeoutMs: 60_000 }));
  expect(clock.monotonic() - calledAt).toBeLessThan(10_000);
});

it("a later process tells the very first sending that the tries before it have told", async () => {
  const world = outboxWorld(withoutLock(memoryOutbox()));
  onTestFinished(() => world[Symbol.asyncDispose]());
  const { clock, http, answers } = world;
  // The first try tells its age alone. By the second one the link has learned the server's time.
  http.next(fault("cut"), hang());
  const a = world.process();
  a.call(early, { text: "a" }).catch(() => undefined);
  await clock.advance(5_000);
  const [, second] = http.requests;
  expect(positionOf(second).firstSent).toHaveProperty("serverMs");
  // This process knows of that time what is in the store, and a clock that was set would lead it elsewhere.
  clock.jumpWall(-700);
  http.otherwise = () => answers.ok();
  await world.settled(world.process().outbox.send());
  expect(positionOf(http.requests.at(-1)).firstSent).toEqual(positionOf(second).firstSent);
});

it("an entry that a process which stood still has brought back is as old as it was", async () => {
  const inner = withoutLock(memoryOutbox());
  let putCount = 0;
  let goOn = (): void => undefined;
  const stoodStill = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  // The third write of the first process takes back what the second has said: that it is being sent.
  const put: OutboxStore["put"] = async (name, bytes) => {
    putCount += 1;
    if (putCount === 3) await stoodStill;
    await inner.put(name, bytes);
  };
  await using world = outboxWorld({ ...inner, put });
  const { clock, http } = world;
  const a = world.process();
  await world.settled(a.call(none, {})); // the server's time is known
  http.next(fault("refused-stream", false));
  a.call(early, { text: "a" }, { timeoutMs: 60_000 }).catch(() => undefined);
  await clock.advance(1_000);
  const first = http.requests.at(-1);
  await world.settled(world.process().outbox.send());
  await clock.advance(10_000);
  const before = http.requests.length;
  goOn();
  await clock.advance(30_000);
  const later = http.requests.slice(before);
  expect(later).not.toEqual([]);
  for (const each of later) expect(positionOf(each).firstSent).toEqual(positionOf(first).firstSent);
});

it("what a newer program has put in is sent as it is, in the binary form where this one's schema does not know it all", async () => {
  await using world = outboxWorld();
  const link = world.process({ format: "json", json: jsonCodec });
  const newer = create(Tally.add.method.input, { amount: 8n });
  newer.$unknown = [{ no: 99, wireType: WireType.Varint, data: new Uint8Array([5]) }];
  world.http.otherwise = () => fault("connect-refused", false);
  world.http.probe = () => fault("connect-refused", false);
  expect(await world.failure(link.call(late, newer))).toMatchObject({ outcome: "in-outbox" });
  const before = world.http.requests.length;
  world.http.otherwise = () => world.answers.ok();
  world.http.probe = () => world.answers.ok();
  await world.settled(link.outbox.send());
  const [sent] = world.http.requests.slice(before);
  expect(sent?.header.get("content-type")).toBe("application/proto");
  expect(new Uint8Array(sent?.body ?? [])).toEqual(toBinary(Tally.add.method.input, newer));
});
