import { type Message, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it, vi } from "vitest";
import { retryDelayMs, retryDetail } from "../../runtime/base/errors.ts";
import { defaultLimits } from "../../runtime/base/limits.ts";
import { silentLog } from "../../runtime/base/log.ts";
import type { Soon } from "../../runtime/base/soon.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { add, ada, attempt, ben, remove, reply, request, seat } from "../../test/journal/commands.ts";
import { type AddResponse, AddResponseSchema } from "../../test/journal/gen/test/journal/v1/ledger_pb.ts";
import { said } from "../../test/journal/said.ts";
import { memoryStore } from "../store/memory-store.ts";
import { type Store, StoreError } from "../store/store.ts";
import type { Answer, Work } from "./answer.ts";
import { createJournal, type JournalOptions } from "./journal.ts";

function setUp(options: Partial<JournalOptions> = {}) {
  const clock = virtualClock();
  const store = options.store ?? memoryStore({ clock, random: seededRandom(1) });
  const log = { ...silentLog, error: vi.fn(), info: vi.fn(), warn: vi.fn() };
  const onBroken = vi.fn();
  const journal = createJournal({ clock, limits: defaultLimits, log, onBroken, ...options, store });
  return { clock, store, journal, log, onBroken };
}

/** A handler that ends when the test says so, and counts its runs. */
function handler() {
  let end: (reply: Message) => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  const signals: AbortSignal[] = [];
  const work: Work = ({ signal }) => {
    signals.push(signal);
    return new Promise((resolve, reject) => {
      end = resolve;
      fail = reject;
    });
  };
  return {
    work,
    signals,
    end: (balance: number) => end(reply(balance)),
    fail: (error: unknown) => fail(error),
    get runCount() {
      return signals.length;
    },
  };
}

const promised = async (answer: Soon<Answer>): Promise<Answer> => answer;

const never: Work = () => Promise.reject(new Error("this must not run"));
const replies =
  (balance: number): Work =>
  async () =>
    reply(balance);
const throws =
  (error: unknown): Work =>
  async () => {
    throw error;
  };

describe("a command", () => {
  it("runs once, and its repeat gets the kept reply", async () => {
    const { journal } = setUp();
    expect(said(await journal.run(attempt("a"), replies(10)))).toBe("ran 10");
    expect(said(await journal.run(attempt("a"), never))).toBe("ran 10 again");
  });

  it("runs once when two tries arrive in one turn", async () => {
    const { journal, clock } = setUp();
    const { work, end, signals } = handler();
    const both = [journal.run(attempt("a"), work), journal.run(attempt("a"), work)];
    await clock.settle();
    expect(signals).toHaveLength(1);
    end(10);
    expect((await Promise.all(both.map(promised))).map(said)).toEqual(["ran 10", "ran 10 again"]);
  });

  it("runs once whatever the order of many tries and the pace of the store", async () => {
    for (let seed = 1; seed <= 50; seed += 1) {
      const random = seededRandom(seed);
      const clock = virtualClock();
      const inner = memoryStore({ clock });
      const wait = () => new Promise<void>((resolve) => clock.timer(random.fraction() * 20, resolve));
      const store: Store = {
        ...passing(inner),
        find: async (key, lane) => {
          await wait();
          const found = await inner.find(key, lane);
          await wait();
          return found;
        },
        commit: async (claim, decide) => {
          await wait();
          const committed = await inner.commit(claim, decide);
          await wait();
          return committed;
        },
      };
      const { journal } = setUp({ store, clock });
      let runCount = 0;
      const work: Work = async () => {
        runCount += 1;
        await wait();
        return reply(runCount);
      };
      const answers = Array.from({ length: 4 }, async () => {
        await wait();
        await wait();
        return journal.run(attempt("a"), work);
      });
      await clock.advance(500);
      expect(new Set((await Promise.all(answers)).map((one) => said(one).replace(" again", "")))).toEqual(
        new Set(["ran 1"]),
      );
      expect(runCount).toBe(1);
    }
  });

  it("is joined by a try that comes between the handler's end and the store's write", async () => {
    const clock = virtualClock();
    const inner = memoryStore({ clock });
    let write = (): void => undefined;
    const written = new Promise<void>((resolve) => (write = resolve));
    const store: Store = {
      ...passing(inner),
      commit: async (claim, decide) => {
        await written;
        return inner.commit(claim, decide);
      },
    };
    const { journal } = setUp({ store, clock });
    const first = journal.run(attempt("a"), replies(10));
    await clock.settle();
    const ended = vi.fn();
    void Promise.resolve(first).then(ended);
    const second = journal.run(attempt("a"), never);
    await clock.settle();
    expect(ended).not.toHaveBeenCalled(); // nothing leaves before it is durable
    expect(journal.runningCount).toBe(1);
    write();
    expect([said(await first), said(await second)]).toEqual(["ran 10", "ran 10 again"]);
    expect(journal.runningCount).toBe(0);
  });

  it("of one caller is unrelated to the same ID of another", async () => {
    const { journal } = setUp();
    expect(said(await journal.run(attempt("a"), replies(10)))).toBe("ran 10");
    expect(said(await journal.run(attempt("a", { caller: ben }), replies(20)))).toBe("ran 20");
    expect(said(await journal.run(attempt("a"), never))).toBe("ran 10 again");
  });

  it.each([
    ["another request", { request: request(11) }],
    ["another method", { definition: remove }],
    ["another object", { scope: "{}" }],
  ])("whose ID comes with %s is refused the same while it runs and afterwards", async (_, changes) => {
    const { journal, clock } = setUp();
    const { work, end } = handler();
    const first = journal.run(attempt("a"), work);
    await clock.settle();
    expect(said(await journal.run(attempt("a", changes), never))).toBe("unknown CALL_ID_REUSED");
    end(10);
    expect(said(await first)).toBe("ran 10");
    expect(said(await journal.run(attempt("a", changes), never))).toBe("unknown CALL_ID_REUSED");
    expect(said(await journal.run(attempt("a"), never))).toBe("ran 10 again");
  });

  it("whose caller changed between two tries is refused, and not compared with a tag of another epoch", async () => {
    const { journal } = setUp();
    const changed = attempt("a", { caller: ben, expectedTag: ada.tag });
    expect(said(await journal.run(changed, never))).toBe("unknown CALLER_CHANGED");
    const foreign = attempt("a", { caller: ben, expectedTag: "other.ada" });
    expect(said(await journal.run(foreign, replies(1)))).toBe("ran 1");
  });

  it("gives the first answer and the repeats the same reply, whatever the handler returned", async () => {
    const { journal } = setUp();
    const odd = reply(1);
    odd.rate = 0.1; // a float on the wire has fewer bits
    const first = await journal.run(attempt("a"), async () => odd);
    odd.text = "changed later";
    const again = await journal.run(attempt("a"), never);
    const bytes = [first, again].map((one) => toBinary(AddResponseSchema, replyOf(one)));
    expect(bytes[0]).toEqual(bytes[1]);
    expect(replyOf(first).rate).toBe(Math.fround(0.1));
    expect(replyOf(first).rate).toBe(replyOf(again).rate);
  });

  it("keeps NaN and -0 as they are", async () => {
    for (const rate of [Number.NaN, -0]) {
      const { journal } = setUp();
      const odd = reply(1);
      odd.rate = rate;
      const first = await journal.run(attempt("a"), async () => odd);
      const again = await journal.run(attempt("a"), never);
      expect([replyOf(first).rate, replyOf(again).rate]).toEqual([rate, rate]);
    }
  });
});

describe("a place in a lane", () => {
  it("at or below what the client has settled is stale, in the store and before the store knows", async () => {
    const { journal, clock } = setUp();
    const { work, end } = handler();
    const running = journal.run(attempt("three", { lane: seat(3, 2) }), work);
    await clock.settle();
    expect(said(await journal.run(attempt("two", { lane: seat(2) }), never))).toBe("unknown CALL_STALE");
    end(10);
    await running;
    expect(said(await journal.run(attempt("two", { lane: seat(2) }), never))).toBe("unknown CALL_STALE");
  });

  it("that is settled while its handler runs keeps running, and everybody who waits is answered", async () => {
    const { journal, clock } = setUp();
    const { work, end } = handler();
    const one = journal.run(attempt("one", { lane: seat(1) }), work);
    const twin = journal.run(attempt("one", { lane: seat(1) }), never);
    await clock.settle();
    expect(said(await journal.run(attempt("two", { lane: seat(2, 1) }), replies(2)))).toBe("ran 2");
    end(1);
    expect([said(await one), said(await twin)]).toEqual(["ran 1", "ran 1 again"]);
    expect(said(await journal.run(attempt("one", { lane: seat(1) }), never))).toBe("unknown CALL_STALE");
  });

  it.each([
    ["before the store's start", -1],
    ["longer ago than calls are kept", -25 * 3_600_000],
    ["far in the future", 6 * 60_000],
  ])("of a call first sent %s is forgotten, its first try too", async (_, offMs) => {
    const { journal, clock } = setUp();
    const lane = seat(1, 0, { serverMs: clock.now() + offMs });
    expect(said(await journal.run(attempt("a", { lane }), never))).toBe("unknown CALL_FORGOTTEN");
  });

  it("counts an age from the arrival, not from the turn", async () => {
    const { journal, clock } = setUp();
    const arrivedAtMs = clock.now() - 5_000;
    const lane = seat(1, 0, { agoMs: 0 });
    expect(said(await journal.run(attempt("a", { lane, arrivedAtMs }), never))).toBe(
      "unknown CALL_FORGOTTEN",
    );
    expect(said(await journal.run(attempt("a", { lane }), replies(1)))).toBe("ran 1");
  });

  it("told as an age by a later try runs nothing: it is asked for", async () => {
    const { journal, clock } = setUp();
    const lane = { ...seat(1, 0, { agoMs: 10 }), tries: 2 };
    await clock.advance(60_000);
    const asked = await journal.run(attempt("a", { lane }), never);
    expect(said(asked)).toMatch(/^later Aborted/);
    expect(retryDelayMs(errorOf(asked))).toBe(0);
    const told = { ...lane, firstSent: { serverMs: clock.now() - 10 } };
    expect(said(await journal.run(attempt("a", { lane: told }), replies(1)))).toBe("ran 1");
    expect(said(await journal.run(attempt("a", { lane }), never))).toBe("ran 1 again");
  });

  it("does not matter to a plain client", async () => {
    const { journal } = setUp();
    expect(said(await journal.run(attempt("a"), replies(1)))).toBe("ran 1");
  });
});

describe("a handler that throws", () => {
  const kept = [
    Code.InvalidArgument,
    Code.NotFound,
    Code.AlreadyExists,
    Code.PermissionDenied,
    Code.FailedPrecondition,
    Code.OutOfRange,
    Code.Unimplemented,
    Code.Aborted,
  ];
  it.each(kept.map((code) => [Code[code], code] as const))(
    "%s refuses, and that is kept",
    async (name, code) => {
      const { journal } = setUp();
      const no = new ConnectError("no", code, { hint: "1" });
      const first = await journal.run(attempt("a"), throws(no));
      expect(said(first)).toBe(`refused ${name}: no`);
      expect(errorOf(first).metadata.get("hint")).toBe("1");
      const again = await journal.run(attempt("a"), never);
      expect(said(again)).toBe(`refused ${name}: no again`);
      expect(errorOf(again).metadata.get("hint")).toBeNull();
    },
  );

  const passing = Object.values(Code).filter(
    (code): code is Code => typeof code === "number" && !kept.includes(code),
  );
  it.each(passing.map((code) => [Code[code], code] as const))("%s keeps nothing", async (name, code) => {
    const { journal } = setUp();
    expect(said(await journal.run(attempt("a"), throws(new ConnectError("x", code))))).toBe(
      `later ${name}: x`,
    );
    expect(said(await journal.run(attempt("a"), replies(2)))).toBe("ran 2");
  });

  it("aborted with a RetryInfo keeps nothing", async () => {
    const { journal } = setUp();
    const error = new ConnectError("x", Code.Aborted);
    error.details.push(retryDetail(5));
    expect(said(await journal.run(attempt("a"), throws(error)))).toBe("later Aborted: x");
    expect(said(await journal.run(attempt("a"), replies(2)))).toBe("ran 2");
  });

  it("something else answers internal without its text, which the log gets", async () => {
    const { journal, log } = setUp();
    const secret = new Error("password is 1234");
    const answer = await journal.run(attempt("a"), throws(secret));
    expect(said(answer)).toBe("later Internal: the handler failed; the server's log says why");
    expect(log.error).toHaveBeenCalledWith("a handler failed", expect.objectContaining({ error: secret }));
    expect(JSON.stringify(log.error.mock.calls)).not.toContain("a_______________");
    expect(said(await journal.run(attempt("a"), replies(2)))).toBe("ran 2");
  });

  it("before it returns a promise is no different", async () => {
    const { journal } = setUp();
    const work: Work = () => {
      throw new ConnectError("no", Code.NotFound);
    };
    expect(said(await journal.run(attempt("a"), work))).toBe("refused NotFound: no");
  });

  it("refuses with a message and details cut to what is kept, the first answer included", async () => {
    const { journal } = setUp();
    const no = new ConnectError("é".repeat(600), Code.NotFound);
    no.details.push(
      { type: "a.Big", value: new Uint8Array(2_000) },
      { desc: AddResponseSchema, value: { text: "small" } },
    );
    const answers = [await journal.run(attempt("a"), throws(no)), await journal.run(attempt("a"), never)];
    for (const answer of answers) {
      expect(errorOf(answer).rawMessage).toBe("é".repeat(512));
      expect(errorOf(answer).details).toEqual([
        {
          type: AddResponseSchema.typeName,
          value: toBinary(AddResponseSchema, { ...reply(0), text: "small" }),
        },
      ]);
    }
  });
});

describe("a reply that is not kept", () => {
  const marked = { ...add, keep: "marker" as const };
  it("by keep: MARKER is given once, also when it is large, and a repeat hears that it ran", async () => {
    const { journal, store } = setUp({ limits: { ...defaultLimits, keptReplyBytesMost: 1 } });
    const changes = { definition: marked };
    expect(said(await journal.run(attempt("a", changes), replies(1000)))).toBe("ran 1000");
    expect(said(await journal.run(attempt("a", changes), never))).toBe("ran ALREADY_RAN again");
    const found = await store.find({ space: ada.space, id: attempt("a").call.id }, undefined);
    expect(found.kept?.outcome).toEqual({ kind: "marker" });
  });

  it("because it is too large leaves its effect, and says so from the first answer on", async () => {
    const { journal, log } = setUp({ limits: { ...defaultLimits, keptReplyBytesMost: 1 } });
    expect(said(await journal.run(attempt("a"), replies(1000)))).toBe("ran ALREADY_RAN");
    expect(said(await journal.run(attempt("a"), never))).toBe("ran ALREADY_RAN again");
    expect(log.error).toHaveBeenCalledOnce();
  });

  it.each([
    ["cannot be written", () => ({ ...reply(1), balance: "many" as unknown as bigint })],
    ["cannot be read back", () => deep(120)],
  ])("because it %s does not run the command again", async (_, make) => {
    const { journal, log } = setUp();
    expect(said(await journal.run(attempt("a"), async () => make()))).toBe("ran ALREADY_RAN");
    expect(said(await journal.run(attempt("a"), never))).toBe("ran ALREADY_RAN again");
    expect(log.error).toHaveBeenCalledOnce();
  });
});

describe("waiting for a run", () => {
  it("ends with the try, and the run goes on and is kept", async () => {
    const { journal, clock } = setUp();
    const { work, end, signals } = handler();
    const cut = new AbortController();
    const first = journal.run(attempt("a", { waiting: cut.signal }), work);
    await clock.settle();
    cut.abort();
    const answer = await first;
    expect(said(answer)).toBe("later IN_PROGRESS");
    expect(retryDelayMs(errorOf(answer))).toBe(250);
    expect(signals[0]?.aborted).toBe(false);
    const second = journal.run(attempt("a"), never);
    end(10);
    expect(said(await second)).toBe("ran 10 again");
  });

  it("has four places for a call, and the newest tries have them", async () => {
    const { journal, clock } = setUp();
    const { work, end } = handler();
    const tries = [];
    for (let count = 0; count < 6; count += 1) {
      tries.push(journal.run(attempt("a"), work));
      await clock.settle();
    }
    end(10);
    expect((await Promise.all(tries.map(promised))).map(said)).toEqual([
      "later SUPERSEDED",
      "later SUPERSEDED",
      "ran 10 again",
      "ran 10 again",
      "ran 10 again",
      "ran 10 again",
    ]);
  });

  it("does not begin a run for a try that has gone already", async () => {
    const { journal } = setUp();
    const waiting = AbortSignal.abort();
    expect(said(await journal.run(attempt("a", { waiting }), never))).toBe("later IN_PROGRESS");
    expect(said(await journal.run(attempt("a"), replies(1)))).toBe("ran 1");
  });

  it("ends with the try also while the store is asked", async () => {
    const clock = virtualClock();
    const store: Store = { ...passing(memoryStore({ clock })), find: () => new Promise(() => undefined) };
    const { journal } = setUp({ store, clock });
    const cut = new AbortController();
    const first = journal.run(attempt("a", { waiting: cut.signal }), never);
    await clock.settle();
    cut.abort();
    expect(said(await first)).toBe("later IN_PROGRESS");
  });
});

describe("a handler's signal", () => {
  it("fires at the method's limit, and the outcome still counts when the handler ends", async () => {
    const { journal, clock } = setUp();
    const { work, end, signals } = handler();
    const first = journal.run(attempt("a", { definition: { ...add, handlerMostMs: 5_000 } }), work);
    await clock.advance(4_999);
    expect(signals[0]?.aborted).toBe(false);
    await clock.advance(1);
    expect(signals[0]?.reason).toMatchObject({ code: Code.DeadlineExceeded });
    expect(journal.runningCount).toBe(1);
    end(10);
    expect(said(await first)).toBe("ran 10");
  });

  it("fires after 60 s where the method says nothing, and a handler that obeys is a fault", async () => {
    const { journal, clock } = setUp();
    const work: Work = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    const first = journal.run(attempt("a"), work);
    await clock.advance(60_000);
    expect(said(await first)).toMatch(/^later DeadlineExceeded: the handler's limit of 60000 ms is over/);
    expect(said(await journal.run(attempt("a"), replies(2)))).toBe("ran 2");
  });

  it("fires at the end of a drain, and idle waits for the last outcome", async () => {
    const { journal, clock } = setUp();
    const { work, fail, signals } = handler();
    const first = journal.run(attempt("a"), work);
    await clock.settle();
    const idle = vi.fn();
    void journal.idle().then(idle);
    journal.abortRunning();
    await clock.settle();
    expect(idle).not.toHaveBeenCalled();
    fail(signals[0]?.reason);
    expect(said(await first)).toBe("later DRAINING");
    await clock.settle();
    expect(idle).toHaveBeenCalledOnce();
    await journal.idle();
  });

  it("leaves no timer behind", async () => {
    const { journal, clock } = setUp();
    await journal.run(attempt("a"), replies(1));
    expect(clock.pendingCount).toBe(0);
  });
});

describe("a store", () => {
  it("without room refuses new commands with a hint, and always answers repeats", async () => {
    const clock = virtualClock();
    const inner = memoryStore({ clock });
    let fullForMs: number | undefined;
    const store: Store = {
      ...passing(inner),
      find: async (key, lane) => ({ ...(await inner.find(key, lane)), fullForMs }),
    };
    const { journal } = setUp({ store, clock });
    await journal.run(attempt("a"), replies(1));
    for (const [left, hint] of [
      [10, 1_000],
      [5_000, 5_000],
      [3_600_000, 60_000],
    ] as const) {
      fullForMs = left;
      const answer = await journal.run(attempt("b"), never);
      expect(said(answer)).toBe("later JOURNAL_FULL");
      expect(retryDelayMs(errorOf(answer))).toBe(hint);
    }
    expect(said(await journal.run(attempt("a"), never))).toBe("ran 1 again");
  });

  it.each([
    ["that says it is broken", new StoreError("the disk is full", true)],
    ["of an unknown kind", new Error("?")],
  ])("whose write fails with an error %s is reported once, and nothing runs any more", async (_, error) => {
    const clock = virtualClock();
    const store: Store = { ...passing(memoryStore({ clock })), commit: () => Promise.reject(error) };
    const { journal, onBroken } = setUp({ store, clock });
    const both = [journal.run(attempt("a"), replies(1)), journal.run(attempt("b"), replies(1))];
    for (const answer of await Promise.all(both.map(promised)))
      expect(said(answer)).toMatch(/^later Unavailable/);
    expect(onBroken.mock.calls).toEqual([[error]]);
    expect(said(await journal.run(attempt("c"), never))).toMatch(/^later Unavailable/);
    const once = attempt("d", { definition: { ...add, delivery: "atMostOnce" } });
    expect(said(await journal.run(once, never))).toMatch(/^later Unavailable/);
  });

  it("that cannot be reached is a fault that passes", async () => {
    const clock = virtualClock();
    const inner = memoryStore({ clock });
    let up = false;
    const down = new StoreError("no connection", false);
    const store: Store = {
      ...passing(inner),
      find: (key, lane) => (up ? inner.find(key, lane) : Promise.reject(down)),
    };
    const { journal, onBroken } = setUp({ store, clock });
    const both = [journal.run(attempt("a"), never), journal.run(attempt("a"), never)];
    for (const answer of await Promise.all(both.map(promised)))
      expect(said(answer)).toMatch(/^later Unavailable/);
    up = true;
    expect(said(await journal.run(attempt("a"), replies(1)))).toBe("ran 1");
    expect(onBroken).not.toHaveBeenCalled();
  });

  it("that finds the key taken by another server gives that server's outcome", async () => {
    const clock = virtualClock();
    const inner = memoryStore({ clock });
    await setUp({ store: inner, clock }).journal.run(attempt("a"), replies(1));
    const { kept: other } = await inner.find({ space: ada.space, id: attempt("a").call.id }, undefined);
    // As if the other server had written between our look and our write.
    const store: Store = {
      ...passing(inner),
      find: async (key, lane) => ({ ...(await inner.find(key, lane)), kept: undefined }),
    };
    const { journal } = setUp({ store, clock });
    expect(other?.outcome.kind).toBe("ran");
    expect(said(await journal.run(attempt("a"), replies(2)))).toBe("ran 1 again");
    const reused = attempt("a", { request: request(11) });
    expect(said(await journal.run(reused, replies(2)))).toBe("unknown CALL_ID_REUSED");
  });
});

describe("a command that is sent at most once", () => {
  const definition = { ...add, delivery: "atMostOnce" as const };
  it("is refused when a copy of it comes, while it runs and for ten minutes", async () => {
    const { journal, clock } = setUp();
    const { work, end } = handler();
    const first = journal.run(attempt("a", { definition }), work);
    expect(said(await journal.run(attempt("a", { definition }), never))).toBe("unknown CALL_STALE");
    expect(journal.runningCount).toBe(1);
    end(10);
    expect(said(await first)).toBe("ran 10");
    await clock.advance(10 * 60_000 - 1);
    expect(said(await journal.run(attempt("a", { definition }), never))).toBe("unknown CALL_STALE");
    await clock.advance(1);
    expect(said(await journal.run(attempt("a", { definition }), replies(1)))).toBe("ran 1");
  });

  it("does not begin when its client has settled it, while a call runs that says so", async () => {
    const { journal } = setUp();
    const { work, end } = handler();
    const other = journal.run(attempt("b", { definition, lane: seat(2, 1) }), work);
    expect(said(await journal.run(attempt("a", { definition, lane: seat(1) }), never))).toBe(
      "unknown CALL_STALE",
    );
    end(10);
    expect(said(await other)).toBe("ran 10");
  });

  it.each([
    ["at once", (store: Store) => store],
    ["later", (store: Store): Store => passing(store)],
  ])("nor when a call that was kept has said so, in a store that answers %s", async (_, made) => {
    const clock = virtualClock();
    const { journal } = setUp({ clock, store: made(memoryStore({ clock })) });
    expect(said(await journal.run(attempt("b", { lane: seat(2, 1) }), replies(1)))).toBe("ran 1");
    const late = attempt("a", { definition, lane: seat(1) });
    expect(said(await journal.run(late, never))).toBe("unknown CALL_STALE");
    const next = attempt("c", { definition, lane: seat(3, 1) });
    expect(said(await journal.run(next, replies(2)))).toBe("ran 2");
  });

  it("does not begin while nobody can say whether its client has settled it, and comes again", async () => {
    const clock = virtualClock();
    const inner = memoryStore({ clock });
    let up = false;
    const find: Store["find"] = (key, lane) =>
      up ? inner.find(key, lane) : Promise.reject(new StoreError("no connection", false));
    const { journal } = setUp({ clock, store: { ...passing(inner), find } });
    const call = attempt("a", { definition, lane: seat(1) });
    expect(said(await journal.run(call, never))).toMatch(/^later Unavailable/);
    up = true;
    expect(said(await journal.run(call, replies(1)))).toBe("ran 1");
  });

  it("does not ask for a new try when its try waits no longer", async () => {
    const { journal, clock } = setUp();
    const { work, end } = handler();
    const waiting = new AbortController();
    const answer = journal.run(attempt("a", { definition, waiting: waiting.signal }), work);
    await clock.settle();
    waiting.abort();
    expect(said(await answer)).toMatch(/^unknown DeadlineExceeded: the command runs on/);
    end(10);
    await journal.idle();
  });

  it("does not ask for a new try when its handler fails", async () => {
    const { journal } = setUp();
    expect(said(await journal.run(attempt("a", { definition }), throws(new Error("x"))))).toMatch(
      /^unknown Internal/,
    );
    const no = new ConnectError("no", Code.NotFound);
    expect(said(await journal.run(attempt("b", { definition }), throws(no)))).toBe("refused NotFound: no");
  });
});

/** A store's members as its own, to be overridden one by one. */
function passing(store: Store): Store {
  return {
    facts: store.facts,
    sessions: store.sessions,
    find: (key, lane) => store.find(key, lane),
    commit: (claim, decide) => store.commit(claim, decide),
    write: (work) => store.write(work),
    purge: (countMost) => store.purge(countMost),
    close: () => store.close(),
  };
}

function deep(levelCount: number): AddResponse {
  let message = reply(0);
  for (let level = 0; level < levelCount; level += 1) {
    const outer = reply(level);
    outer.parts.push(message);
    message = outer;
  }
  return message;
}

function replyOf(answer: Awaited<ReturnType<ReturnType<typeof createJournal>["run"]>>): AddResponse {
  if (!("reply" in answer.result)) throw answer.result.error;
  return answer.result.reply as AddResponse;
}

function errorOf(answer: Awaited<ReturnType<ReturnType<typeof createJournal>["run"]>>): ConnectError {
  if (!("error" in answer.result)) throw new Error("this is a reply");
  return answer.result.error;
}
