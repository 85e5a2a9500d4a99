import { describe, expect, it, vi } from "vitest";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { StoreError } from "../store/store.ts";
import type { SqliteConnection } from "./driver.ts";
import { GroupCommit } from "./group-commit.ts";
import { storeErrorOf } from "./sqlite-errors.ts";

/** A connection that notes its statements and fails where a test says so. */
function setUp(failing: Record<string, string> = {}) {
  const statements: string[] = [];
  const run = (sql: string): { changes: number; lastInsertRowid: number } => {
    statements.push(sql);
    const code = failing[sql];
    if (code !== undefined) throw Object.assign(new Error(`${sql} failed`), { code });
    return { changes: 0, lastInsertRowid: 0 };
  };
  const connection: SqliteConnection = {
    driver: "better-sqlite3",
    handle: undefined,
    exec: run,
    prepare: (sql) => ({ run: () => run(sql), get: () => undefined, all: () => [] }),
    prepareReader: () => ({ get: () => undefined, all: () => [] }),
    inTransaction: true,
    close: () => undefined,
  };
  const lost = vi.fn();
  const explain = (error: unknown) => storeErrorOf(error, "board.db");
  const commits = new GroupCommit({ connection, clock: virtualClock(), writesMost: 64, explain, lost });
  return { commits, statements, failing, lost };
}

const outcomeOf = (promise: Promise<unknown>): Promise<unknown> => promise.catch((error: unknown) => error);

describe("a sync to disk that fails", () => {
  it("is a fault for the whole batch, for all that wait, and for all that come", async () => {
    const { commits } = setUp({ COMMIT: "SQLITE_IOERR_FSYNC" });
    const batch = Array.from({ length: 65 }, () => outcomeOf(commits.add(() => 1)));
    for (const outcome of await Promise.all(batch)) {
      expect(outcome).toBeInstanceOf(StoreError);
      expect(outcome).toMatchObject({ broken: true });
    }
    expect(commits.refusal?.broken).toBe(true);
    expect(await outcomeOf(commits.add(() => 1))).toMatchObject({ broken: true });
    await commits.end();
  });
});

describe("a batch", () => {
  it("has one BEGIN and one COMMIT, and a savepoint for each callback of a user's", async () => {
    const { commits, statements } = setUp();
    const theirs = (value: number) => commits.add((guard) => guard(() => value));
    await Promise.all([theirs(1), theirs(2), commits.add(() => 3)]);
    const of = (word: string): number => statements.filter((sql) => sql.startsWith(word)).length;
    expect([of("BEGIN"), of("SAVEPOINT"), of("RELEASE"), of("COMMIT")]).toEqual([1, 2, 2, 1]);
  });

  it("goes on when a user's callback throws, and is rolled back when the store's own part does", async () => {
    const { commits, statements, lost } = setUp();
    const no = new Error("no");
    const fail = (): never => {
      throw no;
    };
    const first = [commits.add((guard) => guard(fail)), commits.add(() => 1)];
    expect(await Promise.all(first.map(outcomeOf))).toEqual([no, 1]);
    expect(lost).not.toHaveBeenCalled();
    const second = [commits.add(() => 1), commits.add((guard) => (guard(() => 1), fail()))];
    for (const outcome of await Promise.all(second.map(outcomeOf)))
      expect(outcome).toBeInstanceOf(StoreError);
    expect(lost).toHaveBeenCalledOnce();
    expect(statements.at(-1)).toBe("ROLLBACK");
  });

  it("that cannot begin for a fault of the disk ends the store", async () => {
    const { commits } = setUp({ "BEGIN IMMEDIATE": "SQLITE_IOERR_READ" });
    expect(await outcomeOf(commits.add(() => 1))).toMatchObject({ broken: true });
    expect(commits.refusal?.broken).toBe(true);
  });

  it("is finished before the end, and nothing is taken after it", async () => {
    const { commits } = setUp();
    const before = commits.add(() => 1);
    const end = commits.end();
    expect(await outcomeOf(commits.add(() => 2))).toBeInstanceOf(StoreError);
    await end;
    expect(await before).toBe(1);
  });
});
