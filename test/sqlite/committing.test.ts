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
  const setUp = () => {
    const files = folder();
    const store = files.open();
    const database = databaseOf(store);
    database.exec("CREATE TABLE theirs (id TEXT, text BLOB)");
    const { page_count: pageCount } = database.prepare("PRAGMA page_count").get() as { page_count: number };
    const roomFor = (count: number) => database.exec(`PRAGMA max_page_count = ${count}`);
    roomFor(pageCount + 2);
    const theirIds = () => database.prepare("SELECT id FROM theirs ORDER BY id").all();
    const makeRoom = () => roomFor(1_000_000);
    return { store, theirIds, makeRoom, [Symbol.asyncDispose]: () => files[Symbol.asyncDispose]() };
  };
  const large = new Uint8Array(100_000);
  const write = (id: string, text: Uint8Array) => (tx: unknown) => {
    (tx as Database).prepare("INSERT INTO theirs VALUES (?, ?)").run(id, text);
    return ran(1);
  };

  it("fails what does not fit with a text that says so, and takes what fits later", async () => {
    await using disk = setUp();
    const { store, makeRoom } = disk;
    const reply = () => ({ kind: "ran", reply: large }) as const;
    const error = await storeError(store.commit(claimOf("a"), reply));
    expect(error.message).toMatch(/disk is full/);
    expect(error.broken).toBe(false);
    makeRoom();
    expect(await store.commit(claimOf("a"), reply)).toEqual({ kind: "kept" });
  });

  it("keeps of the commands of one batch each one whole, or nothing of it", async () => {
    await using disk = setUp();
    const { store, theirIds, makeRoom } = disk;
    const seat = (seq: number) => ({ seat: { lane: "lane1", seq }, settled: seq - 1 });
    const calls = ["a", "b", "c"].map((id, index) => {
      const decide = write(id, id === "b" ? large : new Uint8Array(10));
      return () => store.commit(claimOf(id, seat(index + 1)), decide);
    });
    const first = await Promise.allSettled(calls.map((call) => call()));
    expect(first.map(({ status }) => status)).toContain("rejected");
    for (const [index, id] of ["a", "b", "c"].entries()) {
      const there = theirIds().some((row) => (row as { id: string }).id === id);
      expect(there).toBe(first[index]?.status === "fulfilled");
    }
    makeRoom();
    for (const [index, call] of calls.entries()) {
      expect((await call()).kind).toBe(first[index]?.status === "fulfilled" ? "taken" : "kept");
    }
    expect(theirIds()).toEqual([{ id: "a" }, { id: "b" }, { id: "c" }]);
    expect((await store.find({ space: "by ada", id: "x" }, "lane1")).watermark).toBe(2);
  });
});

describe("a file that cannot be written any more", () => {
  it("ends the store, with a text that says what to do", async () => {
    await using files = folder();
    const store = files.open();
    databaseOf(store).exec("PRAGMA query_only = ON"); // stands for a right that was taken away
    const error = await storeError(store.commit(claimOf("a"), () => ran(1)));
    expect(error.message).toMatch(
      /cannot be written. Give this user the right to write the file and its folder/,
    );
    expect(error.broken).toBe(true);
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
