import { describe, expect, it } from "vitest";
import { StoreError } from "../../server/store/store.ts";
import { claimOf, ran } from "../store/store-suite.ts";
import { type Database, databaseOf, folder } from "./support.ts";

const idsOf = (count: number): string[] => Array.from({ length: count }, (_, index) => `call${index}`);

/** Resolves with the StoreError that a promise rejects with. */
async function storeError(promise: Promise<unknown>): Promise<StoreError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StoreError);
  return error as StoreError;
}

describe("commands that arrive together", () => {
  it("share a commit, up to a number", async () => {
    await using files = folder();
    const store = files.open({ commandsPerCommitMost: 10 });
    const other = files.connect();
    const seen: number[] = [];
    const count = other.prepare("SELECT count(*) AS n FROM holdfast_calls");
    const writes = idsOf(25).map(async (id) => {
      await store.commit(claimOf(id), () => ran(1));
      seen.push((count.get() as { n: number }).n);
    });
    await Promise.all(writes);
    expect(new Set(seen)).toEqual(new Set([10, 20, 25]));
  });

  it("are not told of before their commit", async () => {
    await using files = folder();
    const store = files.open();
    const other = files.connect();
    const kept = other.prepare("SELECT count(*) AS n FROM holdfast_calls WHERE call_id = ?");
    const writes = idsOf(64).map(async (id) => {
      await store.commit(claimOf(id), () => ran(1));
      expect(kept.get(id)).toEqual({ n: 1 });
    });
    await Promise.all(writes);
  });

  it("do not share a fate: what one wrote before it failed is gone, the others stand", async () => {
    await using files = folder();
    const store = files.open();
    databaseOf(store).exec("CREATE TABLE theirs (id TEXT)");
    const writes = idsOf(20).map((id, index) =>
      store.commit(claimOf(id), (tx) => {
        (tx as Database).prepare("INSERT INTO theirs VALUES (?)").run(id);
        if (index % 2 === 1) throw new Error("no");
        return ran(index);
      }),
    );
    await Promise.allSettled(writes);
    expect(databaseOf(store).prepare("SELECT count(*) AS n FROM theirs").get()).toEqual({ n: 10 });
  });

  it("are all faults when a callback ends the transaction itself, and the store goes on", async () => {
    await using files = folder();
    const store = files.open();
    const first = storeError(store.commit(claimOf("a"), () => ran(1)));
    const bad = storeError(
      store.write((tx) => {
        (tx as Database).exec("ROLLBACK");
      }),
    );
    expect((await first).broken).toBe(false);
    expect((await bad).message).toContain("callback ended the transaction");
    expect(await store.commit(claimOf("a"), () => ran(2))).toEqual({ kind: "kept" });
  });
});

describe("another program that holds the write lock", () => {
  it("is waited for without stopping this one", async () => {
    await using files = folder();
    const store = files.open();
    const other = files.connect();
    other.exec("BEGIN IMMEDIATE");
    const write = store.commit(claimOf("a"), () => ran(1));
    await files.clock.advance(4_000);
    expect((await store.find({ space: "by ada", id: "a" }, undefined)).kept).toBeUndefined();
    other.exec("COMMIT");
    await files.clock.advance(100);
    expect(await write).toEqual({ kind: "kept" });
  });

  it("for five seconds makes a fault that passes, and the store goes on", async () => {
    await using files = folder();
    const store = files.open();
    const other = files.connect();
    other.exec("BEGIN IMMEDIATE");
    const error = storeError(store.commit(claimOf("a"), () => ran(1)));
    await files.clock.advance(5_100);
    expect((await error).broken).toBe(false);
    expect((await error).message).toContain("locked by another program");
    other.exec("COMMIT");
    expect(await store.commit(claimOf("a"), () => ran(1))).toEqual({ kind: "kept" });
  });
});

describe("a disk that is full", () => {
  it("fails what does not fit with a text that says so, and takes what fits later", async () => {
    await using files = folder();
    const store = files.open();
    const database = databaseOf(store);
    const { page_count: pageCount } = database.prepare("PRAGMA page_count").get() as { page_count: number };
    database.exec(`PRAGMA max_page_count = ${pageCount + 2}`);
    const large = () => ({ kind: "ran", reply: new Uint8Array(100_000) }) as const;
    expect((await storeError(store.commit(claimOf("a"), large))).message).toMatch(/disk is full/);
    database.exec("PRAGMA max_page_count = 1000000");
    expect(await store.commit(claimOf("a"), large)).toEqual({ kind: "kept" });
  });
});

describe("a write that no commit takes", () => {
  it("fails alone at last, and the store goes on", async () => {
    await using files = folder();
    const store = files.open();
    // A deferred foreign key is looked at when the transaction ends, not when the row is written.
    databaseOf(store).exec(`
      PRAGMA foreign_keys = ON;
      CREATE TABLE parents (id INTEGER PRIMARY KEY);
      CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
    `);
    const good = () => store.commit(claimOf("a"), () => ran(1));
    const bad = () => store.write((tx) => void (tx as Database).exec("INSERT INTO children VALUES (1)"));
    const first = storeError(good());
    const second = storeError(bad());
    expect((await first).broken).toBe(false);
    expect((await second).broken).toBe(false);
    const again = good();
    await expect(bad()).rejects.toThrow(/FOREIGN KEY/);
    expect(await again).toEqual({ kind: "kept" });
  });
});
