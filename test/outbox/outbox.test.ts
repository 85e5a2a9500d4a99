import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { outboxCountMost, outboxKeepMs } from "../../runtime/base/constants.ts";
import { memoryOutbox } from "../../runtime/outbox/memory-outbox.ts";
import type { OutboxStore } from "../../runtime/outbox/outbox-store.ts";
import type { Settlement } from "../../runtime/outbox/settlements.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { callWorld, positionOf } from "../support/call-world.ts";
import { after, fault, hang } from "../support/scripted-http.ts";
import { early, late, merging, none, outboxWorld, withoutLock } from "./outbox-world.ts";

/** What a test sees of the requests: the ID and the bytes of each. */
const idsOf = (world: ReturnType<typeof outboxWorld>): readonly string[] =>
  world.http.requests.map((seen) => positionOf(seen).id);

describe("a command without an outbox", () => {
  it("is never put in", async () => {
    await using world = outboxWorld();
    const link = world.process();
    world.http.otherwise = () => fault("cut");
    world.http.probe = () => fault("cut");
    const error = await world.failure(link.call(none, {}));
    expect(error).toMatchObject({ reason: "BUDGET_ENDED", outcome: "unknown" });
    expect(await link.outbox.list()).toEqual([]);
  });

  it("called with a key is a TypeError", async () => {
    await using world = outboxWorld();
    await expect(world.process().call(none, {}, { key: "a" })).rejects.toThrow(TypeError);
  });
});

describe("a link without an outbox", () => {
  it("says so at the first call of a command that needs one", async () => {
    await using world = callWorld();
    await expect(world.link.call(late, {})).rejects.toThrow(/this link has no store/);
    await expect(world.link.call(early, {})).rejects.toThrow(TypeError);
    const plain = world.another({ server: "plain" }, "http://plain.test");
    await expect(plain.link.call(late, {})).rejects.toThrow(/server: "plain"/);
    expect(() => world.link.outbox).toThrow(TypeError);
    expect(world.http.requests).toEqual([]);
  });
});

describe("a LATE command", () => {
  it("is not put in while its budget lasts, and not at all with an answer", async () => {
    await using world = outboxWorld();
    const link = world.process();
    const call = link.call(late, {});
    expect(await link.outbox.list()).toEqual([]);
    await world.settled(call);
    expect(await link.outbox.list()).toEqual([]);
  });

  it("goes in when its budget ends, and is sent later as the same call", async () => {
    await using world = outboxWorld();
    const link = world.process();
    world.http.otherwise = () => fault("cut");
    world.http.probe = () => fault("cut");
    const error = await world.failure(link.call(late, { amount: 3n }));
    expect(error).toMatchObject({ reason: "WAITS_IN_OUTBOX", outcome: "in-outbox", code: Code.Unavailable });
    expect(await link.outbox.list()).toMatchObject([
      { callId: error.callId, method: "test.v1.TallyService/Add", mayHaveRun: true },
    ]);
    const later = link.outbox.settled(error.callId!);
    world.http.otherwise = () => world.answers.ok({ total: 3n });
    world.http.probe = () => world.answers.ok();
    expect(await world.settled(later)).toMatchObject({ kind: "reply", message: { total: 3n } });
    expect(await link.outbox.list()).toEqual([]);
    const positions = world.http.requests.map(positionOf);
    expect(new Set(positions.map(({ id }) => id))).toEqual(new Set([error.callId]));
    expect(new Set(positions.map(({ lane, seq }) => `${lane} ${seq}`)).size).toBe(1);
    expect(new Set(world.http.requests.map(({ body }) => body.toString())).size).toBe(1);
  });

  it.each([
    ["refused", () => ({ code: Code.FailedPrecondition, mark: "refused" }) as const, "refused"],
    ["stopped before the journal", () => ({ code: Code.InvalidArgument, mark: "none" }) as const, "not-run"],
    ["never to be known", () => ({ code: Code.FailedPrecondition, mark: "unknown" }) as const, "unknown"],
  ])("does not go in when it is %s", async (_, answer, outcome) => {
    await using world = outboxWorld();
    const link = world.process();
    const { code, mark } = answer();
    world.http.otherwise = () => world.answers.error(code, { mark });
    expect(await world.failure(link.call(late, {}))).toMatchObject({ code, outcome });
    expect(await link.outbox.list()).toEqual([]);
  });

  it("does not go in when its caller aborts it", async () => {
    await using world = outboxWorld();
    const link = world.process();
    world.http.otherwise = () => hang();
    const aborter = new AbortController();
    const call = link.call(late, {}, { signal: aborter.signal });
    await world.clock.advance(100);
    aborter.abort();
    expect(await world.failure(call)).toMatchObject({ reason: "ABORTED" });
    expect(await link.outbox.list()).toEqual([]);
  });

  it("that the server refuses to sign in is refused, and does not stay", async () => {
    await using world = outboxWorld();
    let asked = 0;
    const link = world.process({ token: () => `token ${(asked += 1)}` });
    world.http.otherwise = (seen) =>
      seen.rpc === "Read" ? world.answers.ok() : world.answers.error(Code.Unauthenticated, { mark: "none" });
    for (const definition of [late, early]) {
      const before = world.http.requests.length;
      const error = await world.failure(link.call(definition, {}));
      expect(error).toMatchObject({ code: Code.Unauthenticated, outcome: "not-run" });
      expect(world.http.requests.length - before).toBe(2);
      await world.settled(link.call(Tally.read, {}));
    }
    expect(await link.outbox.list()).toEqual([]);
  });

  it("goes in when its link closes, and close waits for that", async () => {
    await using world = outboxWorld();
    const link = world.process();
    world.http.otherwise = () => hang();
    const failed = expect(link.call(late, {})).rejects.toMatchObject({ reason: "WAITS_IN_OUTBOX" });
    await world.clock.advance(100);
    await link.close();
    expect(await world.store.list()).toHaveLength(1);
    await failed;
  });
});

describe("an EARLY command", () => {
  it("is stored before its first try, and leaves at its reply", async () => {
    await using world = outboxWorld();
    const link = world.process();
    let stored: number | undefined;
    world.http.otherwise = () => {
      void world.store.list().then((list) => (stored = list.length));
      return world.answers.ok({ total: 1n });
    };
    expect(await world.settled(link.call(early, {}))).toMatchObject({ total: 1n });
    expect(stored).toBe(1);
    expect(await world.store.list()).toEqual([]);
  });

  it("is sent by a later process when its own died with it", async () => {
    await using world = outboxWorld();
    const first = world.process();
    world.http.otherwise = () => hang();
    const failed = expect(first.call(early, { amount: 5n })).rejects.toMatchObject({ outcome: "in-outbox" });
    await world.clock.advance(100);
    const [id] = idsOf(world);
    // A killed process closes nothing: its lock is taken over, and here simply given back.
    await first.close();
    await failed;
    world.http.otherwise = () => world.answers.ok({ total: 5n });
    const settlements: Settlement[] = [];
    const second = world.process();
    second.outbox.onSettled((settlement) => settlements.push(settlement));
    await world.clock.advance(1_000);
    expect(settlements).toMatchObject([{ kind: "reply", callId: id }]);
    const [before, after] = world.http.requests.map(positionOf);
    expect(after).toMatchObject({
      id: before!.id,
      lane: before!.lane,
      seq: before!.seq,
      settled: 0,
      tries: 2,
    });
    expect(world.http.requests[1]?.body).toEqual(world.http.requests[0]?.body);
    expect(await second.outbox.list()).toEqual([]);
  });

  it("goes one after the other, in the order in which they were made", async () => {
    await using world = outboxWorld();
    const link = world.process();
    let underWay = 0;
    let most = 0;
    world.http.otherwise = () => {
      most = Math.max(most, ++underWay);
      world.clock.timer(10, () => (underWay -= 1));
      return { ...world.answers.ok(), afterMs: 10 } as ReturnType<typeof world.answers.ok>;
    };
    const calls = [1n, 2n, 3n].map((amount) => link.call(early, { amount }));
    await world.settled(Promise.all(calls));
    expect(most).toBe(1);
    expect(world.http.requests.map(({ body }) => body[1])).toEqual([1, 2, 3]);
  });

  it("is not first sent before its first byte leaves", async () => {
    await using world = outboxWorld();
    const link = world.process();
    world.http.next(fault("connect-failed", false));
    world.http.probe = () => fault("cut");
    world.http.otherwise = () => world.answers.ok();
    const call = link.call(early, {}, { timeoutMs: 60_000 });
    await world.clock.advance(20_000);
    world.http.probe = () => world.answers.http(404, "text/html", "");
    await world.settled(call);
    expect(positionOf(world.http.requests.at(-1)).firstSent).toEqual({ agoMs: 0 });
  });
});

describe("what waits", () => {
  async function withWaiting(world: ReturnType<typeof outboxWorld>, link = world.process()) {
    world.http.otherwise = () => fault("cut");
    world.http.probe = () => fault("cut");
    const error = await world.failure(link.call(late, { amount: 1n }, { timeoutMs: 1_000 }));
    return { link, callId: error.callId! };
  }

  it("goes before every later command of its account", async () => {
    await using world = outboxWorld();
    const { link, callId } = await withWaiting(world);
    const seen = world.http.requests.length;
    world.http.otherwise = () => world.answers.ok();
    world.http.probe = () => world.answers.ok();
    await world.settled(link.call(none, { amount: 2n }));
    expect(idsOf(world).slice(seen)[0]).toBe(callId);
    expect(idsOf(world).slice(seen)).toHaveLength(2);
  });

  it("makes a later command wait inside its budget, which then goes behind it", async () => {
    await using world = outboxWorld();
    const { link, callId } = await withWaiting(world);
    const behind = await world.failure(link.call(late, { amount: 2n }, { timeoutMs: 5_000 }));
    expect(behind).toMatchObject({ reason: "WAITS_IN_OUTBOX", tries: 0 });
    const ended = await world.failure(link.call(none, {}, { timeoutMs: 5_000 }));
    expect(ended).toMatchObject({ reason: "BUDGET_ENDED", outcome: "not-run" });
    expect((await link.outbox.list()).map((item) => item.callId)).toEqual([callId, behind.callId]);
  });

  it("for a server that is not there holds up nobody, and is not tried over and over", async () => {
    await using world = outboxWorld();
    const link = world.process({}, "http://127.0.0.1:9");
    world.http.otherwise = () => fault("connect-refused", false);
    const first = await world.failure(link.call(late, {}), 10);
    expect(first).toMatchObject({ reason: "WAITS_IN_OUTBOX", cause: { reason: "NO_SERVER" } });
    const next = world.process({}, "http://127.0.0.1:9");
    expect(await world.failure(next.call(late, {}), 10)).toMatchObject({
      reason: "WAITS_IN_OUTBOX",
      tries: 0,
    });
    expect(await world.failure(next.call(early, {}), 10)).toMatchObject({
      reason: "WAITS_IN_OUTBOX",
      tries: 0,
    });
    expect(await world.failure(next.call(none, {}), 10)).toMatchObject({ reason: "NO_SERVER" });
    const seen = world.http.requests.length;
    expect(seen).toBeLessThan(12);
    await world.clock.advance(300_000);
    expect(world.http.requests.length - seen).toBeLessThan(60);
  });

  it("does not hold up queries, which start its sending", async () => {
    await using world = outboxWorld();
    const { link, callId } = await withWaiting(world);
    await link.close();
    world.http.probe = () => world.answers.ok();
    world.http.otherwise = (seen) => (seen.rpc === "Read" ? world.answers.ok() : hang());
    const next = world.process({ outbox: { atStart: false } });
    await world.clock.advance(5_000);
    const seen = world.http.requests.length;
    await world.settled(next.call(Tally.read, {}), 1_000);
    await world.clock.advance(100);
    expect(
      world.http.requests
        .slice(seen)
        .map(({ rpc }) => rpc)
        .sort(),
    ).toEqual(["Add", "Read"]);
    expect(next.outbox.entries.value.map((item) => item.callId)).toEqual([callId]);
  });

  it("is sent when the link is up again, within 30 s and without any call", async () => {
    await using world = outboxWorld();
    const { link } = await withWaiting(world);
    await world.clock.advance(3_600_000);
    world.http.otherwise = () => world.answers.ok();
    world.http.probe = () => world.answers.ok();
    await world.clock.advance(30_000);
    expect(await link.outbox.list()).toEqual([]);
  });

  it("leaves at a refusal, which is reported, and the next one goes on", async () => {
    await using world = outboxWorld();
    const { link, callId } = await withWaiting(world);
    const second = await world.failure(link.call(late, { amount: 2n }, { timeoutMs: 1_000 }));
    world.http.probe = () => world.answers.ok();
    world.http.otherwise = (seen) =>
      positionOf(seen).id === callId
        ? world.answers.error(Code.FailedPrecondition, { mark: "refused", message: "it is closed" })
        : world.answers.ok();
    const settlements: Settlement[] = [];
    link.outbox.onSettled((settlement) => settlements.push(settlement));
    await world.clock.advance(60_000);
    expect(settlements).toMatchObject([
      { kind: "failure", outcome: "refused", callId },
      { kind: "reply", callId: second.callId },
    ]);
    expect(world.warnings.join("\n")).toMatch(/Add has left \(refused\): it is closed/);
  });

  it("pauses at a refused sign-in, lets calls go on, and goes on with a new one", async () => {
    await using world = outboxWorld();
    let token = "old";
    const { link } = await withWaiting(world, world.process({ token: () => token }));
    world.http.probe = () => world.answers.ok();
    world.http.otherwise = (seen) =>
      seen.header.get("authorization") === "Bearer old" && seen.rpc === "Add"
        ? world.answers.error(Code.Unauthenticated, { mark: "none" })
        : world.answers.ok();
    await world.clock.advance(3_600_000);
    expect(await link.outbox.list()).toHaveLength(1);
    await world.settled(link.call(Tally.addAtMostOnce, {}), 1_000);
    token = "new";
    link.signIn();
    await world.clock.advance(1_000);
    expect(await link.outbox.list()).toEqual([]);
  });

  it("leaves when it is too old, with one line that names it", async () => {
    await using world = outboxWorld();
    const { link, callId } = await withWaiting(world);
    const later = link.outbox.settled(callId);
    await world.clock.advance(outboxKeepMs);
    expect(await world.settled(later, 120_000)).toMatchObject({ kind: "failure", outcome: "expired" });
    const lines = world.warnings.filter((line) => line.includes("expired"));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/test\.v1\.TallyService\/Add of 2026-/);
  });

  it("is not thrown away by a wall clock that jumps", async () => {
    await using world = outboxWorld();
    const { link } = await withWaiting(world);
    world.clock.jumpWall(48 * 3_600_000);
    await world.clock.advance(60_000);
    expect(await link.outbox.list()).toHaveLength(1);
  });

  it("of another account is neither listed nor sent", async () => {
    await using world = outboxWorld();
    await withWaiting(world, world.process({ account: "ann" }));
    world.http.otherwise = () => world.answers.ok();
    world.http.probe = () => fault("cut");
    const seen = world.http.requests.length;
    const bob = world.process({ account: "bob" });
    await world.settled(bob.call(late, { amount: 9n }));
    expect(await bob.outbox.list()).toEqual([]);
    expect(world.http.requests.length - seen).toBe(1);
  });

  it("may be dropped by the program, which is told whether it may have run", async () => {
    await using world = outboxWorld();
    const { link, callId } = await withWaiting(world);
    expect(await world.settled(link.outbox.drop(callId))).toBe("unknown");
    expect(await link.outbox.list()).toEqual([]);
    await expect(link.outbox.drop(callId)).rejects.toThrow(RangeError);
    expect(await link.outbox.settled(callId)).toMatchObject({ outcome: "dropped" });
  });

  it("has its limit: beyond it a command fails before anything is sent", async () => {
    await using world = outboxWorld();
    const { link } = await withWaiting(world);
    const [{ name } = { name: "" }] = await world.store.list();
    const bytes = await world.store.read(name);
    for (let at = 1; at < outboxCountMost; at += 1) {
      if (bytes.kind === "whole") await world.store.put(`${9e14 + at}-${"a".repeat(22)}`, bytes.bytes);
    }
    await link.outbox.list();
    const seen = world.http.requests.length;
    for (const definition of [late, early]) {
      expect(await world.failure(link.call(definition, {}))).toMatchObject({
        reason: "OUTBOX_FULL",
        outcome: "not-run",
      });
    }
    expect(world.http.requests.length).toBe(seen);
  });

  it("that cannot be read is set aside and reported, and the rest is sent", async () => {
    await using world = outboxWorld();
    await withWaiting(world);
    await world.store.put(`${"1".padStart(15, "0")}-${"b".repeat(22)}`, new Uint8Array([1, 255, 255]));
    await world.store.put(`${"2".padStart(15, "0")}-${"c".repeat(22)}`, new Uint8Array([77]));
    world.http.otherwise = () => world.answers.ok();
    world.http.probe = () => world.answers.ok();
    const next = world.process();
    await world.clock.advance(60_000);
    expect(await next.outbox.list()).toEqual([]);
    expect(await world.store.list()).toEqual([]);
    const reported = [...next.outbox.setAside.value.map(({ why }) => why), ...world.warnings].join("\n");
    expect(reported).toMatch(/version is 77/);
  });
});

describe("a repeat of what waits", () => {
  async function withWaiting(world: ReturnType<typeof outboxWorld>) {
    const link = world.process();
    world.http.otherwise = () => fault("cut");
    world.http.probe = () => fault("cut");
    const first = await world.failure(link.call(merging, { amount: 1n }, { timeoutMs: 1_000 }));
    return { link, callId: first.callId! };
  }

  it("takes its call ID, and is told so", async () => {
    await using world = outboxWorld();
    const { link, callId } = await withWaiting(world);
    const merged: string[] = [];
    const onMerged = (id: string): void => void merged.push(id);
    const call = link.call(merging, { amount: 1n }, { onMerged });
    await world.clock.advance(100);
    world.http.otherwise = () => world.answers.ok({ total: 1n });
    world.http.probe = () => world.answers.ok();
    expect(await world.settled(call)).toMatchObject({ total: 1n });
    expect(merged).toEqual([callId]);
    expect(new Set(idsOf(world))).toEqual(new Set([callId]));
    expect(await link.outbox.list()).toEqual([]);
  });

  it("that gets the outcome is not the only one who waited for it: listeners hear it too", async () => {
    await using world = outboxWorld();
    const { link, callId } = await withWaiting(world);
    const heard: string[] = [];
    link.outbox.onSettled((settlement) => heard.push(`${settlement.callId} ${settlement.kind}`));
    const call = link.call(merging, { amount: 1n });
    await world.clock.advance(100);
    world.http.otherwise = () => world.answers.ok({ total: 1n });
    world.http.probe = () => world.answers.ok();
    await world.settled(call);
    expect(heard).toEqual([`${callId} reply`]);
  });

  it("that ends before the call that it repeats leaves it in the outbox, and hears how it ended", async () => {
    await using world = outboxWorld();
    const link = world.process();
    const heard: string[] = [];
    link.outbox.onSettled((settlement) => heard.push(`${settlement.callId} ${settlement.kind}`));
    world.http.otherwise = () => fault("cut");
    world.http.probe = () => fault("cut");
    const abort = new AbortController();
    const both = { ...merging, outbox: "early" } as const;
    const call = link.call(both, { amount: 1n }, { signal: abort.signal });
    const first = call.catch((error: unknown) => error);
    await world.clock.advance(100);
    const repeat = await world.failure(link.call(both, { amount: 1n }, { timeoutMs: 1_000 }));
    expect(repeat.reason).toBe("WAITS_IN_OUTBOX");
    abort.abort();
    expect(await world.settled(first)).toMatchObject({ reason: "WAITS_IN_OUTBOX" });
    world.http.otherwise = () => world.answers.ok({ total: 1n });
    world.http.probe = () => world.answers.ok();
    await world.clock.advance(60_000);
    expect(heard).toEqual([`${repeat.callId ?? ""} reply`]);
  });

  it("that ends without an answer waits as the same one", async () => {
    await using world = outboxWorld();
    const { link, callId } = await withWaiting(world);
    const again = await world.failure(link.call(merging, { amount: 1n }, { timeoutMs: 1_000 }));
    expect(again).toMatchObject({ reason: "WAITS_IN_OUTBOX", callId });
    expect(await link.outbox.list()).toHaveLength(1);
  });

  it("with another request, or another key, is another command", async () => {
    await using world = outboxWorld();
    const { link } = await withWaiting(world);
    await world.failure(link.call(merging, { amount: 2n }, { timeoutMs: 1_000 }));
    await world.failure(link.call(merging, { amount: 1n }, { timeoutMs: 1_000, key: "mine" }));
    expect(await link.outbox.list()).toHaveLength(3);
  });

  it("two at once share one call", async () => {
    await using world = outboxWorld();
    const { link, callId } = await withWaiting(world);
    world.http.otherwise = () => world.answers.ok({ total: 1n });
    world.http.probe = () => world.answers.ok();
    const calls = [link.call(merging, { amount: 1n }), link.call(merging, { amount: 1n })];
    expect(await world.settled(Promise.all(calls))).toMatchObject([{ total: 1n }, { total: 1n }]);
    expect(new Set(idsOf(world))).toEqual(new Set([callId]));
  });
});

it("equal commands without merge are two", async () => {
  await using world = outboxWorld();
  const link = world.process();
  world.http.otherwise = () => fault("cut");
  world.http.probe = () => fault("cut");
  await world.failure(link.call(late, { amount: 1n }, { timeoutMs: 1_000 }));
  await world.failure(link.call(late, { amount: 1n }, { timeoutMs: 1_000 }));
  expect(await link.outbox.list()).toHaveLength(2);
});

describe("two processes that share an outbox", () => {
  /** Two processes with a command each send at once; gives how many tries were under way at most. */
  async function mostAtOnce(store: OutboxStore): Promise<number> {
    await using world = outboxWorld(store);
    world.http.otherwise = () => fault("cut");
    world.http.probe = () => fault("cut");
    const both = [world.process(), world.process()];
    const made: string[] = [];
    for (const [at, link] of both.entries()) {
      const error = await world.failure(link.call(late, { amount: BigInt(at) }, { timeoutMs: 1_000 }));
      made.push(error.callId ?? "");
    }
    let underWay = 0;
    let most = 0;
    world.http.probe = () => world.answers.ok();
    world.http.otherwise = () => {
      most = Math.max(most, ++underWay);
      // Longer than the two need to find the server back, one after the other.
      world.clock.timer(8_000, () => (underWay -= 1));
      return after(8_000, world.answers.ok({ total: 1n }));
    };
    const settled = both.map((link, at) => link.outbox.settled(made[at] ?? ""));
    await world.settled(Promise.all(both.map((link) => link.outbox.send())), 120_000);
    await world.clock.advance(60_000);
    for (const end of await Promise.all(settled)) expect(end).toMatchObject({ kind: "reply" });
    for (const link of both) expect(await link.outbox.list()).toEqual([]);
    return most;
  }

  it("never send at the same time, and who made an entry learns its outcome", async () => {
    expect(await mostAtOnce(memoryOutbox())).toBe(1);
  });

  it("would send at the same time without the lock: what the rule above looks at can be seen", async () => {
    expect(await mostAtOnce(withoutLock(memoryOutbox()))).toBe(2);
  });

  it("wait for each other's lock, and a call learns what the other has sent for it", async () => {
    await using world = outboxWorld();
    const first = world.process();
    const lease = await world.store.lock();
    const call = first.call(early, { amount: 1n });
    await world.clock.advance(2_000);
    expect(world.http.requests).toEqual([]);
    await lease?.release();
    await world.settled(call, 1_000);
    expect(world.http.requests).toHaveLength(1);
  });
});
