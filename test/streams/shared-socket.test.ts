/** Streams that share one WebSocket, against the real server in virtual time. */
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { Clock } from "../../runtime/base/clock.ts";
import type { StreamDefinition } from "../../runtime/base/definition.ts";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import type { Link } from "../../runtime/link/link.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { createServer, memoryStore, type Server, type ServerOptions } from "../../server/index.ts";
import { Tally, type TallyHandlers } from "../gen/test/v1/tally_holdfast.ts";
import { harness } from "../support/harness.ts";
import { numbers } from "../support/stream-world.ts";
import { tallyHandlers } from "../support/tally-server.ts";
import { SimulatedNet } from "./simulated-net.ts";

/** A loop that reads a stream, and can be held up. */
interface Reader {
  readonly got: number[];
  lost: number;
  restarts: number;
  readonly states: string[];
  /** What it threw. */
  error: unknown;
  pause(): void;
  goOn(): void;
  stop(): Promise<void>;
}

interface World extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly net: SimulatedNet;
  readonly link: Link;
  /** Undefined: it is away. */
  server: Server | undefined;
  /** Handlers that were asked, and those that follow now. */
  readonly asked: { count: number; now: number };
  read(count?: bigint, definition?: StreamDefinition): Reader;
  publish(count?: number): void;
}

interface WorldOptions {
  readonly link?: LinkOptions;
  readonly server?: ServerOptions;
  readonly follow?: TallyHandlers["follow"];
  /** The client's clock, where it is not that of the world. */
  readonly clientClock?: (clock: VirtualClock) => Clock;
}

async function socketWorld(options: WorldOptions = {}): Promise<World> {
  const held = harness();
  const clock = virtualClock();
  held.watch(clock);
  const random = seededRandom(1);
  const store = memoryStore({ clock, random });
  const asked = { count: 0, now: 0 };
  const server = createServer({ clock, store, random: random.fork("server"), ...options.server });
  const follow: TallyHandlers["follow"] = (request, context) => {
    asked.count += 1;
    asked.now += 1;
    context.signal.addEventListener("abort", () => {
      asked.now -= 1;
    });
    return options.follow?.(request, context) ?? context.follow(server.topic(Tally.follow, "all"));
  };
  server.implement(Tally, tallyHandlers({ total: 0n, runs: 0 }, { follow }));
  const world = { server: server as Server | undefined };
  const net = new SimulatedNet(clock, random.fork("net"), () => world.server, "WebSocket");
  const clientClock = options.clientClock?.(clock);
  const link = createLinkOf(net.platform, [])("http://simulated.test", {
    ...options.link,
    ...(clientClock === undefined ? {} : { clock: clientClock }),
  });
  let published = 0;
  await clock.advance();
  return Object.assign(world, {
    clock,
    net,
    link,
    asked,
    read: (count = 0n, definition: StreamDefinition = Tally.follow) => readerOf(link, count, definition),
    publish(count = 1) {
      for (let made = 0; made < count; made += 1) {
        published += 1;
        server.topic(Tally.follow, "all").publish({ number: BigInt(published) });
      }
    },
    async [Symbol.asyncDispose]() {
      await link.close();
      await clock.advance(5_000);
      expect(net.openCount).toBe(0);
      const closed = server.close({ within: 0 });
      await clock.advance(60_000);
      await closed;
      await held[Symbol.asyncDispose]();
    },
  });
}

function readerOf(link: Link, count: bigint, definition: StreamDefinition): Reader {
  let gate: Promise<void> | undefined;
  let open: (() => void) | undefined;
  const stream = link.stream(
    definition as typeof Tally.follow,
    { count },
    {
      onGap: (gap) => {
        if (gap.$gap === "lost") reader.lost += gap.count;
        else reader.restarts += 1;
      },
    },
  );
  const reader: Reader = {
    got: [],
    lost: 0,
    restarts: 0,
    states: [],
    error: undefined,
    pause() {
      gate ??= new Promise((resolve) => {
        open = resolve;
      });
    },
    goOn() {
      gate = undefined;
      open?.();
    },
    stop: async () => {
      reader.goOn();
      await stream.close();
      await over;
    },
  };
  stream.state.subscribe(({ kind }) => {
    if (reader.states.at(-1) !== kind) reader.states.push(kind);
  });
  const over = (async () => {
    try {
      for await (const { number } of stream) {
        reader.got.push(Number(number));
        await gate;
      }
    } catch (error) {
      reader.error = error;
    }
  })();
  return reader;
}

it("many streams go over one socket, which closes with the last of them and opens with the next", async () => {
  await using world = await socketWorld();
  const readers = Array.from({ length: 8 }, () => world.read());
  await world.clock.advance();
  world.publish(3);
  await world.clock.advance();
  expect(readers.map(({ got }) => got)).toEqual(readers.map(() => [1, 2, 3]));
  expect([world.net.socketCount, world.net.connectionCount, world.asked.now]).toEqual([1, 0, 8]);
  for (const reader of readers.slice(1)) await reader.stop();
  await world.clock.advance();
  expect([world.net.openCount, world.asked.now]).toEqual([1, 1]);
  await readers[0]?.stop();
  await world.clock.advance();
  expect([world.net.openCount, world.asked.now]).toEqual([0, 0]);
  const next = world.read();
  await world.clock.advance();
  world.publish();
  await world.clock.advance();
  expect([world.net.socketCount, next.got]).toEqual([2, [4]]);
});

it("a cut is one new connect for all of them, which nobody sees", async () => {
  await using world = await socketWorld();
  const readers = Array.from({ length: 5 }, () => world.read());
  await world.clock.advance(5_000);
  world.publish(2);
  world.net.cut();
  world.publish(2);
  await world.clock.advance();
  expect(readers.map(({ got }) => got)).toEqual(readers.map(() => [1, 2, 3, 4]));
  expect(readers.map(({ states }) => states)).toEqual(readers.map(() => ["connecting", "open"]));
  expect([world.net.socketCount, world.net.connectionCount]).toEqual([2, 0]);
});

it("a reader that takes nothing holds up no other, and goes on where it was", async () => {
  await using world = await socketWorld();
  const slow = world.read();
  const fast = world.read();
  await world.clock.advance(1_000);
  slow.pause();
  for (let round = 0; round < 10; round += 1) {
    world.publish(100);
    await world.clock.advance(10);
  }
  expect([fast.got.length, slow.got.length]).toEqual([1_000, 1]);
  expect(world.asked.now).toBe(1); // what nobody reads is not sent
  slow.goOn();
  await world.clock.advance(10);
  expect(slow.got).toEqual(numbers(1_000));
  expect([slow.lost, slow.restarts, slow.states]).toEqual([0, 0, ["connecting", "open"]]);
  expect([world.asked.now, world.net.socketCount]).toEqual([2, 1]);
  const before = world.asked.count;
  expect(before).toBe(3); // one follow for each, and one more for the slow one
  world.publish();
  await world.clock.advance();
  expect([slow.got.at(-1), world.asked.count]).toEqual([1_001, before]);
});

it("one that was away for longer than the ring is told how many are lost, in their place", async () => {
  await using world = await socketWorld();
  const slow = world.read();
  await world.clock.advance(1_000);
  slow.pause();
  for (let round = 0; round < 30; round += 1) {
    world.publish(100);
    await world.clock.advance(10);
  }
  slow.goOn();
  await world.clock.advance(1_000);
  expect(slow.got.at(-1)).toBe(3_000);
  expect(slow.lost).toBeGreaterThan(1_000);
  expect(slow.got.length + slow.lost).toBe(3_000);
  expect(slow.restarts).toBe(0);
});

it("the end and the refusal of one are no matter to the others", async () => {
  await using world = await socketWorld({
    follow: ({ count }, context) => {
      if (count === 7n) throw new ConnectError("not this one", Code.PermissionDenied);
      if (count === 8n) return context.numbered({ after: async function* () {} });
      return undefined as never;
    },
  });
  const stays = world.read();
  const refused = world.read(7n);
  const ends = world.read(8n);
  await world.clock.advance();
  world.publish();
  await world.clock.advance();
  expect(refused.error).toMatchObject({ code: Code.PermissionDenied });
  expect([ends.error, ends.states.at(-1)]).toEqual([undefined, "ended"]);
  expect([stays.got, world.net.socketCount]).toEqual([[1], 1]);
});

it("a stream without numbers goes by itself, since only its own connection can slow its server down", async () => {
  await using world = await socketWorld({
    follow: async function* ({ count }) {
      for (let number = 1n; number <= count; number += 1n) yield { number };
    },
  });
  const reader = world.read(2_000n);
  reader.pause();
  await world.clock.advance(1_000);
  expect(reader.got).toEqual([1]);
  reader.goOn();
  await world.clock.advance(1_000);
  expect(reader.got).toEqual(numbers(2_000));
  expect([reader.restarts, reader.states.at(-1)]).toEqual([0, "ended"]);
  expect([world.net.connectionCount, world.net.openCount]).toEqual([1, 0]);
});

describe("where no WebSocket gets through", () => {
  it("streams go by Follow, and a WebSocket is tried again after a minute", async () => {
    await using world = await socketWorld();
    world.net.blocking = true;
    const readers = [world.read(), world.read()];
    await world.clock.advance();
    world.publish();
    await world.clock.advance();
    expect(readers.map(({ got }) => got)).toEqual([[1], [1]]);
    expect(readers.map(({ states }) => states)).toEqual(readers.map(() => ["connecting", "open"]));
    expect([world.net.connectionCount, world.net.socketCount]).toEqual([2, 0]);
    world.net.blocking = false;
    await world.clock.advance(59_000);
    world.net.cut();
    await world.clock.advance();
    expect([world.net.connectionCount, world.net.socketCount]).toEqual([4, 0]);
    await world.clock.advance(2_000);
    world.net.cut();
    world.publish();
    await world.clock.advance();
    expect([world.net.connectionCount, world.net.socketCount]).toEqual([4, 1]);
    expect(readers.map(({ got }) => got)).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  it("a server that is away is not taken for a proxy", async () => {
    await using world = await socketWorld();
    const { server } = world;
    world.server = undefined;
    const reader = world.read();
    await world.clock.advance(3_000);
    expect(reader.states.at(-1)).toBe("down");
    world.server = server;
    await world.clock.advance(30_000);
    world.net.cut();
    await world.clock.advance(1_000);
    world.server = undefined;
    world.net.cut();
    await world.clock.advance(200);
    world.server = server;
    await world.clock.advance(30_000);
    expect(reader.states.at(-1)).toBe("open");
    expect([world.net.connectionCount, world.net.socketCount]).toEqual([0, 3]);
  });
});

describe("silence", () => {
  it("of the network is found by the signs, and the streams come back on another socket", async () => {
    await using world = await socketWorld();
    const readers = [world.read(), world.read(), world.read()];
    await world.clock.advance(10_000);
    world.net.goSilent();
    world.publish(3);
    await world.clock.advance(30_000);
    world.net.silent = false;
    await world.clock.advance(20_000);
    expect(readers.map(({ got }) => got)).toEqual(readers.map(() => [1, 2, 3]));
    expect(world.net.socketCount).toBe(2);
  });

  it("is asked about at a wake, which keeps a socket that lives and replaces one that gives no sign in 5 s", async () => {
    await using world = await socketWorld();
    const reader = world.read();
    await world.clock.advance(10_000);
    world.net.wake();
    await world.clock.advance(10_000);
    expect(world.net.socketCount).toBe(1);
    world.net.goSilent();
    world.publish();
    world.net.wake();
    await world.clock.advance(4_999);
    world.net.silent = false;
    expect(world.net.socketCount).toBe(1);
    await world.clock.advance(1);
    expect([world.net.socketCount, reader.got]).toEqual([2, [1]]);
  });

  it("is never seen where timers come once a minute and what arrives comes on time", async () => {
    await using world = await socketWorld({ clientClock: onceAMinute });
    const readers = [world.read(), world.read()];
    await world.clock.advance(1_000);
    for (let minute = 0; minute < 10; minute += 1) await world.clock.advance(60_000); // signs alone
    for (let each = 0; each < 60; each += 1) {
      world.publish();
      await world.clock.advance(10_000);
    }
    expect(readers.map(({ states }) => states)).toEqual(readers.map(() => ["connecting", "open"]));
    expect(readers.map(({ got }) => got.length)).toEqual([60, 60]);
    expect([world.net.socketCount, world.net.connectionCount]).toEqual([1, 0]);
  });

  it("of a laptop that slept for two hours costs one probe, and each stream goes on where it was", async () => {
    await using world = await socketWorld();
    const readers = [world.read(), world.read()];
    await world.clock.advance(10_000);
    await world.clock.sleepLaptop(7_200_000);
    world.publish(2);
    await world.clock.advance(60_000);
    expect(readers.map(({ got }) => got)).toEqual(readers.map(() => [1, 2]));
    expect(world.net.socketCount).toBeLessThanOrEqual(2);
  });

  it("is judged by the shortest idle time of the streams that share the socket", async () => {
    await using world = await socketWorld();
    const patient = world.read();
    await world.clock.advance(10_000);
    const hasty = world.read(0n, { ...Tally.follow, idleMs: 3_000 });
    await world.clock.advance(60_000);
    world.publish();
    await world.clock.advance();
    expect([patient.got, hasty.got]).toEqual([[1], [1]]);
    expect([patient.states, hasty.states]).toEqual([
      ["connecting", "open"],
      ["connecting", "open"],
    ]);
    expect(world.net.socketCount).toBe(2);
  });
});

/** A page in the background: its timers come at full minutes. */
function onceAMinute(clock: VirtualClock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    timer(delayMs, fn) {
      if (delayMs === Number.POSITIVE_INFINITY) return clock.timer(delayMs, fn);
      const dueAt = clock.monotonic() + Math.max(0, delayMs);
      return clock.timer(Math.ceil(dueAt / 60_000) * 60_000 - clock.monotonic(), fn);
    },
  };
}

describe("the sign-in", () => {
  it("is asked for at each connect, and goes in hello", async () => {
    const seen: (string | undefined)[] = [];
    let tokens = 0;
    await using world = await socketWorld({
      link: { token: () => `t${(tokens += 1)}` },
      server: {
        authenticate: ({ token }) => {
          seen.push(token);
          return { by: "ada" };
        },
      },
    });
    const readers = [world.read(), world.read()];
    await world.clock.advance(5_000);
    world.net.cut();
    await world.clock.advance();
    world.publish();
    await world.clock.advance();
    expect(readers.map(({ got }) => got)).toEqual([[1], [1]]);
    expect(seen).toHaveLength(2);
    expect(new Set(seen).size).toBe(2);
  });

  it("that is revoked or run out is renewed, and each stream is authorised anew", async () => {
    let good = "t1";
    await using world = await socketWorld({
      link: { token: ({ rejected }) => (rejected === undefined ? "t1" : good) },
      server: {
        authenticate: ({ token }) => {
          if (token !== good || good === "none") throw new ConnectError("who?", Code.Unauthenticated);
          return { by: "ada" };
        },
      },
    });
    const readers = [world.read(), world.read()];
    await world.clock.advance(5_000);
    good = "t2";
    world.server?.revoke("ada");
    await world.clock.advance(5_000);
    world.publish();
    await world.clock.advance();
    expect(readers.map(({ got }) => got)).toEqual([[1], [1]]);
    good = "none";
    world.server?.revoke("ada");
    await world.clock.advance(5_000);
    expect(readers.map(({ error }) => (error as ConnectError).code)).toEqual([
      Code.Unauthenticated,
      Code.Unauthenticated,
    ]);
  });

  it("of another person is never used for a stream of this one", async () => {
    let by = "ada";
    const callers: string[] = [];
    await using world = await socketWorld({
      link: { token: () => by },
      server: { authenticate: ({ token }) => ({ by: token ?? "nobody" }) },
      follow: (_, { caller }) => {
        callers.push(caller.by ?? "");
        return undefined as never;
      },
    });
    const before = world.read();
    await world.clock.advance(5_000);
    by = "eve";
    world.link.signIn();
    const after = world.read();
    await world.clock.advance(5_000);
    world.publish();
    await world.clock.advance();
    expect(callers).toEqual(["ada", "eve", "eve"]);
    expect([before.got, after.got, world.net.socketCount]).toEqual([[1], [1], 2]);
  });

  it("that one stream is refused for is renewed on a new socket, and the others come over", async () => {
    await using world = await socketWorld({
      link: { token: ({ rejected }) => (rejected === undefined ? "old" : "new") },
      server: { authenticate: ({ token }) => ({ by: token ?? "nobody" }) },
      follow: ({ count }, context) => {
        if (count === 1n && context.caller.by === "old")
          throw new ConnectError("only for new ones", Code.Unauthenticated);
        return undefined as never;
      },
    });
    const other = world.read();
    await world.clock.advance(5_000);
    const strict = world.read(1n);
    await world.clock.advance(5_000);
    world.publish();
    await world.clock.advance();
    expect([other.got, strict.got, strict.error]).toEqual([[1], [1], undefined]);
    expect(other.states).toEqual(["connecting", "open"]);
  });
});

it("a drain ends each with a time to come back, and nobody takes it for a fault", async () => {
  await using world = await socketWorld();
  const readers = Array.from({ length: 3 }, () => world.read());
  await world.clock.advance(5_000);
  const { server } = world;
  world.server = undefined;
  const closed = server?.close();
  await world.clock.advance();
  expect(world.asked.now).toBe(0);
  expect(readers.map(({ states }) => states)).toEqual(readers.map(() => ["connecting", "open"]));
  for (const reader of readers) await reader.stop();
  await world.clock.advance(30_000);
  await closed;
});
