import { describe, expect, it } from "vitest";
import { defaultLimits } from "../../runtime/base/limits.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { claimOf, ran } from "../../test/store/store-suite.ts";
import { memoryFences } from "./memory-fences.ts";
import { memoryStore, type MemoryStoreOptions } from "./memory-store.ts";
import type { Claim } from "./store.ts";

function setUp(options: MemoryStoreOptions = {}) {
  const clock = virtualClock();
  const store = memoryStore({ clock, random: seededRandom(1), ...options });
  const keep = (id: string, changes: Partial<Claim> = {}, bytes = 1) =>
    store.commit(claimOf(id, { firstSentMs: clock.now(), ...changes }), () => ran(...new Uint8Array(bytes)));
  const find = (id: string, changes: { lane?: string; space?: string } = {}) =>
    store.find({ space: changes.space ?? "by ada", id }, changes.lane);
  const has = async (...ids: string[]) =>
    (await Promise.all(ids.map((id) => find(id)))).map(({ kept }) => kept !== undefined);
  return { clock, store, keep, find, has };
}

describe("a store in memory", () => {
  it("has forgotten all from before its start", async () => {
    const { clock, find } = setUp();
    expect((await find("a")).forgottenBeforeMs).toBe(clock.now());
  });

  it("has another epoch and secret at each start", () => {
    const random = seededRandom(1);
    const [a, b] = [memoryStore({ random }), memoryStore({ random })];
    expect(a.facts.epoch).not.toBe(b.facts.epoch);
    expect(a.facts.secret).not.toEqual(b.facts.secret);
  });

  it("drops a caller's oldest call above its count, and raises that caller's fence past it", async () => {
    const { clock, keep, find, has } = setUp({ callsPerCallerMost: 2 });
    const startMs = clock.now();
    await clock.advance(10);
    for (const id of ["a", "b", "c"]) {
      await keep(id);
      await clock.advance(10);
    }
    expect(await has("a", "b", "c")).toEqual([false, true, true]);
    expect((await find("a")).forgottenBeforeMs).toBe(startMs + 11);
    expect((await find("a", { space: "by ben" })).forgottenBeforeMs).toBe(startMs);
  });

  it("has room for all that one caller may have under way, before any of it is settled", async () => {
    const { keep, has } = setUp();
    const { runningPerCallerMost, waitingPerCallerMost } = defaultLimits;
    const ids = Array.from({ length: runningPerCallerMost + waitingPerCallerMost }, (_, n) => `call ${n}`);
    for (const id of ids) await keep(id);
    expect((await has(...ids)).every((kept) => kept)).toBe(true);
  });

  it("counts a quota over the spaces of one address, and raises the fence of the space that lost a call", async () => {
    const { clock, keep, find } = setUp({ callsPerCallerMost: 1 });
    await clock.advance(10);
    await keep("a", { quota: "address", space: "anon 1" });
    await keep("b", { quota: "address", space: "anon 2" });
    expect((await find("a", { space: "anon 1" })).kept).toBeUndefined();
    expect((await find("a", { space: "anon 1" })).forgottenBeforeMs).toBe(clock.now() + 1);
    expect((await find("a", { space: "anon 2" })).forgottenBeforeMs).toBe(clock.now() - 10);
  });

  it("drops a caller's oldest calls above its bytes, others' not", async () => {
    const { keep, has, find } = setUp({ bytesPerCallerMost: 5_000 });
    await keep("a", {}, 2_000);
    await keep("other", { space: "by ben", quota: "by ben" }, 3_000);
    await keep("b", {}, 3_000);
    expect(await has("a", "b")).toEqual([false, true]);
    expect((await find("other", { space: "by ben" })).kept).toBeDefined();
  });

  it("drops the oldest of all above its bytes in all", async () => {
    const { keep, find, has } = setUp({ bytesMost: 8_000 });
    await keep("other", { space: "by ben", quota: "by ben" }, 3_000);
    await keep("a", {}, 2_000);
    await keep("b", {}, 2_000);
    expect((await find("other", { space: "by ben" })).kept).toBeUndefined();
    expect(await has("a", "b")).toEqual([true, true]);
  });

  it("drops what its client has settled first, and needs no fence for that", async () => {
    const { clock, keep, find, has } = setUp({ callsPerCallerMost: 2 });
    await clock.advance(10);
    const seat = (seq: number) => ({ seat: { lane: "lane1", seq } });
    await keep("old", seat(2));
    await keep("settled", seat(1));
    await keep("new", { ...seat(3), settled: 1 });
    expect(await has("old", "settled", "new")).toEqual([true, false, true]);
    expect((await find("settled", { lane: "lane1" })).watermark).toBe(1);
    expect((await find("old")).forgottenBeforeMs).toBeLessThan(clock.now());
  });

  it("keeps no call that was settled while it ran", async () => {
    const { keep, has } = setUp();
    await keep("new", { seat: { lane: "lane1", seq: 2 }, settled: 1 });
    await keep("late", { seat: { lane: "lane1", seq: 1 } });
    expect(await has("new", "late")).toEqual([true, false]);
  });

  it("drops the longest unused lane above its count, and the fence then stands for it", async () => {
    const { clock, keep, find } = setUp({ lanesMost: 1 });
    await clock.advance(10);
    await keep("a", { seat: { lane: "lane1", seq: 2 }, settled: 1 });
    await clock.advance(10);
    await keep("b", { seat: { lane: "lane2", seq: 2 }, settled: 1 });
    const found = await find("a", { lane: "lane1" });
    expect(found.watermark).toBe(0);
    expect(found.forgottenBeforeMs).toBe(clock.now() - 10 + 1);
  });

  it.each(["callsPerCallerMost", "bytesMost", "keepMs"])("refuses %s of zero or no number", (name) => {
    expect(() => memoryStore({ [name]: 0 })).toThrow(`memoryStore: ${name} is 0, it must be above zero`);
    expect(() => memoryStore({ [name]: Number.NaN })).toThrow(RangeError);
  });
});

describe("the fences in memory", () => {
  it("never fall", () => {
    const fences = memoryFences(100);
    fences.raise("a", 200);
    fences.raise("a", 150);
    fences.raise("b", 50);
    expect([fences.of("a"), fences.of("b")]).toEqual([201, 100]);
  });

  it("are so many at most: the one that was raised longest ago becomes everybody's", () => {
    const fences = memoryFences(100, 2);
    fences.raise("a", 200);
    fences.raise("b", 300);
    fences.raise("a", 400);
    fences.raise("c", 500);
    expect([fences.of("a"), fences.of("b"), fences.of("c"), fences.of("d")]).toEqual([401, 301, 501, 301]);
  });

  it("go when age alone refuses what they refuse", () => {
    const fences = memoryFences(0);
    fences.raise("a", 10);
    fences.raise("b", 20);
    expect(fences.purge(11, 10)).toBe(1);
    expect([fences.of("a"), fences.of("b")]).toEqual([0, 21]);
  });
});
