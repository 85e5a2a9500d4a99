/** What a store remembers of its lanes is what the file says, after whatever has happened to either. */
import { describe, expect, it } from "vitest";
import type { SqliteStore } from "../../server/sqlite/sqlite-store.ts";
import { StoreError } from "../../server/store/store.ts";
import { claimOf, ran } from "../store/store-suite.ts";
import { type Database, databaseOf, folder } from "./support.ts";

const keep = (store: SqliteStore, seq: number, settled: number, space = "by ada") =>
  store.commit(claimOf(`call${seq}`, { space, seat: { lane: "lane1", seq }, settled }), () => ran(seq));
const watermarkOf = async (store: SqliteStore, space = "by ada") =>
  (await store.find({ space, id: "other" }, "lane1")).watermark;
const keptIn = (store: SqliteStore): unknown[] => {
  const rows = databaseOf(store).prepare("SELECT seq FROM holdfast_calls ORDER BY seq").all();
  return (rows as { seq: number }[]).map(({ seq }) => seq);
};

describe("a lane", () => {
  it("is settled up to the same number after a new start, whichever of its calls said so", async () => {
    await using files = folder();
    const first = files.open();
    await keep(first, 1, 0);
    await keep(first, 3, 2);
    await keep(first, 4, 1); // late: it was sent before the other
    await first.close();
    const second = files.open();
    expect(await watermarkOf(second)).toBe(2);
    await keep(second, 5, 4);
    expect(keptIn(second)).toEqual([5]);
  });

  it("is settled up to the same number when no call is left that said so", async () => {
    await using files = folder();
    const first = files.open();
    const claim = claimOf("call3", { seat: { lane: "lane1", seq: 3 }, settled: 2 });
    await first.commit(claim, () => ({ kind: "started" }));
    await first.commit(claim, () => undefined);
    await first.close();
    expect(await watermarkOf(files.open())).toBe(2);
  });

  it("drops what it has passed in whatever order its calls end", async () => {
    await using files = folder();
    const store = files.open();
    for (const seq of [5, 2, 4, 1, 3]) await keep(store, seq, 0);
    await keep(store, 6, 3);
    expect(keptIn(store)).toEqual([4, 5, 6]);
    await keep(store, 7, 6);
    expect(keptIn(store)).toEqual([7]);
  });

  it("drops what it has passed when more wait than are remembered", async () => {
    await using files = folder();
    const store = files.open();
    const all = Array.from({ length: 300 }, (_, index) => keep(store, index + 1, 0));
    await Promise.all(all);
    await store.close();
    const again = files.open();
    await keep(again, 301, 299);
    expect(keptIn(again)).toEqual([300, 301]);
    expect(databaseOf(again).prepare("SELECT call_count AS n FROM holdfast_usage").all()).toEqual([{ n: 2 }]);
  });

  it("of one caller is not the lane of the same name of another", async () => {
    await using files = folder();
    const store = files.open();
    for (let seq = 1; seq <= 3; seq += 1) {
      await keep(store, seq, seq - 1);
      await keep(store, seq, 0, "by ben");
    }
    expect([await watermarkOf(store), await watermarkOf(store, "by ben")]).toEqual([2, 0]);
    expect(keptIn(store)).toEqual([1, 2, 3, 3]);
  });

  it("is as it was when the batch was rolled back that moved it", async () => {
    await using files = folder();
    const store = files.open();
    await keep(store, 1, 0);
    const moved = keep(store, 2, 1).catch((error: unknown) => error);
    const bad = store.write((tx) => void (tx as Database).exec("ROLLBACK"));
    await expect(bad).rejects.toThrow("ended the transaction");
    expect(await moved).toBeInstanceOf(StoreError);
    expect(await watermarkOf(store)).toBe(0);
    expect(await keep(store, 2, 1)).toEqual({ kind: "kept" });
    expect(keptIn(store)).toEqual([2]);
  });

  it("goes with its calls, and not before the last of them", async () => {
    await using files = folder();
    const store = files.open();
    await keep(store, 1, 0);
    await files.clock.advance(59_000);
    await keep(store, 2, 0); // the lane's row still tells of the first
    await files.clock.advance(store.facts.keepMs + 3_600_000 - 58_000);
    expect(await store.purge(500)).toBe(1);
    expect(await watermarkOf(store)).toBe(0);
    expect((await store.find({ space: "by ada", id: "call2" }, "lane1")).kept?.seat?.lane).toBe("lane1");
    await files.clock.advance(60_000);
    expect(await store.purge(500)).toBe(2);
  });
});

describe("a key", () => {
  it("that was free when it was looked up is not taken twice in one batch", async () => {
    await using files = folder();
    const store = files.open();
    await store.find({ space: "by ada", id: "a" }, undefined);
    const [first, second] = await Promise.all([
      store.commit(claimOf("a"), () => ran(1)),
      store.commit(claimOf("a"), () => ran(2)),
    ]);
    expect(first).toEqual({ kind: "kept" });
    expect(second).toMatchObject({ kind: "taken", entry: { outcome: ran(1) } });
  });

  it("is looked up anew when its commit was rolled back", async () => {
    await using files = folder();
    const store = files.open();
    await store.find({ space: "by ada", id: "a" }, undefined);
    const lost = store.commit(claimOf("a"), () => ran(1)).catch((error: unknown) => error);
    await store.write((tx) => void (tx as Database).exec("ROLLBACK")).catch(() => undefined);
    await lost;
    expect(await store.commit(claimOf("a"), () => ran(2))).toEqual({ kind: "kept" });
    expect(await store.commit(claimOf("a"), () => ran(3))).toMatchObject({ kind: "taken" });
  });
});
