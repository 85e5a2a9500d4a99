/** Streams as a browser has them, over real sockets: HTTP/1.1 with six connections, and one WebSocket. */
import { WebSocket as NodeWebSocket } from "ws";
import { expect, it } from "vitest";
import type { HttpClient } from "../../runtime/base/http-client.ts";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import type { Platform } from "../../runtime/link/platform.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import { http1Client } from "../../runtime/node/http1.ts";
import { nodePlatform } from "../../runtime/node/platform.ts";
import { faultyProxy, type FaultyProxy } from "../../runtime/testing/node.ts";
import { type WebLinkOptions, webPlatform } from "../../runtime/web/platform.ts";
import type { WebSocketMaker } from "../../runtime/wire/websocket.ts";
import type { StreamContext } from "../../server/index.ts";
import { Tally, tallyClient, type TallyClient } from "../gen/test/v1/tally_holdfast.ts";
import { type Harness, harness } from "../support/harness.ts";
import { failureOf, shortTiming } from "../support/socket-world.ts";
import { numbers } from "../support/stream-world.ts";
import { startTally, type TallyServer } from "../support/tally-server.ts";

/** Connections that a browser has to one server over HTTP/1.1. */
const connectionsMost = 6;

/** HTTP/1.1 of a browser: a request has a connection until its answer's end, and the seventh waits. */
function sixConnections(client: HttpClient): HttpClient {
  let free = connectionsMost;
  const waiting: (() => void)[] = [];
  const leave = (): void => {
    free += 1;
    waiting.shift()?.();
  };
  return {
    async send(request) {
      while (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      free -= 1;
      try {
        const answer = await client.send(request);
        return { ...answer, body: untilRead(answer.body, leave) };
      } catch (error) {
        leave();
        throw error;
      }
    },
    reach: (url, signal) => client.reach(url, signal),
    retire: () => client.retire(),
    close: () => client.close(),
  };
}

async function* untilRead(body: AsyncIterable<Uint8Array>, over: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    over();
  }
}

/** A page's platform: one pool of six for all, and its WebSocket or none. */
function pagePlatform(webSocket: WebSocketMaker | undefined): Platform<object> {
  const pools = new Map<string, HttpClient>();
  return {
    ...nodePlatform,
    openHttp: (options) => {
      const pool = pools.get(options.origin) ?? sixConnections(http1Client(options));
      pools.set(options.origin, pool);
      return { ...pool, retire: () => undefined, close: () => undefined };
    },
    webSocket: () => webSocket,
  };
}

/** WebSockets that are counted. */
function counted(): { readonly Socket: WebSocketMaker; readonly made: () => number } {
  let made = 0;
  class Socket extends NodeWebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols);
      made += 1;
    }
  }
  return { Socket, made: () => made };
}

interface Page {
  readonly held: Harness;
  readonly server: TallyServer;
  readonly proxy: FaultyProxy;
  readonly client: TallyClient;
  publish(from: number, to: number): void;
}

async function withPage(
  platform: Platform<object>,
  options: LinkOptions & WebLinkOptions,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  await using held = harness();
  const follow = (_: unknown, context: StreamContext): ReturnType<StreamContext["follow"]> =>
    context.follow(server.server.topic(Tally.follow, "all"));
  const server: TallyServer = held.own(await startTally({ handlers: { follow: follow as never } }));
  const proxy = held.own(await faultyProxy({ target: { port: server.address.port } }));
  const link = held.own(createLinkOf(platform, [])(proxy.origin, { timing: shortTiming, ...options }));
  await use({
    held,
    server,
    proxy,
    client: tallyClient(link),
    publish(from, to) {
      for (const number of numbers(to, from))
        server.server.topic(Tally.follow, "all").publish({ number: BigInt(number) });
    },
  });
}

type Items = AsyncIterator<{ readonly number: bigint }, undefined>;

/** Follows, until it is open. */
async function opened(
  client: TallyClient,
): Promise<{ readonly items: Items; readonly first: Promise<number>; readonly close: () => Promise<void> }> {
  const stream = client.follow({});
  const items = stream[Symbol.asyncIterator]();
  const first = items.next().then(({ value }) => Number(value?.number));
  for await (const { kind } of stream.state) if (kind === "open") break;
  return { items, first, close: () => stream.close() };
}

async function take(items: Items, count: number): Promise<readonly number[]> {
  const got: number[] = [];
  while (got.length < count) got.push(Number((await items.next()).value?.number));
  return got;
}

it("eight streams over HTTP/1.1 take one socket, and leave a call its connection", async () => {
  const { Socket, made } = counted();
  await withPage(pagePlatform(Socket), { calls: "http" }, async ({ client, publish }) => {
    const streams = await Promise.all(Array.from({ length: 8 }, () => opened(client)));
    expect((await client.add({ amount: 1n })).total).toBe(1n);
    publish(1, 1);
    expect(await Promise.all(streams.map(({ first }) => first))).toEqual(streams.map(() => 1));
    expect(made()).toBe(1);
    for (const { close } of streams) await close();
  });
});

it("without a WebSocket six of them leave a call none", async () => {
  await withPage(pagePlatform(undefined), { calls: "http" }, async ({ client }) => {
    const streams = await Promise.all(Array.from({ length: connectionsMost }, () => opened(client)));
    const error = await failureOf(client.add({ amount: 1n }, { timeoutMs: 500 }));
    expect(error.reason).toBe("BUDGET_ENDED");
    for (const { close, first } of streams) {
      await close();
      await first;
    }
  });
});

it("each item comes once through cuts and half-open connections", async () => {
  const { Socket, made } = counted();
  await withPage(pagePlatform(Socket), {}, async ({ client, proxy, publish }) => {
    const streams = [await opened(client), await opened(client)];
    publish(1, 1);
    for (const { first } of streams) expect(await first).toBe(1);
    for (let round = 1; round <= 20; round += 1) {
      proxy.cut(round % 2 === 0 ? "reset" : "end");
      publish(round * 10 - 8, round * 10 + 1);
      for (const { items } of streams)
        expect(await take(items, 10)).toEqual(numbers(round * 10 + 1, round * 10 - 8));
    }
    expect(made()).toBeGreaterThan(10);
    for (const { close } of streams) await close();
  });
});

it("a reader that takes nothing slows nobody, and hears what it lost when it goes on", async () => {
  const { Socket, made } = counted();
  await withPage(pagePlatform(Socket), {}, async ({ client, publish }) => {
    const slow = client.follow({});
    const slowItems = slow[Symbol.asyncIterator]();
    const slowFirst = slowItems.next();
    for await (const { kind } of slow.state) if (kind === "open") break;
    const fast = await opened(client);
    const total = 20_000;
    for (let at = 0; at < total; at += 200) {
      publish(at + 1, at + 200);
      if (at === 0) expect(await fast.first).toBe(1);
      const from = at === 0 ? 2 : at + 1;
      expect(await take(fast.items, at + 200 - from + 1)).toEqual(numbers(at + 200, from));
    }
    let last = Number((await slowFirst).value?.number);
    let got = 1;
    while (last < total) {
      last = Number((await slowItems.next()).value?.number);
      got += 1;
      expect(last).toBe(got + slow.lostCount);
    }
    expect(slow.lostCount).toBeGreaterThan(0);
    expect(made()).toBe(1);
    await slow.close();
    await fast.close();
  });
});

it("a browser's link uses its WebSocket, and fetch where that does not get through", async () => {
  let made = 0;
  class Nowhere extends NodeWebSocket {
    constructor(url: string, protocols: string[]) {
      super(url.replace(/holdfast.*/, "nowhere"), protocols);
      made += 1;
    }
  }
  const { Socket, made: count } = counted();
  for (const webSocket of [Socket, Nowhere as unknown as WebSocketMaker]) {
    const platform = webPlatform as Platform<object>;
    await withPage(platform, { webSocket: webSocket as typeof WebSocket }, async ({ client, publish }) => {
      const streams = [await opened(client), await opened(client)];
      publish(1, 3);
      for (const { first, items } of streams)
        expect([await first, ...(await take(items, 2))]).toEqual([1, 2, 3]);
      for (const { close } of streams) await close();
    });
  }
  expect([count(), made]).toEqual([1, 1]);
});
