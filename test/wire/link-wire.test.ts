/** Which way a link's calls go, in virtual time: over HTTP from a script, and a wire to a server in memory. */
import { afterEach, describe, expect, it } from "vitest";
import { ConnectionFault } from "../../runtime/base/connection-fault.ts";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import { wiresBy } from "../../runtime/link/link-wire.ts";
import { memoryPair } from "../../runtime/wire/memory.ts";
import type { Wire } from "../../runtime/wire/wire.ts";
import { createServer, memoryStore, type Server, type ServerOptions } from "../../server/index.ts";
import { Counter } from "../objects/gen/test/objects/v1/notebook_holdfast.ts";
import { type TallyHandlers, Tally } from "../gen/test/v1/tally_holdfast.ts";
import { type CallWorld, callWorld } from "../support/call-world.ts";
import { tallyHandlers } from "../support/tally-server.ts";

let world: CallWorld;
let server: Server;
/** Wires that the link opened, and how often it asked for one. */
let wires: Wire[];
let asked: number;
const releases: (() => void)[] = [];
/** What opening one meets. */
let opening: "opens" | "fails" | "waits";

function start(
  options: LinkOptions = {},
  serverOptions: ServerOptions = {},
  handlers: Partial<TallyHandlers> = {},
): void {
  wires = [];
  asked = 0;
  opening = "opens";
  const wire = wiresBy(async () => {
    asked += 1;
    if (opening === "waits") await new Promise(() => undefined);
    if (opening === "fails")
      throw new ConnectionFault("connect-failed", "no WebSocket here", { sent: false });
    const [mine, theirs] = memoryPair();
    server.accept(theirs);
    wires.push(mine);
    return mine;
  });
  world = callWorld({ wire, ...options });
  const { clock } = world;
  const store = memoryStore({
    clock,
    random: { bytes: (count) => new Uint8Array(count).fill(7), fraction: () => 0.5 },
  });
  server = createServer({ clock, store, ...serverOptions }).implement(
    Tally,
    tallyHandlers({ total: 0n, runs: 0 }, handlers),
  );
  world.http.next(...Array.from({ length: 40 }, () => world.answers.ok({ text: "by HTTP" })));
}

const wayOf = async (): Promise<string> =>
  (await world.settled(world.client.add({ amount: 1n, text: "by wire" }))).text;

/** Three calls, after which the wire stands. */
async function wired(): Promise<void> {
  for (let calls = 0; calls < 3; calls += 1) await world.settled(world.client.add({ amount: 0n }));
  await world.clock.advance();
  await world.clock.advance();
  expect(world.states.at(-1)?.kind).toBe("up");
}

/** What a handler waits for until the test is over. */
function stuck(): Promise<never> {
  return new Promise((_, reject) => releases.push(() => reject(new Error("the test is over"))));
}

afterEach(async () => {
  for (const release of releases.splice(0)) release();
  for (let turns = 0; turns < 4; turns += 1) await world.clock.settle();
  await world.link.close();
  await server.close({ within: 0 });
  for (let turns = 0; turns < 10; turns += 1) await world.clock.settle();
  await world[Symbol.asyncDispose]();
});

/** A wire that ends in the moment in which its first packet comes. */
function endingAtOnce(wire: Wire): Wire {
  let ended: (cause: Error | undefined) => void = () => undefined;
  return {
    name: wire.name,
    bufferedAmount: 0,
    send: (packet) => wire.send(packet),
    close: () => wire.close(),
    cut: (cause) => wire.cut(cause),
    onClose: (fn) => {
      ended = fn;
    },
    onPacket: (fn) =>
      wire.onPacket((packet) => {
        fn(packet);
        ended(undefined);
        wire.close();
      }),
  };
}

describe("another sign-in", () => {
  it("sends nothing more in the name of the one before, however slowly its wire closes", async () => {
    let person = "ada";
    start({
      token: async () => person,
      wire: wiresBy(async () => {
        const [mine, theirs] = memoryPair();
        server.accept(theirs);
        return { ...bound(mine), close: () => undefined };
      }),
    });
    await wired();
    expect(await wayOf()).toBe("by wire");
    person = "ben";
    world.link.signIn();
    expect(await wayOf()).toBe("by HTTP");
    expect(world.http.requests.at(-1)?.header.get("authorization")).toBe("Bearer ben");
  });

  it("gives up a wire that opens in the name of the one before", async () => {
    let person = "ada";
    let open = (): void => undefined;
    const tokens: unknown[] = [];
    start(
      {
        token: async () => person,
        wire: wiresBy(async () => {
          asked += 1;
          if (asked === 1) await new Promise<void>((resolve) => (open = resolve));
          const [mine, theirs] = memoryPair();
          server.accept(theirs);
          return mine;
        }),
      },
      {
        authenticate: ({ token }) => {
          tokens.push(token);
          return { by: token ?? "" };
        },
      },
    );
    for (let calls = 0; calls < 3; calls += 1) await world.settled(world.client.add({ amount: 0n }));
    person = "ben";
    world.link.signIn();
    open();
    await world.clock.advance();
    expect(tokens).toEqual(["ada"]);
    expect(await wayOf()).toBe("by HTTP");
    expect(world.http.requests.at(-1)?.header.get("authorization")).toBe("Bearer ben");
  });
});

/** A wire's members as its own, to be overridden one by one. */
function bound(wire: Wire): Wire {
  return {
    name: wire.name,
    bufferedAmount: 0,
    send: (packet) => wire.send(packet),
    close: () => wire.close(),
    cut: (cause) => wire.cut(cause),
    onClose: (fn) => wire.onClose(fn),
    onPacket: (fn) => wire.onPacket(fn),
  };
}

describe("what is held", () => {
  it("opens another wire when one ends in the moment in which it opens", async () => {
    start({
      wire: wiresBy(async () => {
        asked += 1;
        const [mine, theirs] = memoryPair();
        server.accept(theirs);
        return asked === 1 ? endingAtOnce(mine) : mine;
      }),
    });
    const total = world.link.hold(Counter, {});
    for (let turns = 0; turns < 4; turns += 1) await world.clock.advance();
    expect(asked).toBe(2);
    await total.$release();
  });
});

describe("calls: auto", () => {
  it("goes over HTTP until the wire stands, which opens at the third call", async () => {
    start();
    expect([await wayOf(), await wayOf()]).toEqual(["by HTTP", "by HTTP"]);
    expect(asked).toBe(0);
    expect(await wayOf()).toBe("by HTTP");
    await world.clock.advance();
    await world.clock.advance();
    expect(asked).toBe(1);
    expect(await wayOf()).toBe("by wire");
    expect(wires).toHaveLength(1);
  });

  it("stays on HTTP where no wire opens, which is no fault of the link, and looks again after 60 s", async () => {
    start();
    opening = "fails";
    await wired();
    expect(await wayOf()).toBe("by HTTP");
    await world.clock.advance(59_000);
    expect(await wayOf()).toBe("by HTTP");
    expect(asked).toBe(1);
    opening = "opens";
    await world.clock.advance(1_001);
    expect(await wayOf()).toBe("by HTTP");
    await world.clock.advance();
    await world.clock.advance();
    expect(asked).toBe(2);
    expect(await wayOf()).toBe("by wire");
    expect(world.states.map(({ kind }) => kind)).toEqual(["idle", "up"]);
  });

  it("goes on over HTTP when the wire is cut, unseen, and opens another", async () => {
    start();
    await wired();
    expect(await wayOf()).toBe("by wire");
    wires[0]?.cut(new Error("cut by the test"));
    await world.clock.advance();
    expect(await wayOf()).toBe("by HTTP");
    await world.clock.advance();
    await world.clock.advance();
    expect(await wayOf()).toBe("by wire");
    expect(wires).toHaveLength(2);
    expect(world.states.map(({ kind }) => kind)).toEqual(["idle", "up"]);
  });

  it("sends a call that lost its wire over HTTP, with the same call ID", async () => {
    start({}, {}, { add: () => stuck() });
    await wired();
    const reply = world.client.add({ amount: 1n, text: "by wire" });
    await world.clock.advance();
    wires[0]?.cut(new Error("cut by the test"));
    expect((await world.settled(reply)).text).toBe("by HTTP");
    const header = world.http.requests.at(-1)?.header.get("holdfast-call") ?? "";
    expect(header).toContain(";t=2;");
  });

  it("takes no wire for a sign that was not there: a try without a reply asks it, and leaves it standing", async () => {
    await world.link.close();
    let runs = 0;
    start(
      {},
      {},
      {
        add: () => {
          runs += 1;
          return runs < 2 ? stuck() : { total: 1n, text: "by wire" };
        },
      },
    );
    await wired();
    const reply = world.client.read({ text: "by wire" });
    expect((await world.settled(reply)).text).toBe("by wire");
    const slow = world.client.add({ amount: 1n });
    await world.clock.advance(10_000);
    await world.clock.advance(6_000);
    expect(wires).toHaveLength(1);
    expect(world.link.state.value.kind).toBe("up");
    slow.catch(() => undefined);
  });

  it("closes a wire that gives no sign when a try has no reply, and sends it again", async () => {
    start();
    await wired();
    const [mine] = wires;
    mine!.send = () => undefined;
    const reply = world.client.add({ amount: 1n });
    await world.clock.advance(10_000);
    await world.clock.advance(5_000);
    expect((await world.settled(reply)).text).toBe("by HTTP");
  });

  it("leaves the wire that the server announces the end of, and loses no call", async () => {
    await world.link.close();
    let finish: () => void = () => undefined;
    start({}, {}, { read: () => new Promise((resolve) => (finish = () => resolve({ text: "late" }))) });
    await wired();
    const slow = world.client.read({});
    await world.clock.advance();
    const closed = server.close({ within: 20_000 });
    await world.clock.advance(1_500);
    expect(await wayOf()).toBe("by HTTP");
    finish();
    expect((await world.settled(slow)).text).toBe("late");
    await world.clock.advance(1_000);
    await closed;
  });

  it("closes with its link also the wire that the server has announced the end of, and never ends", async () => {
    await world.link.close();
    let closedCount = 0;
    const wire = wiresBy(async () => {
      const [mine, theirs] = memoryPair();
      server.accept(theirs);
      const close = (): void => {
        closedCount += 1;
        mine.close();
      };
      return { ...bound(mine), close };
    });
    start({ wire }, {}, { read: stuck });
    await wired();
    const slow = world.client.read({}).catch(() => undefined);
    await world.clock.advance();
    const drained = server.close({ within: 20_000 });
    await world.clock.advance(1_500);
    expect(closedCount).toBe(0);
    await world.link.close();
    expect(closedCount).toBe(1);
    await slow;
    await world.clock.advance(30_000);
    await drained;
  });
});

describe("calls: http", () => {
  it("never opens a wire", async () => {
    start({ calls: "http" });
    await wired();
    expect(await wayOf()).toBe("by HTTP");
    expect(asked).toBe(0);
  });
});

describe("calls: wire", () => {
  it("goes over nothing else", async () => {
    start({ calls: "wire" });
    expect(await wayOf()).toBe("by wire");
    expect(world.http.requests).toEqual([]);
  });

  it("waits for the wire inside the call's budget", async () => {
    start({ calls: "wire" });
    opening = "fails";
    const reply = world.client.add({ amount: 1n, text: "by wire" });
    await world.clock.advance(3_000);
    opening = "opens";
    expect((await world.settled(reply)).text).toBe("by wire");
    expect(world.states.map(({ kind }) => kind)).toContain("down");
    expect(world.link.state.value.kind).toBe("up");
  });

  it("ends with its budget where no wire opens, and says why", async () => {
    start({ calls: "wire" });
    opening = "fails";
    const error = await world.failure(world.client.add({ amount: 1n }, { timeoutMs: 5_000 }));
    expect(error).toMatchObject({ reason: "BUDGET_ENDED", outcome: "not-run" });
    expect(error.message).toContain("no WebSocket here");
  });

  it("gives up opening inside connectWait", async () => {
    start({ calls: "wire" });
    opening = "waits";
    const error = await world.failure(world.client.add({ amount: 1n }, { timeoutMs: 8_000 }));
    expect(error).toMatchObject({ reason: "BUDGET_ENDED", outcome: "not-run" });
  });

  it("signs in with hello, and asks for a fresh token when it is refused", async () => {
    await world.link.close();
    const asked: (string | undefined)[] = [];
    start(
      {
        calls: "wire",
        token: ({ rejected }) => {
          asked.push(rejected);
          return rejected === undefined ? "old" : "new";
        },
      },
      {
        authenticate: ({ token }) => {
          if (token !== "new") throw new Error("too old");
          return { by: "ada" };
        },
      },
    );
    expect(await wayOf()).toBe("by wire");
    expect(asked).toEqual([undefined, "old"]);
  });

  it("makes the link refused when the server does not take its build", async () => {
    start({ calls: "wire", build: "1.0.0" }, { build: { id: "2.0.0", accepts: ({ major }) => major === 2 } });
    const error = await world.failure(world.client.add({ amount: 1n }));
    expect(error.reason).toBe("BUILD_REFUSED");
    expect(world.link.state.value.kind).toBe("refused");
  });

  it("is opened again for what is held when a link that was refused signs in anew", async () => {
    let takes = false;
    start({ calls: "wire", build: "1.0.0" }, { build: { id: "2.0.0", accepts: () => takes } });
    const counter = world.link.hold(Counter, {});
    await world.clock.advance(120_000);
    expect(world.link.state.value.kind).toBe("refused");
    takes = true;
    const before = asked;
    world.link.signIn();
    await world.clock.advance(1_000);
    expect(asked).toBe(before + 1);
    expect(world.link.state.value.kind).toBe("up");
    await counter.$release();
  });

  it("leaves no timer and no wire when the link closes", async () => {
    start({ calls: "wire" });
    expect(await wayOf()).toBe("by wire");
    await world.link.close();
    for (let turns = 0; turns < 10; turns += 1) await world.clock.settle();
    await server.close({ within: 0 });
    expect(world.clock.pendingCount).toBe(0);
  });
});
