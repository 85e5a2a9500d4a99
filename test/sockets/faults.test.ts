import { describe, expect, it } from "vitest";
import {
  endsWithBudget,
  failureOf,
  shortTiming,
  type SocketWorld,
  socketWorld,
  stateOf,
} from "../support/socket-world.ts";

/** Each fault as it is switched on, and whether a call under it may have run. */
const faults: Readonly<Record<string, (world: SocketWorld) => Promise<void> | void>> = {
  "connections that are cut": async ({ proxy }) => {
    await proxy.welcome({ kind: "hang-up" });
    proxy.cut();
  },
  "a half-open connection": ({ proxy }) => proxy.goSilent(),
  "replies that are lost": ({ proxy }) => {
    proxy.replies.lost = true;
  },
  "requests that are lost": ({ proxy }) => {
    proxy.requests.lost = true;
  },
  "refused connects": async ({ proxy }) => {
    await proxy.refuse();
    proxy.cut();
  },
  "connects that hang": async ({ proxy }) => {
    await proxy.welcome({ kind: "hang" });
    proxy.cut();
  },
  "a slow way back": ({ proxy }) => {
    proxy.replies.delayMs = 5_000;
  },
  "a 404 page of an edge": async ({ proxy }) => {
    const headers = { "content-type": "text/html" };
    await proxy.welcome({ kind: "answer-http2", status: 404, headers, body: "<h1>404</h1>" });
    proxy.cut();
  },
  "a 200 sign-in page": async ({ proxy }) => {
    const headers = { "content-type": "text/html" };
    await proxy.welcome({ kind: "answer-http2", status: 200, headers, body: "<form>" });
    proxy.cut();
  },
  "a 503 of a proxy": async ({ proxy }) => {
    await proxy.welcome({ kind: "answer-http2", status: 503, headers: {}, body: "no" });
    proxy.cut();
  },
  "HTTP/1.1 in place of HTTP/2": async ({ proxy }) => {
    await proxy.welcome({ kind: "answer", bytes: "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n" });
    proxy.cut();
  },
};

describe.each(Object.entries(faults))("%s", (_, begin) => {
  it("end a call with its budget, and no call when they end before it: then each command ran once", async () => {
    await using world = await socketWorld();
    const { client, proxy, link, server } = world;
    await client.read({});
    await begin(world);
    await endsWithBudget(500, (timeoutMs) => client.read({}, { timeoutMs }));
    const calls = [client.add({ amount: 1n }), client.add({ amount: 10n })];
    if (link.state.value.kind !== "down") await stateOf(link, "down");
    await proxy.heal();
    proxy.cut();
    await Promise.all(calls);
    expect(server.count).toEqual({ total: 11n, runs: 2 });
    expect(link.state.value.kind).toBe("up");
    const kinds = world.states.map(({ kind }) => kind);
    expect(kinds.slice(0, 3)).toEqual(["idle", "up", "down"]);
  });
});

describe("a command whose handler is slow", () => {
  it("runs once when its connection is cut in the middle of the run, and gives the first run's reply", async () => {
    let finish: () => void = () => undefined;
    let begun: () => void = () => undefined;
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    let runs = 0;
    await using world = await socketWorld(
      {},
      {
        handlers: {
          add: async ({ amount }) => {
            runs += 1;
            begun();
            await new Promise<void>((resolve) => {
              finish = resolve;
            });
            return { total: amount, text: `run ${runs}` };
          },
        },
      },
    );
    const call = world.client.add({ amount: 10n });
    await running;
    world.proxy.cut();
    await stateOf(world.link, "down");
    const second = world.proxy.next("opened");
    await second;
    await world.proxy.next("requestBytes");
    finish();
    expect(await call).toMatchObject({ total: 10n, text: "run 1" });
    expect(runs).toBe(1);
  });

  it("runs once when its reply is lost", async () => {
    await using world = await socketWorld();
    await world.client.read({});
    world.proxy.replies.lost = true;
    const lost = world.proxy.next("replyLost");
    const call = world.client.add({ amount: 5n });
    await lost;
    world.proxy.replies.lost = false;
    expect((await call).total).toBe(5n);
    expect(world.server.count.runs).toBe(1);
  });
});

it("a query is tried again also when its first try set a response header before it failed", async () => {
  let runs = 0;
  await using world = await socketWorld(
    {},
    {
      handlers: {
        read: (_, context) => {
          runs += 1;
          context.responseHeader.set("x-request", `${runs}`);
          if (runs === 1) world.proxy.cut();
          return { total: BigInt(runs) };
        },
      },
    },
  );
  expect((await world.client.read({})).total).toBe(2n);
});

it("a server that accepts and hangs up meets waits that grow, and is never shown as up", async () => {
  await using world = await socketWorld({ timing: { ...shortTiming, firstWaitMs: 25, waitMsMost: 400 } });
  await world.proxy.welcome({ kind: "hang-up" });
  await failureOf(world.client.read({}, { timeoutMs: 2_000 }));
  expect(world.states.map(({ kind }) => kind)).not.toContain("up");
  // 25 + 50 + 100 + 200, then 400 each, less half of it at most.
  expect(world.proxy.openedCount).toBeGreaterThanOrEqual(6);
  expect(world.proxy.openedCount).toBeLessThanOrEqual(16);
});

it("a call to a port of this machine where nobody listens ends at once, and sets no state", async () => {
  await using world = await socketWorld();
  await world.proxy.refuse();
  const start = performance.now();
  expect(await failureOf(world.client.add({}))).toMatchObject({ reason: "NO_SERVER", outcome: "not-run" });
  expect(await failureOf(world.client.read({}))).toMatchObject({ reason: "NO_SERVER" });
  expect(performance.now() - start).toBeLessThan(1_000);
  expect(world.states.length).toBe(1);
});

it("a network that goes away without a word ends a query at its budget, and a command after it comes back", async () => {
  await using world = await socketWorld();
  await world.client.read({});
  world.proxy.goSilent();
  const command = world.client.add({ amount: 7n });
  await endsWithBudget(900, (timeoutMs) => world.client.read({}, { timeoutMs }));
  await stateOf(world.link, "down");
  await world.proxy.heal();
  const back = performance.now();
  expect((await command).total).toBe(7n);
  // Not on the dead connection, which still hangs.
  expect(performance.now() - back).toBeLessThan(1_500);
  expect(world.server.count.runs).toBe(1);
});

it("500 rounds of calls and streams that are aborted or left leave nothing unhandled, and no socket", async () => {
  await using world = await socketWorld();
  const { client, link } = world;
  let seed = 1;
  const chance = (): number => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  for (let round = 0; round < 500; round += 1) {
    const abort = new AbortController();
    const { signal } = abort;
    const work = [
      client.read({}, { signal }),
      client.add({}, { signal }),
      (async () => {
        const most = Math.floor(chance() * 4);
        let items = 0;
        for await (const item of client.follow({ count: 3n }, { signal })) {
          expect(item.number).toBeGreaterThan(0n);
          items += 1;
          if (items > most) break;
        }
      })(),
    ];
    const ends = Promise.allSettled(work);
    if (chance() < 0.5) await Promise.race(work).catch(() => undefined);
    if (chance() < 0.1) world.proxy.cut();
    abort.abort();
    await ends;
  }
  const last = Promise.allSettled([client.read({}), client.add({})]);
  await link.close();
  await last;
  expect(world.harness.unhandled).toEqual([]);
}, 40_000);
