import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { defaultLimits } from "../../runtime/base/limits.ts";
import { silentLog } from "../../runtime/base/log.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { KeptSessions } from "../store/kept-sessions.ts";
import type { OnSessionGone } from "./farewell.ts";
import { OpenConnections } from "./open-connections.ts";
import type { SessionGuest } from "./session.ts";
import { Sessions, type SessionsParts } from "./sessions.ts";

const goneAfterMs = 180_000;
/** A session ends up to a round later than it is due. */
const roundMs = 5_000;

function guest(name: string, by = "ada"): SessionGuest {
  return { space: `by ${by}`, name, quota: `by ${by}`, caller: { by, grants: [] } };
}

const fact = create(EmptySchema);

function setUp(changes: Partial<SessionsParts> = {}) {
  const clock = virtualClock();
  const gone: string[] = [];
  const parts: SessionsParts = {
    goneAfter: () => ({ leastMs: goneAfterMs, mostMs: goneAfterMs }),
    onGone: ({ caller, name }) => void gone.push(`${caller.by ?? "?"} ${name}`),
    kept: memoryStore({ clock, random: seededRandom(1) }).sessions,
    open: new OpenConnections(clock),
    limits: defaultLimits,
    clock,
    random: seededRandom(2),
    log: silentLog,
    ...changes,
  };
  return { clock, gone, parts, sessions: new Sessions(parts) };
}

/** A call or a heartbeat, as the server gives its sign. */
async function sign(sessions: Sessions, of: SessionGuest): Promise<void> {
  for (let wait = sessions.sign(of, true); wait !== undefined; wait = sessions.sign(of, true)) await wait;
}

describe("sessions", () => {
  it("are gone once, after gone_after without a sign and not before", async () => {
    const { clock, gone, sessions } = setUp();
    await sign(sessions, guest("a"));
    await clock.advance(goneAfterMs - 1);
    expect(gone).toEqual([]);
    expect(sessions.list()).toMatchObject([{ name: "a", state: "quiet" }]);
    await clock.advance(1 + roundMs);
    expect(gone).toEqual(["ada a"]);
    await clock.advance(10 * goneAfterMs);
    expect(gone).toEqual(["ada a"]);
    expect(sessions.list()).toEqual([]);
    expect(clock.pendingCount).toBe(0);
  });

  it("live on with each sign", async () => {
    const { clock, gone, sessions } = setUp();
    for (let beat = 0; beat < 30; beat += 1) {
      await sign(sessions, guest("a"));
      await clock.advance(30_000);
    }
    expect(gone).toEqual([]);
    expect(sessions.list()).toMatchObject([{ state: "present", lastSeenMs: clock.now() - 30_000 }]);
  });

  it("take the time of the heartbeat that they give", async () => {
    const { clock, gone, sessions } = setUp();
    await sign(sessions, guest("a"));
    expect(sessions.beat(guest("a"), fact, 600_000)).toBe(true);
    await clock.advance(goneAfterMs * 2);
    expect(gone).toEqual([]);
    expect(sessions.list()).toMatchObject([{ fact }]);
    await clock.advance(600_000 - goneAfterMs * 2 + roundMs);
    expect(gone).toEqual(["ada a"]);
  });

  it("with the same name are two when their callers are", async () => {
    const { clock, gone, sessions } = setUp();
    await sign(sessions, guest("a"));
    await sign(sessions, guest("a", "ben"));
    await clock.advance(100_000);
    await sign(sessions, guest("a", "ben"));
    await clock.advance(100_000);
    expect(gone).toEqual(["ada a"]);
    expect(sessions.list()).toMatchObject([{ caller: { by: "ben" } }]);
  });

  it("are not gone by a pause of the server, which nobody could give a sign to", async () => {
    const { clock, gone, sessions } = setUp();
    await sign(sessions, guest("a"));
    await clock.advance(30_000);
    await clock.sleepLaptop(3_600_000);
    await clock.advance(goneAfterMs - 60_000);
    expect(gone).toEqual([]);
    await clock.advance(60_000);
    expect(gone).toEqual(["ada a"]);
  });

  it("are neither gone nor kept by a jump of the wall clock", async () => {
    const { clock, gone, sessions } = setUp();
    await sign(sessions, guest("a"));
    clock.jumpWall(7_200_000);
    await clock.advance(goneAfterMs - 1);
    expect(gone).toEqual([]);
    clock.jumpWall(-14_400_000);
    await clock.advance(1 + roundMs);
    expect(gone).toEqual(["ada a"]);
  });

  it("begin anew with a call after they are gone, and are gone again once", async () => {
    const { clock, gone, sessions } = setUp();
    await sign(sessions, guest("a"));
    await clock.advance(goneAfterMs + roundMs);
    await sign(sessions, guest("a"));
    expect(sessions.list()).toMatchObject([{ beganAtMs: clock.now() }]);
    await clock.advance(goneAfterMs + roundMs);
    expect(gone).toEqual(["ada a", "ada a"]);
  });

  it("get their whole time anew after a restart, and are gone once however often that is", async () => {
    const first = setUp();
    await sign(first.sessions, guest("a"));
    await first.clock.advance(170_000);
    await first.sessions.stop();
    const second = setUp({ kept: first.parts.kept });
    await second.clock.advance(170_000);
    expect(second.sessions.list()).toMatchObject([{ name: "a", caller: { by: "ada" } }]);
    expect(second.gone).toEqual([]);
    await second.clock.advance(10_000 + roundMs);
    expect([...first.gone, ...second.gone]).toEqual(["ada a"]);
    const third = setUp({ kept: first.parts.kept });
    await third.clock.advance(2 * goneAfterMs);
    expect(third.gone).toEqual([]);
  });

  it("go on after a restart as the same when they call before the store is read", async () => {
    const first = setUp();
    await sign(first.sessions, guest("a"));
    await first.sessions.stop();
    const second = setUp({ kept: first.parts.kept });
    await sign(second.sessions, guest("a"));
    expect(await first.parts.kept.list()).toHaveLength(1);
    await second.clock.advance(goneAfterMs + roundMs);
    expect(second.gone).toEqual(["ada a"]);
  });

  it("end their streams when they are gone, and count them while they are not", async () => {
    const { clock, parts, sessions } = setUp();
    const ends: string[] = [];
    await sign(sessions, guest("a"));
    const stream = { kind: "stream", by: "ada", space: "by ada", until: undefined } as const;
    parts.open.add({ ...stream, session: "a", end: (why) => ends.push(`a ${why}`) });
    parts.open.add({ ...stream, session: "b", end: (why) => ends.push(`b ${why}`) });
    expect(sessions.list()).toMatchObject([{ streamCount: 1 }]);
    await clock.advance(goneAfterMs + roundMs);
    expect(ends).toEqual(["a sessionGone"]);
  });
});

describe("what is done about a gone session", () => {
  it("is waited for by its next call, which then begins it anew", async () => {
    let finish = (): void => undefined;
    const onGone = (): Promise<void> => new Promise((resolve) => (finish = resolve));
    const { clock, sessions } = setUp({ onGone });
    await sign(sessions, guest("a"));
    await clock.advance(goneAfterMs + roundMs);
    const beganAtMs = clock.now();
    let signed = false;
    const signing = sign(sessions, guest("a")).then(() => (signed = true));
    await clock.advance(1_000);
    expect(signed).toBe(false);
    finish();
    await signing;
    expect(sessions.list()).toMatchObject([{ beganAtMs: beganAtMs + 1_000 }]);
  });

  it("is tried again a minute later when it throws, and not when a sign has come", async () => {
    let tries = 0;
    const onGone = (): void => {
      tries += 1;
      throw new Error("no");
    };
    const { clock, sessions, parts } = setUp({ onGone });
    await sign(sessions, guest("a"));
    await clock.advance(goneAfterMs + roundMs);
    expect(tries).toBe(1);
    expect(await parts.kept.list()).toHaveLength(1);
    await clock.advance(60_000 + roundMs);
    expect(tries).toBe(2);
    await sign(sessions, guest("a"));
    await clock.advance(120_000);
    expect(tries).toBe(2);
  });

  it("is one transaction with the removal: a throw inside leaves the session where it was", async () => {
    const order: string[] = [];
    let fails = true;
    const onGone: OnSessionGone = async (_, { transaction }) => {
      await transaction(() => {
        order.push("written");
        if (fails) throw new Error("no");
      });
      await expect(transaction(() => undefined)).rejects.toThrow(/used already/);
    };
    const { clock, sessions, parts } = setUp({ onGone });
    await sign(sessions, guest("a"));
    await clock.advance(goneAfterMs + roundMs);
    expect(await parts.kept.list()).toHaveLength(1);
    fails = false;
    await clock.advance(60_000 + roundMs);
    expect(await parts.kept.list()).toHaveLength(0);
    expect(order).toEqual(["written", "written"]);
  });

  it("runs for a few at a time when many vanish, and spares those that come back meanwhile", async () => {
    const finish: (() => void)[] = [];
    const onGone = (): Promise<void> => new Promise((resolve) => finish.push(resolve));
    const { clock, sessions } = setUp({ onGone });
    for (let at = 0; at < 40; at += 1) await sign(sessions, guest(`s${at}`));
    await clock.advance(goneAfterMs + roundMs);
    expect(finish).toHaveLength(32);
    await sign(sessions, guest("s39"));
    for (const resolve of finish.splice(0)) resolve();
    await clock.settle();
    expect(finish).toHaveLength(7);
    expect(sessions.list().map(({ name }) => name)).toEqual(["s39"]);
  });

  it("that takes longer than a handler may is undone, and writes nothing afterwards", async () => {
    let late: Promise<unknown> = Promise.resolve();
    const onGone: OnSessionGone = (_, { signal, transaction }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          late = transaction(() => undefined).catch((error: unknown) => String(error));
          resolve();
        });
      });
    const { clock, sessions, parts } = setUp({ onGone });
    await sign(sessions, guest("a"));
    await clock.advance(goneAfterMs + roundMs);
    expect(sessions.list()).toEqual([]);
    await clock.advance(60_000);
    expect(sessions.list()).toMatchObject([{ name: "a", state: "quiet" }]);
    expect(await late).toMatch(/longer than it may/);
    expect(await parts.kept.list()).toHaveLength(1);
  });

  it("is waited for when the server stops, a few seconds at most, with its signal aborted", async () => {
    let seen: AbortSignal | undefined;
    const onGone: OnSessionGone = (_, { signal }) => {
      seen = signal;
      return new Promise(() => undefined);
    };
    const { clock, sessions } = setUp({ onGone });
    await sign(sessions, guest("a"));
    await clock.advance(goneAfterMs + roundMs);
    let stopped = false;
    const stopping = sessions.stop().then(() => (stopped = true));
    expect(seen?.aborted).toBe(true);
    await clock.advance(4_999);
    expect(stopped).toBe(false);
    await clock.advance(1);
    await stopping;
  });
});

describe("what a peer can make grow", () => {
  it("has a bound for each caller and for all; beyond it signs are no error and heartbeats say so", async () => {
    const { sessions } = setUp({ limits: { sessionsPerCallerMost: 2, sessionsMost: 3 } });
    for (const name of ["a", "b", "c"]) await sign(sessions, guest(name));
    for (const name of ["a", "b"]) await sign(sessions, guest(name, "ben"));
    expect(sessions.list().map(({ caller, name }) => `${caller.by ?? ""} ${name}`)).toEqual([
      "ada a",
      "ada b",
      "ben a",
    ]);
    expect(sessions.beat(guest("c"), fact, goneAfterMs)).toBe(false);
  });

  it("comes free again when a session is gone", async () => {
    const { clock, sessions } = setUp({ limits: { sessionsPerCallerMost: 1, sessionsMost: 3 } });
    await sign(sessions, guest("a"));
    await clock.advance(goneAfterMs + roundMs);
    await sign(sessions, guest("b"));
    expect(sessions.list()).toMatchObject([{ name: "b" }]);
  });

  it("reaches the store only by what may have effects, and only when something is done at the end", async () => {
    const begun: string[] = [];
    const kept: KeptSessions = {
      list: async () => [],
      begin: async ({ name }) => void begun.push(name),
      end: async (_, work) => work(undefined),
    };
    const { clock, sessions } = setUp({ kept });
    await clock.settle();
    void sessions.sign(guest("reads"), false);
    void sessions.sign(guest("writes"), true);
    void sessions.sign(guest("writes"), true);
    expect(begun).toEqual(["writes"]);
    void setUp({ kept, onGone: undefined }).sessions.sign(guest("b"), true);
    expect(begun).toEqual(["writes"]);
  });
});
