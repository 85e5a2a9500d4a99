/** The first try of a call without anything special goes straight over the wire; all else is the call loop's. */
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "vitest";
import { inFlightCountMost } from "../../runtime/base/constants.ts";
import { FirstTries } from "../../runtime/link/first-try.ts";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import { wiresBy } from "../../runtime/link/link-wire.ts";
import { memoryOutbox } from "../../runtime/outbox/memory-outbox.ts";
import { Outbox, type OutboxParts } from "../../runtime/outbox/outbox.ts";
import type { OutboxStore } from "../../runtime/outbox/outbox-store.ts";
import { memoryPair } from "../../runtime/wire/memory.ts";
import type { Wire } from "../../runtime/wire/wire.ts";
import { createServer, memoryStore, type Server, tryAgain } from "../../server/index.ts";
import { type TallyHandlers, Tally } from "../gen/test/v1/tally_holdfast.ts";
import { type CallWorld, callWorld } from "../support/call-world.ts";
import { tallyHandlers } from "../support/tally-server.ts";

let world: CallWorld;
let server: Server;
let wires: Wire[];
/** What the next wire waits for. */
let opening: Promise<void> | undefined;
/** Call IDs of the runs of a handler that is replaced, in their order. */
let ran: (string | undefined)[];
const releases: (() => void)[] = [];
/** Of each call whether it went straight. */
const straight: boolean[] = [];
const { send } = FirstTries.prototype;
FirstTries.prototype.send = function (...call) {
  const sent = send.apply(this, call as never);
  straight.push(sent !== undefined);
  return sent as never;
};

/** Whether the call that was made last went straight. */
function wentStraight(): boolean {
  return straight.at(-1) === true;
}

/** A link with an open wire and nothing else, whose every method was called once. */
async function start(options: LinkOptions = {}, handlers: Partial<TallyHandlers> = {}): Promise<void> {
  wires = [];
  ran = [];
  opening = undefined;
  const wire = wiresBy(async () => {
    await opening;
    const [mine, theirs] = memoryPair();
    server.accept(theirs);
    wires.push(mine);
    return mine;
  });
  world = callWorld({ wire, calls: "wire", ...options });
  const { clock } = world;
  const store = memoryStore({
    clock,
    random: { bytes: (count) => new Uint8Array(count).fill(7), fraction: () => 0.5 },
  });
  server = createServer({ clock, store }).implement(Tally, tallyHandlers({ total: 0n, runs: 0 }, handlers));
  await world.settled(world.client.read({}));
  await world.settled(world.client.add({ text: "first" }));
  await world.settled(world.client.addAtMostOnce({}));
  straight.splice(0);
}

/** A handler that ends when the test lets it, or is over. */
function held(): Promise<void> {
  return new Promise((resolve) => releases.push(resolve));
}

/** `add` that waits at each run but the first call's. */
const holding: Partial<TallyHandlers> = {
  add: async ({ amount, text }, { callId }) => {
    if (text === "first") return {};
    ran.push(callId);
    await held();
    return { total: amount, text };
  },
};

const release = (): void => {
  for (const one of releases.splice(0)) one();
};

afterEach(async () => {
  release();
  for (let turns = 0; turns < 4; turns += 1) await world.clock.settle();
  await world.link.close();
  await server.close({ within: 0 });
  for (let turns = 0; turns < 10; turns += 1) await world.clock.settle();
  await world[Symbol.asyncDispose]();
});

describe("a call without anything special", () => {
  it("goes straight, and its reply ends it", async () => {
    await start();
    expect((await world.settled(world.client.add({ amount: 2n, text: "x" }))).total).toBe(2n);
    expect(wentStraight()).toBe(true);
    expect((await world.settled(world.client.read({ text: "y" }, { timeoutMs: 700 }))).text).toBe("y");
    expect(wentStraight()).toBe(true);
  });

  it("is traced as one of the loop is", async () => {
    const lines: string[] = [];
    const log = { info: (text: string) => lines.push(text), warn: () => undefined, error: () => undefined };
    await start({ log });
    const [inTheLoop] = lines.filter((line) => line.includes("/Add "));
    await world.settled(world.client.add({}));
    expect(wentStraight()).toBe(true);
    expect(lines.at(-1)).toBe(inTheLoop);
  });

  it("waits after a pause for one new look into the outbox, with all of its burst, and goes straight then", async () => {
    let looks = 0;
    const kept = memoryOutbox();
    const list: OutboxStore["list"] = () => {
      looks += 1;
      return kept.list();
    };
    const store = { storeOf: () => ({ ...kept, list }), open: (parts: OutboxParts) => new Outbox(parts) };
    await start({ outbox: { store } });
    await world.clock.advance(5_000);
    straight.splice(0);
    looks = 0;
    const request = { amount: 1n, text: "x" };
    const calls = Array.from({ length: 20 }, () => world.client.add(request));
    request.amount = 100n; // changed after the calls
    const replies = await world.settled(Promise.all(calls));
    expect(replies.map(({ total }) => total)).toEqual(calls.map((_call, at) => BigInt(at + 1)));
    expect(straight).not.toContain(false);
    expect(looks).toBe(1);
  });

  it("does not wait for a look that hangs: it ends by its budget", async () => {
    let hangs = false;
    const kept = memoryOutbox();
    const list: OutboxStore["list"] = () => (hangs ? new Promise<never>(() => undefined) : kept.list());
    const store = { storeOf: () => ({ ...kept, list }), open: (parts: OutboxParts) => new Outbox(parts) };
    await start({ outbox: { store } });
    await world.clock.advance(5_000);
    hangs = true;
    const calledAt = world.clock.monotonic();
    let endedAt = Infinity;
    const ended = world.client.add({}, { timeoutMs: 700 }).finally(() => {
      endedAt = world.clock.monotonic();
    });
    ended.catch(() => undefined);
    await world.clock.advance(1_000);
    await expect(ended).rejects.toMatchObject({ reason: "BUDGET_ENDED" });
    expect(endedAt - calledAt).toBe(700);
    hangs = false;
  });

  it("takes its place in flight and its number in the lane as any other", async () => {
    await start({}, holding);
    const calls = Array.from({ length: inFlightCountMost }, () => world.client.add({ amount: 1n }));
    expect(straight).not.toContain(false);
    const more = world.client.add({ amount: 2n });
    expect(wentStraight()).toBe(false);
    await world.clock.advance();
    for (let rounds = 0; rounds < 200 && ran.length < inFlightCountMost; rounds += 1) {
      release();
      await world.clock.advance();
    }
    const over = Promise.all([...calls, more]).then((replies) => replies.length);
    for (let rounds = 0; rounds < 20; rounds += 1) {
      release();
      await world.clock.advance();
    }
    expect(await over).toBe(inFlightCountMost + 1);
    await world.settled(world.client.read({}));
    expect(wentStraight()).toBe(true);
  });
});

describe("a call is the loop's from the start", () => {
  it.each([
    ["with a signal", { signal: new AbortController().signal }],
    ["with headers", { headers: { "x-own": "1" } }],
    ["whose headers somebody wants", { onHeader: () => undefined }],
    ["whose trailers somebody wants", { onTrailer: () => undefined }],
  ])("%s", async (_, options) => {
    await start();
    expect((await world.settled(world.client.read({ text: "x" }, options))).text).toBe("x");
    expect(wentStraight()).toBe(false);
  });

  it("with a budget that is no number, which is told at once", async () => {
    await start();
    await expect(world.client.read({}, { timeoutMs: Number.NaN })).rejects.toThrow(TypeError);
  });

  it("with a request that does not fit its type", async () => {
    await start();
    await expect(world.client.add({ amount: "much" as never })).rejects.toThrow(
      "cannot encode field test.v1.AddRequest.amount to binary",
    );
    expect(wentStraight()).toBe(false);
  });

  it("on a link with interceptors", async () => {
    const seen: string[] = [];
    await start({ interceptors: [(next) => (request) => (seen.push(request.url), next(request))] });
    await world.settled(world.client.read({}));
    expect(wentStraight()).toBe(false);
    expect(seen).toHaveLength(4);
  });

  it("on a link that is closed", async () => {
    await start();
    await world.link.close();
    expect(await world.failure(world.client.read({}))).toMatchObject({ reason: "LINK_CLOSED" });
  });

  it("while no wire is open", async () => {
    await start();
    opening = held();
    wires[0]?.cut(new Error("cut by the test"));
    await world.clock.settle();
    const reply = world.client.read({ text: "x" });
    expect(straight).toEqual([]);
    release();
    expect((await world.settled(reply)).text).toBe("x");
  });
});

describe("a call that went straight goes on in the loop", () => {
  it("when the answer is a no", async () => {
    await start(
      {},
      {
        addAtMostOnce: ({ amount }) => {
          if (amount === 0n) return {};
          throw new ConnectError("no such tally", Code.NotFound);
        },
        read: ({ text }) => {
          if (text === "") return {};
          throw new ConnectError("not for you", Code.PermissionDenied);
        },
      },
    );
    expect(await world.failure(world.client.addAtMostOnce({ amount: 1n }))).toMatchObject({
      outcome: "refused",
      code: Code.NotFound,
      rawMessage: "no such tally",
      tries: 1,
    });
    expect(await world.failure(world.client.read({ text: "x" }))).toMatchObject({
      outcome: "refused",
      code: Code.PermissionDenied,
    });
    expect(straight).not.toContain(false);
  });

  it("when the answer says not now: it is tried again with the same call ID", async () => {
    await start(
      {},
      {
        add: ({ text }, { callId }) => {
          if (text !== "first") ran.push(callId);
          if (ran.length === 1) throw tryAgain("a moment", 300);
          return { text };
        },
      },
    );
    expect((await world.settled(world.client.add({ text: "x" }))).text).toBe("x");
    expect(ran).toHaveLength(2);
    expect(ran[0]).toMatch(/./);
    expect(ran[1]).toBe(ran[0]);
    expect(straight).toEqual([true]);
  });

  it("when the wire is cut: the next try has the reply of the one run, to the request as it was", async () => {
    await start({}, holding);
    const request = { amount: 5n, text: "before" };
    const reply = world.client.add(request);
    expect(wentStraight()).toBe(true);
    request.text = "after";
    await world.clock.advance();
    wires[0]?.cut(new Error("cut by the test"));
    await world.clock.advance();
    release();
    expect(await world.settled(reply)).toMatchObject({ total: 5n, text: "before" });
    expect(ran).toHaveLength(1);
    expect(wires).toHaveLength(2);
  });

  it("when the wire is cut, and ends there if it is sent at most once", async () => {
    await start({}, { addAtMostOnce: async ({ amount }) => (amount === 0n ? {} : (await held(), {})) });
    const call = world.client.addAtMostOnce({ amount: 1n });
    await world.clock.advance();
    wires[0]?.cut(new Error("cut by the test"));
    expect(await world.failure(call)).toMatchObject({ outcome: "unknown", reason: "NO_REPLY", tries: 1 });
  });

  it("when its try's time is over, counted from its first sending", async () => {
    const lines: string[] = [];
    const log = { info: (text: string) => lines.push(text), warn: () => undefined, error: () => undefined };
    await start({ log }, holding);
    const reply = world.client.add({ amount: 5n });
    lines.length = 0;
    await world.clock.advance(9_999);
    expect(lines).toEqual([]);
    await world.clock.advance(2);
    expect(lines).toEqual([expect.stringContaining("try 1: connection fault: no reply in 10000 ms")]);
    release();
    expect((await world.settled(reply, 1_000)).total).toBe(5n);
    expect(ran).toHaveLength(1);
  });

  it("when its budget is over, counted from the call", async () => {
    await start({}, holding);
    wires[0]!.send = () => undefined;
    const startMs = world.clock.monotonic();
    const error = await world.failure(world.client.add({ amount: 5n }, { timeoutMs: 700 }));
    expect(error).toMatchObject({ outcome: "unknown", reason: "BUDGET_ENDED", tries: 1, progress: "sent" });
    expect(world.clock.monotonic() - startMs).toBe(700);
    expect(wentStraight()).toBe(true);
  });

  it("when the link closes", async () => {
    await start({}, holding);
    const failed = world.client.add({ amount: 5n }).catch((error: unknown) => error);
    await world.clock.advance();
    await world.link.close();
    expect(await failed).toMatchObject({ outcome: "unknown", reason: "LINK_CLOSED", tries: 1 });
  });

  it("when the link signs in anew: its wire is given up, and the next one has the reply of the one run", async () => {
    await start({}, holding);
    const reply = world.client.add({ amount: 5n });
    await world.clock.advance();
    world.link.signIn();
    await world.clock.advance();
    release();
    expect((await world.settled(reply)).total).toBe(5n);
    expect(ran).toHaveLength(1);
    expect(wires).toHaveLength(2);
  });
});
