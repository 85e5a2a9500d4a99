import { describe, expect, it } from "vitest";
import { callKeepMs } from "../../runtime/base/constants.ts";
import { claimOf, ran } from "../store/store-suite.ts";
import { databaseOf, folder } from "./support.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe("a caller's quota", () => {
  it.each([
    ["calls", { callsPerCallerMost: 3 }],
    ["bytes", { bytesPerCallerMost: 1_000 }],
  ])("of %s is full until its calls have had their time, and nobody else's", async (_, limits) => {
    await using files = folder();
    const store = files.open(limits);
    const full = async (quota: string) =>
      (await store.find({ space: quota, id: "new" }, undefined, quota)).fullForMs;
    for (const id of ["a", "b", "c"]) {
      expect(await full("by ada")).toBeUndefined();
      await store.commit(claimOf(id), () => ran(1));
    }
    expect(await full("by ada")).toBe(callKeepMs + hourMs);
    expect(await full("by ben")).toBeUndefined();
    await files.clock.advance(callKeepMs + hourMs + 1);
    await store.purge(500);
    expect(await full("by ada")).toBeUndefined();
  });

  it("is not used up by a client that settles what it has got", async () => {
    await using files = folder();
    const store = files.open({ callsPerCallerMost: 3 });
    for (let seq = 1; seq <= 50; seq += 1) {
      const seat = { lane: "lane1", seq };
      await store.commit(claimOf(`call${seq}`, { seat, settled: seq - 1 }), () => ran(1));
      expect((await store.find({ space: "by ada", id: "new" }, "lane1", "by ada")).fullForMs).toBeUndefined();
    }
  });
});

describe("the table of kept calls", () => {
  it("stays as small as a day of calls through a week, and its file with it", async () => {
    await using files = folder();
    const store = files.open();
    const database = databaseOf(store);
    const counts: number[] = [];
    const perHour = 40;
    for (let hour = 0; hour < 7 * 24; hour += 1) {
      // Half of the clients settle, half are plain ones that never do.
      const writes = Array.from({ length: perHour }, (_, index) => {
        const id = `call-${hour}-${index}`;
        const seat = { lane: `lane${hour}`, seq: index + 1 };
        const settling = { seat, settled: index };
        return store.commit(claimOf(id, index % 2 === 0 ? settling : {}), () => ran(1, 2, 3));
      });
      await Promise.all(writes);
      await files.clock.advance(hourMs);
      while ((await store.purge(500)) === 500);
      counts.push((database.prepare("SELECT count(*) AS n FROM holdfast_calls").get() as { n: number }).n);
    }
    const dayOfCalls = (perHour / 2 + 1) * 26;
    expect(Math.max(...counts)).toBeLessThanOrEqual(dayOfCalls);
    expect(database.prepare("SELECT count(*) AS n FROM holdfast_lanes").get()).toEqual({ n: 25 });
    const usage = database.prepare("SELECT sum(call_count) AS n FROM holdfast_usage").get();
    expect(usage).toEqual({ n: counts.at(-1) });
    const { page_count: pageCount } = database.prepare("PRAGMA page_count").get() as { page_count: number };
    expect(pageCount * 4_096).toBeLessThan(2 * 1_048_576);
  });

  it("loses nothing to a wall clock that jumps two days ahead", async () => {
    await using files = folder();
    const store = files.open();
    await store.commit(claimOf("a"), () => ran(1));
    files.clock.jumpWall(2 * dayMs);
    expect(await store.purge(500)).toBe(0);
    await files.clock.advance(12 * hourMs);
    expect(await store.purge(500)).toBe(0);
    await files.clock.advance(callKeepMs);
    expect(await store.purge(500)).toBe(1);
  });

  it("keeps 64-bit numbers and bytes of replies as they were", async () => {
    await using files = folder();
    const store = files.open();
    const reply = Uint8Array.from({ length: 256 }, (_, index) => index);
    await store.commit(claimOf("a"), () => ({ kind: "ran", reply }));
    await store.close();
    const { kept } = await files.open().find({ space: "by ada", id: "a" }, undefined);
    expect(kept?.outcome).toEqual({ kind: "ran", reply });
  });
});
