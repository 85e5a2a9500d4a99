import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it, vi } from "vitest";
import { retryDetail } from "../../runtime/base/errors.ts";
import { defaultLimits } from "../../runtime/base/limits.ts";
import { silentLog } from "../../runtime/base/log.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { add, attempt, reply } from "../../test/journal/commands.ts";
import { said } from "../../test/journal/said.ts";
import { sqliteStore } from "../sqlite/sqlite-store.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Store } from "../store/store.ts";
import type { Work } from "./answer.ts";
import { createJournal } from "./journal.ts";

interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: unknown[]): unknown; get(): unknown };
}

/** A journal over a store in SQLite, with a table of the user's. */
function setUp(store: Store = sqliteStore(":memory:"), keptReplyBytesMost = 1_048_576) {
  const log = { ...silentLog, error: vi.fn(), warn: vi.fn() };
  const onBroken = vi.fn();
  const limits = { ...defaultLimits, keptReplyBytesMost };
  const newJournal = () => createJournal({ store, clock: virtualClock(), limits, log, onBroken });
  const database = (store as Partial<{ database: Database }>).database;
  database?.exec("CREATE TABLE ledger (points INTEGER)");
  const total = () =>
    (database?.prepare("SELECT coalesce(sum(points), 0) AS total FROM ledger").get() as { total: number })
      .total;
  return { store, journal: newJournal(), newJournal, log, onBroken, total };
}

const insert = (tx: unknown, points: number) =>
  (tx as Database).prepare("INSERT INTO ledger VALUES (?)").run(points);

/** A handler that writes points in its transaction and replies with them. */
const puts =
  (points: number, then: () => void = () => undefined): Work =>
  ({ transaction }) =>
    transaction((tx) => {
      insert(tx, points);
      then();
      return reply(points);
    });
const no = new ConnectError("no", Code.NotFound);
const raise = (error: unknown) => () => {
  throw error;
};
const never: Work = () => Promise.reject(new Error("this must not run"));

describe("a transaction", () => {
  it("writes, and its reply is kept with it", async () => {
    const { journal, total } = setUp();
    expect(said(await journal.run(attempt("a"), puts(10)))).toBe("ran 10");
    expect(said(await journal.run(attempt("a"), never))).toBe("ran 10 again");
    expect(total()).toBe(10);
  });

  it("that refuses rolls back what was written, and the refusal is kept", async () => {
    const { journal, total } = setUp();
    expect(said(await journal.run(attempt("a"), puts(10, raise(no))))).toBe("refused NotFound: no");
    expect(said(await journal.run(attempt("a"), never))).toBe("refused NotFound: no again");
    expect(total()).toBe(0);
  });

  it("that fails rolls back what was written, and leaves the ID free", async () => {
    const { journal, total } = setUp();
    const failed = await journal.run(attempt("a"), puts(10, raise(new Error("oh"))));
    expect(said(failed)).toMatch(/^later Internal/);
    expect(total()).toBe(0);
    expect(said(await journal.run(attempt("a"), puts(10)))).toBe("ran 10");
  });

  it("whose reply is too large rolls back, is refused, and stays refused", async () => {
    const { journal, total } = setUp(undefined, 1);
    const large: Work = ({ transaction }) =>
      transaction((tx) => {
        insert(tx, 1_000_000);
        return reply(1_000_000);
      });
    expect(said(await journal.run(attempt("a"), large))).toBe("refused REPLY_TOO_LARGE");
    expect(said(await journal.run(attempt("a"), never))).toBe("refused REPLY_TOO_LARGE again");
    expect(total()).toBe(0);
  });

  it("may be used once: a second use fails, and the first stands", async () => {
    const { journal, total, log } = setUp();
    const twice: Work = async ({ transaction }) => {
      await transaction((tx) => (insert(tx, 1), reply(1)));
      return transaction((tx) => (insert(tx, 2), reply(2)));
    };
    expect(said(await journal.run(attempt("a"), twice))).toBe("ran 1");
    expect(total()).toBe(1);
    expect(String(log.error.mock.calls[0])).toContain("did not return");
  });

  it("that returns a promise is rolled back, with an error that says why", async () => {
    const { journal, total, log } = setUp();
    const slow: Work = ({ transaction }) =>
      transaction(async (tx) => {
        insert(tx, 1);
        return reply(1);
      });
    expect(said(await journal.run(attempt("a"), slow))).toMatch(/^later Internal/);
    expect(total()).toBe(0);
    expect(log.error.mock.calls[0]?.[1]).toMatchObject({ error: expect.any(TypeError) });
  });

  it("that nobody waits for still decides what is kept", async () => {
    const { journal, total } = setUp();
    const careless: Work = async ({ transaction }) => {
      void transaction((tx) => (insert(tx, 1), reply(1)));
      return reply(99);
    };
    expect(said(await journal.run(attempt("a"), careless))).toBe("ran 1");
    expect(total()).toBe(1);
  });

  it("leaves the handler free to go on after a rollback", async () => {
    const { journal, total } = setUp();
    const careful: Work = ({ transaction }) =>
      transaction((tx) => {
        insert(tx, 1);
        throw new Error("a unique constraint");
      }).catch(() => reply(7));
    expect(said(await journal.run(attempt("a"), careful))).toBe("ran 7");
    expect(total()).toBe(0);
  });

  it("works over a store in memory, and says what is missing when it is used as a database", async () => {
    const { journal, log } = setUp(memoryStore());
    const plain: Work = ({ transaction }) => transaction(async () => reply(3));
    expect(said(await journal.run(attempt("a"), plain))).toBe("ran 3");
    await journal.run(attempt("b"), puts(1));
    expect(String((log.error.mock.calls[0]?.[1] as { error: Error }).error)).toContain("sqliteStore");
  });

  it("of a command without a call ID writes without a key", async () => {
    const { journal, total } = setUp();
    await journal.unkept(add).transaction((tx) => (insert(tx, 4), reply(4)));
    expect(total()).toBe(4);
  });

  it("is warned of once, where a durable store keeps a command that used none", async () => {
    const { journal, log } = setUp();
    await journal.run(attempt("a"), async () => reply(1));
    await journal.run(attempt("b"), async () => reply(1));
    expect(log.warn).toHaveBeenCalledTimes(1);
  });
});

describe("a command with effects elsewhere", () => {
  const external = { ...add, effects: "external" } as const;
  const pay = (id: string, rerun = false) => attempt(id, { definition: external, rerun });
  /** The server dies after the handler's effect. */
  const dies: Work = async ({ begin }) => {
    await begin();
    return new Promise(() => undefined);
  };
  const pays =
    (points: number): Work =>
    async ({ begin }) => {
      await begin();
      return reply(points);
    };

  it("runs once, and its repeat gets the kept reply", async () => {
    const { journal } = setUp();
    expect(said(await journal.run(pay("a"), pays(1)))).toBe("ran 1");
    expect(said(await journal.run(pay("a"), never))).toBe("ran 1 again");
  });

  it("has its claim in the store before its handler starts", async () => {
    const { journal, store } = setUp();
    let found: unknown;
    await journal.run(pay("a"), async ({ begin }) => {
      await begin();
      const { caller, call } = pay("a");
      found = (await store.find({ space: caller.space, id: call.id }, undefined)).kept?.outcome;
      return reply(1);
    });
    expect(found).toEqual({ kind: "started" });
  });

  it("is unknown to a repeat after the server has died in it", async () => {
    const { journal, newJournal, store } = setUp();
    void journal.run(pay("a"), dies);
    await store.write(() => undefined);
    await store.write(() => undefined);
    const next = newJournal();
    expect(said(await next.run(pay("a"), never))).toBe("unknown OUTCOME_UNKNOWN");
    expect(said(await next.run(pay("a"), never))).toBe("unknown OUTCOME_UNKNOWN");
  });

  it("runs again if it said that it may, and is told that it may have run", async () => {
    const { journal, newJournal, store } = setUp();
    void journal.run(pay("a", true), dies);
    await store.write(() => undefined);
    await store.write(() => undefined);
    const told: boolean[] = [];
    const again: Work = async ({ begin, mayHaveRun }) => {
      await begin();
      told.push(mayHaveRun);
      return reply(5);
    };
    expect(said(await newJournal().run(pay("a", true), again))).toBe("ran 5");
    expect(told).toEqual([true]);
    expect(said(await newJournal().run(pay("a", true), never))).toBe("ran 5 again");
  });

  it("that fails is unknown, since it may have had its effect", async () => {
    const { journal } = setUp();
    const fails: Work = async ({ begin }) => {
      await begin();
      throw new Error("the provider did not answer");
    };
    expect(said(await journal.run(pay("a"), fails))).toBe("unknown OUTCOME_UNKNOWN");
    expect(said(await journal.run(pay("a"), never))).toBe("unknown OUTCOME_UNKNOWN");
  });

  it("that asks for a new try leaves the ID free", async () => {
    const { journal } = setUp();
    const busy = new ConnectError("the provider is closed", Code.Unavailable);
    busy.details.push(retryDetail(1_000));
    const asks: Work = async ({ begin }) => {
      await begin();
      throw busy;
    };
    expect(said(await journal.run(pay("a"), asks))).toBe("later Unavailable: the provider is closed");
    expect(said(await journal.run(pay("a"), pays(1)))).toBe("ran 1");
  });

  it("that fails before it begins keeps nothing", async () => {
    const { journal } = setUp();
    const overloaded = () => Promise.reject(new ConnectError("later", Code.ResourceExhausted));
    expect(said(await journal.run(pay("a"), overloaded))).toBe("later ResourceExhausted: later");
    expect(said(await journal.run(pay("a"), pays(1)))).toBe("ran 1");
  });

  it("that refuses is refused, and stays so", async () => {
    const { journal } = setUp();
    const refuses: Work = async ({ begin }) => {
      await begin();
      throw no;
    };
    expect(said(await journal.run(pay("a"), refuses))).toBe("refused NotFound: no");
    expect(said(await journal.run(pay("a"), never))).toBe("refused NotFound: no again");
  });

  it("may keep its reply with what it writes here", async () => {
    const { journal, total } = setUp();
    const both: Work = async ({ begin, transaction }) => {
      await begin();
      return transaction((tx) => (insert(tx, 1), reply(1)));
    };
    expect(said(await journal.run(pay("a"), both))).toBe("ran 1");
    expect(said(await journal.run(pay("a"), never))).toBe("ran 1 again");
    expect(total()).toBe(1);
  });
});
