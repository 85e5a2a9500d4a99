import { once } from "node:events";
import { createServer as createHttp2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { type Transport, Code, ConnectError } from "@connectrpc/connect";
import {
  connectNodeAdapter,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../runtime/base/clock.ts";
import { systemRandom } from "../../runtime/base/random.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import { nodePlatform } from "../../runtime/node/platform.ts";
import { faultyProxy } from "../../runtime/testing/node.ts";
import { type WebLinkOptions, webPlatform } from "../../runtime/web/platform.ts";
import { createServer } from "../../server/index.ts";
import { Tally, type TallyClient, tallyClient } from "../gen/test/v1/tally_holdfast.ts";
import { harness } from "../support/harness.ts";
import { failureOf, shortTiming, socketWorld, stateOf } from "../support/socket-world.ts";
import { startTally, tallyHandlers } from "../support/tally-server.ts";

describe("a server that sends GOAWAY again and again", () => {
  it("fails no call, and runs each command once", async () => {
    await using held = harness();
    const count = { total: 0n, runs: 0 };
    const server = held.own(createServer().implement(Tally, tallyHandlers(count)));
    const sessions = new Set<ServerHttp2Session>();
    const http = createHttp2Server(connectNodeAdapter({ routes: server.routes, fallback: server.fallback }));
    http.on("session", (session) => {
      sessions.add(session);
      session.on("close", () => sessions.delete(session));
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const { port } = http.address() as AddressInfo;
    const linkOf = createLinkOf(nodePlatform, []);
    // Longer waits: here no try is meant to end by its time.
    const timing = { ...shortTiming, tryWaitMs: 6_000, connectWaitMs: 3_000 };
    const link = held.own(linkOf(`http://127.0.0.1:${port}`, { timing }));
    const client = tallyClient(link);
    for (let round = 1; round <= 8; round += 1) {
      const calls: Promise<unknown>[] = [];
      for (let at = 0; at < 20; at += 1) calls.push(client.add({ amount: 1n }), client.read({}));
      if (round > 1) for (const session of sessions) session.close();
      await Promise.all(calls);
      expect(count.runs).toBe(round * 20);
    }
    await client.read({});
    // No pile of draining connections: each one ended with its last stream.
    while (sessions.size > 1) await Promise.race([...sessions].map((session) => once(session, "close")));
    expect(sessions.size).toBe(1);
    await link.close();
    await new Promise<void>((resolve) => http.close(() => resolve()));
  });
});

describe("a server that closes and starts again on the same port", () => {
  it("fails no query, and is up again in the eyes of the link", async () => {
    await using world = await socketWorld();
    const { client, server, link } = world;
    await client.read({});
    let stop = false;
    const steady = Array.from({ length: 4 }, async () => {
      let reads = 0;
      for (; !stop; reads += 1) await client.read({});
      return reads;
    });
    const down = stateOf(link, "down");
    await server.server.close({ within: 100 });
    await down;
    const again = world.harness.own(createServer().implement(Tally, tallyHandlers(server.count)));
    await again.listen({ host: "127.0.0.1", port: server.address.port });
    await stateOf(link, "up");
    stop = true;
    for (const reads of await Promise.all(steady)) expect(reads).toBeGreaterThan(0);
    expect((await client.add({ amount: 2n })).total).toBe(2n);
  });
});

describe("a refusal of a real server", () => {
  it("ends a command with the handler's error, and leaves the link up", async () => {
    await using world = await socketWorld(
      {},
      {
        handlers: {
          add: () => {
            throw new ConnectError("not today", Code.FailedPrecondition);
          },
        },
      },
    );
    const error = await failureOf(world.client.add({}));
    expect(error).toMatchObject({
      code: Code.FailedPrecondition,
      outcome: "refused",
      rawMessage: "not today",
    });
    expect(world.states.map(({ kind }) => kind)).toEqual(["idle", "up"]);
  });

  it("of a sign-in asks for a fresh token once", async () => {
    const asked: (string | undefined)[] = [];
    await using world = await socketWorld(
      {
        token: ({ rejected }) => {
          asked.push(rejected);
          return rejected === undefined ? "old" : "new";
        },
      },
      {
        authenticate: ({ token }) => {
          if (token !== "new") throw new ConnectError("an old token", Code.Unauthenticated);
          return { by: "anna" };
        },
      },
    );
    await world.client.read({});
    expect(asked).toEqual([undefined, "old"]);
  });
});

/** Every way to the same server. */
const ways: Readonly<Record<string, (origin: string) => { client: TallyClient } & AsyncDisposable>> = {
  "HTTP/2": (origin) => over(createLinkOf(nodePlatform, [])(origin, { timing: shortTiming })),
  "HTTP/1.1": (origin) =>
    over(createLinkOf(nodePlatform, ["httpVersion"])(origin, { timing: shortTiming, httpVersion: "1.1" })),
  JSON: (origin) => over(createLinkOf(nodePlatform, [])(origin, { timing: shortTiming, format: "json" })),
  fetch: (origin) =>
    over(createLinkOf<WebLinkOptions>(webPlatform, ["fetch"])(origin, { timing: shortTiming })),
  "connect-node, Connect": (origin) =>
    given(origin, createConnectTransport({ baseUrl: origin, httpVersion: "1.1" })),
  "connect-node, gRPC": (origin) =>
    given(origin, createGrpcTransport({ baseUrl: origin, idleConnectionTimeoutMs: 50 })),
  "connect-node, gRPC-Web": (origin) =>
    given(origin, createGrpcWebTransport({ baseUrl: origin, httpVersion: "1.1" })),
};

function over(link: ReturnType<ReturnType<typeof createLinkOf>>): { client: TallyClient } & AsyncDisposable {
  return { client: tallyClient(link), [Symbol.asyncDispose]: () => link.close() };
}

function given(origin: string, transport: Transport): { client: TallyClient } & AsyncDisposable {
  const platform = { ...nodePlatform, clock: systemClock, random: systemRandom };
  return over(createLinkOf(platform, [])(origin, { timing: shortTiming, transport }));
}

describe.each(Object.entries(ways))("a link over %s", (_, open) => {
  it("runs commands once through cuts and lost replies, and hears refusals as the server's", async () => {
    await using server = await startTally({
      handlers: {
        nudge: () => {
          throw new ConnectError("no", Code.PermissionDenied);
        },
      },
    });
    await using proxy = await faultyProxy({ target: { port: server.address.port } });
    await using way = open(proxy.origin);
    const { client } = way;
    expect((await client.add({ amount: 1n, text: "a" })).text).toBe("a");
    expect(await failureOf(client.nudge({}))).toMatchObject({
      code: Code.PermissionDenied,
      outcome: "refused",
    });
    proxy.replies.lost = true;
    const lost = proxy.next("replyLost");
    const command = client.add({ amount: 10n });
    await lost;
    await proxy.heal();
    proxy.cut();
    expect((await command).total).toBe(11n);
    expect(server.count.runs).toBe(2);
    await proxy.welcome({ kind: "hang-up" });
    proxy.cut();
    const query = client.read({});
    await proxy.next("opened");
    await proxy.heal();
    expect((await query).total).toBe(11n);
  });
});

describe("over fetch", () => {
  it("a rejection in unknown words, foreign JSON, a page and a sign-in page are no refusals", async () => {
    await using server = await startTally();
    const page = (status: number, type: string, body: string): Response =>
      new Response(body, { status, headers: { "content-type": type } });
    const steps: (() => Promise<Response> | Response)[] = [
      () => Promise.reject(new TypeError("the flux capacitor is empty")),
      () => page(404, "application/json", '{"error":"no such app"}'),
      () => page(404, "text/html", "<h1>404</h1>"),
      () => page(200, "text/html", "<form>"),
    ];
    const send: typeof fetch = async (input, init) => {
      if (init?.method === "HEAD") return fetch(input, init);
      return steps.shift()?.() ?? fetch(input, init);
    };
    const linkOf = createLinkOf<WebLinkOptions>(webPlatform, ["fetch"]);
    await using link = linkOf(server.address.url, { timing: shortTiming, fetch: send });
    expect((await tallyClient(link).add({ amount: 4n })).total).toBe(4n);
    expect(steps).toEqual([]);
    expect(server.count.runs).toBe(1);
  });
});
