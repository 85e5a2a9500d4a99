import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { silentLog } from "../../runtime/base/log.ts";
import { StoreError } from "../../server/store/store.ts";
import { steps } from "../../server/sqlite/schema.ts";
import { sqliteStore } from "../../server/sqlite/sqlite-store.ts";
import { claimOf, ran } from "../store/store-suite.ts";
import { databaseOf, folder } from "./support.ts";

/** The error that opening ends with. */
function refusal(open: () => unknown): StoreError {
  try {
    open();
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
  throw new Error("it opened");
}

describe("a file", () => {
  it("keeps calls, epoch and secret over a close", async () => {
    await using files = folder();
    const store = files.open();
    await store.commit(claimOf("a"), () => ran(1));
    await store.close();
    const again = files.open();
    expect(again.facts).toEqual(store.facts);
    expect((await again.find({ space: "by ada", id: "a" }, undefined)).kept?.outcome).toEqual(ran(1));
  });

  it("syncs each commit to disk", async () => {
    await using files = folder();
    const database = databaseOf(files.open());
    expect(database.prepare("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
    expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  });

  it("is refused to a second server, which is told who has it, and free after a close", async () => {
    await using files = folder();
    const store = files.open();
    const { message } = refusal(() => files.open());
    expect(message).toContain(`process ${process.pid}`);
    expect(message).toContain("One server a file");
    await store.close();
    files.open();
  });

  it("may be used by other programs meanwhile", async () => {
    await using files = folder();
    const store = files.open();
    const other = files.connect();
    other.exec("CREATE TABLE theirs (n INTEGER); INSERT INTO theirs VALUES (1)");
    await store.write((tx) => (tx as typeof other).exec("UPDATE theirs SET n = 2"));
    expect(other.prepare("SELECT n FROM theirs").get()).toEqual({ n: 2 });
  });

  it.each([
    [
      "is no SQLite file",
      "this is a letter to my aunt, and it is long enough to be looked at as a header...".repeat(9),
    ],
    ["has lost its first page", "\0".repeat(8192)],
  ])("that %s is refused and left as it was", async (_, text) => {
    await using files = folder();
    writeFileSync(files.path("board.db"), text);
    const { message, broken } = refusal(() => files.open());
    expect(message).toMatch(/is damaged, or is not a SQLite file/);
    expect(broken).toBe(true);
    expect(readFileSync(files.path("board.db"), "utf8")).toBe(text);
  });

  it("that a newer release has written is refused, with both versions in the text", async () => {
    await using files = folder();
    await files.open().close();
    files.connect().exec("UPDATE holdfast_meta SET value = 99 WHERE name IN ('version', 'least_version')");
    expect(refusal(() => files.open()).message).toMatch(
      new RegExp(`newer holdfast.*99.*knows ${steps.length}`, "s"),
    );
  });

  it("that a newer release has written so that older ones may open it is opened", async () => {
    await using files = folder();
    await files.open().close();
    files.connect().exec("UPDATE holdfast_meta SET value = 99 WHERE name = 'version'");
    await files.open().commit(claimOf("a"), () => ran(1));
  });

  it("that an older release has written gets the tables that are new, and keeps what it has", async () => {
    await using files = folder();
    const first = files.open();
    await first.commit(claimOf("a"), () => ran(1));
    await first.close();
    const other = files.connect();
    other.exec(`
      DROP TABLE holdfast_log; DROP TABLE holdfast_log_aside; DROP TABLE holdfast_log_checkpoints;
      DROP TABLE holdfast_sessions;
      UPDATE holdfast_meta SET value = 1 WHERE name IN ('version', 'least_version');
    `);
    const again = files.open();
    expect((await again.find({ space: "by ada", id: "a" }, undefined)).kept?.outcome).toEqual(ran(1));
    expect(other.prepare("SELECT count(*) AS n FROM holdfast_log").get()).toEqual({ n: 0 });
    const versions =
      "SELECT value FROM holdfast_meta WHERE name IN ('version', 'least_version') ORDER BY name";
    expect(other.prepare(versions).all()).toEqual([{ value: 1 }, { value: steps.length }]);
  });

  it.skipIf(process.getuid?.() === 0)("that this user may not write is refused with what to do", async () => {
    await using files = folder();
    await files.open().close();
    chmodSync(files.path("board.db"), 0o400);
    expect(refusal(() => files.open()).message).toMatch(/cannot be written. Give this user the right/);
  });

  it("in a folder that is not there is refused with the command that makes it", async () => {
    await using files = folder();
    expect(refusal(() => files.open({}, "no/board.db")).message).toContain("mkdir -p");
  });

  it("that is a folder is refused", async () => {
    await using files = folder();
    expect(refusal(() => sqliteStore(files.path("."))).message).toMatch(/cannot be opened/);
  });

  it.runIf(process.getBuiltinModule("node:sqlite") === undefined)(
    "is refused with what to install when the driver is missing",
    () => {
      const { message } = refusal(() => sqliteStore(":memory:", { driver: "node:sqlite" }));
      expect(message).toContain("npm install better-sqlite3@");
    },
  );

  it("takes no limit that is not above zero", () => {
    expect(() => sqliteStore(":memory:", { keepMs: 0 })).toThrow(RangeError);
  });
});

describe("a restored backup", () => {
  const setUp = async () => {
    const files = folder();
    const store = files.open();
    await store.commit(claimOf("a"), () => ran(1));
    await store.close();
    copyFileSync(files.path("board.db"), files.path("backup.db"));
    await files.clock.advance(1_000);
    const next = files.open();
    await next.commit(claimOf("b"), () => ran(2));
    await next.close();
    await files.clock.advance(1_000);
    const restore = () => copyFileSync(files.path("backup.db"), files.path("board.db"));
    return {
      files,
      before: store.facts,
      restore,
      [Symbol.asyncDispose]: () => files[Symbol.asyncDispose](),
    };
  };

  it("has another epoch, and forgets what was first sent before it was put back", async () => {
    await using world = await setUp();
    const { files, before, restore } = world;
    restore();
    const log = { ...silentLog, warn: vi.fn() };
    const store = files.open({ log });
    expect(store.facts.epoch).not.toBe(before.epoch);
    expect(store.facts.secret).toEqual(before.secret);
    expect((await store.find({ space: "by ada", id: "b" }, undefined)).forgottenBeforeMs).toBe(
      Math.floor(files.clock.now()),
    );
    expect(log.warn).toHaveBeenCalledTimes(1);
    await store.close();
    expect(files.open().facts).toEqual(store.facts);
  });

  it("is noticed too when the file beside it is missing", async () => {
    await using world = await setUp();
    const { files, before } = world;
    rmSync(files.path("board.db-mark"));
    expect(files.open().facts.epoch).not.toBe(before.epoch);
  });

  it("made while the server worked is noticed too, when it is older than a minute", async () => {
    await using files = folder();
    const store = files.open();
    await store.commit(claimOf("a"), () => ran(1));
    databaseOf(store).exec(`VACUUM INTO '${files.path("backup.db")}'`);
    await files.clock.advance(60_000);
    await store.purge(1);
    await store.close();
    copyFileSync(files.path("backup.db"), files.path("board.db"));
    expect(files.open().facts.epoch).not.toBe(store.facts.epoch);
  });

  it("is told apart from a crash between the two marks", async () => {
    await using files = folder();
    const store = files.open();
    await store.close();
    const marks = JSON.parse(readFileSync(files.path("board.db-mark"), "utf8")) as { marks: string[] };
    const between = { ...marks, marks: [...marks.marks, "the next one"] };
    writeFileSync(files.path("board.db-mark"), JSON.stringify(between));
    expect(files.open().facts.epoch).toBe(store.facts.epoch);
    expect(existsSync(files.path("board.db-mark.new"))).toBe(false);
  });
});
