/** A server, and a link that holds from it: the worlds that programs have, in virtual time. */
import { createConnectTransport } from "@connectrpc/connect-node";
import { expect } from "vitest";
import type { OpenWireOptions } from "../../runtime/link/wire-support.ts";
import { wiresBy } from "../../runtime/link/link-wire.ts";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import type { Link } from "../../runtime/link/link.ts";
import { nodePlatform } from "../../runtime/node/platform.ts";
import { openWebSocket } from "../../runtime/node/websocket.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { connectDuplexWire } from "../../runtime/wire/connect-duplex.ts";
import type { CodecName } from "../../runtime/wire/handshake.ts";
import type { Wire } from "../../runtime/wire/wire.ts";
import { createServer, memoryStore, type Server, type ServerOptions } from "../../server/index.ts";
import { Traffic } from "./pipes.ts";
import { quiet, slowed } from "./remote-world.ts";
import { type ObjectWorld, recordedLog, type World, type WorldOptions } from "./world.ts";

export interface ServerWorld extends ObjectWorld {
  readonly link: NonNullable<ObjectWorld["link"]>;
  readonly server: Server;
  readonly client: Link;
  readonly traffic: Traffic;
  /** A link of another life of the client. The test closes it. */
  anotherLink(options?: LinkOptions): Link;
}

export interface ServerWorldOptions extends WorldOptions {
  readonly server?: ServerOptions;
  readonly client?: LinkOptions;
}

export interface ServerKind extends World {
  create(options?: ServerWorldOptions): Promise<ServerWorld>;
}

type WireName = "WebSocket" | "Connect duplex";

export function serverKind(wire: WireName, codec: CodecName): ServerKind {
  return {
    name: `a server and a link over ${wire} with ${codec}`,
    create: (options) => make(wire, codec, options),
  };
}

async function make(
  wire: WireName,
  codec: CodecName,
  options: ServerWorldOptions = {},
): Promise<ServerWorld> {
  const clock = virtualClock();
  const { log, errors } = recordedLog();
  const { caller, readyTimeoutMs } = options;
  const random = seededRandom(7);
  // A store refuses what may have been sent before it began.
  const began = { ...clock, monotonic: () => clock.monotonic(), now: () => clock.now() - 60_000 };
  const server = createServer({
    clock,
    random,
    log,
    store: memoryStore({ clock: { ...began, timer: (ms, fn, its) => clock.timer(ms, fn, its) }, random }),
    ...(caller === undefined ? {} : { authenticate: () => ({ by: caller.by ?? "", grants: caller.grants }) }),
    ...(readyTimeoutMs === undefined ? {} : { readyTimeoutMs }),
    ...options.server,
  });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  const traffic = new Traffic();
  let last: Wire | undefined;
  let away = false;
  const open = async (its: OpenWireOptions): Promise<Wire> => {
    if (away) throw new Error("the network is away");
    const made =
      wire === "WebSocket"
        ? await openWebSocket(its)
        : connectDuplexWire(createConnectTransport({ baseUrl: url, httpVersion: "2" }), new Headers());
    last = traffic.trace(made, true);
    return last;
  };
  const linkOf = createLinkOf(nodePlatform, []);
  const linkWith = (its: LinkOptions = {}): Link =>
    linkOf(url, {
      clock,
      random: seededRandom((worldCount += 1)),
      codec,
      wire: wiresBy(open),
      outbox: { atStart: false },
      session: `objects-${worldCount}`,
      ...its,
    });
  const client = linkWith(options.client);
  const settle = async (): Promise<void> => {
    // Packets to and from the server cannot be counted there: what is under way on a loopback is waited for.
    for (let round = 0; round < 3; round++) {
      await quiet(traffic, clock);
      await new Promise((resolve) => setTimeout(resolve, 4));
    }
    await quiet(traffic, clock);
  };
  const slow = slowed(clock, settle);
  return {
    clock: slow,
    provider: server.host,
    holder: client,
    server,
    client,
    errors,
    traffic,
    anotherLink: linkWith,
    settle,
    link: {
      async drop() {
        away = true;
        last?.cut(new Error("cut by the test"));
        while (traffic.openCount > 0) await new Promise((resolve) => setImmediate(resolve));
        await settle();
      },
      async connect() {
        away = false;
        // The link opens a new one by itself, after a wait of its own.
        for (let count = 0; traffic.openCount === 0 && count < 100; count++) await slow.advance(100);
        await settle();
      },
    },
    async [Symbol.asyncDispose]() {
      const closed = Promise.all([client.close(), server.close({ within: 0 })]);
      await slow.advance(120_000);
      await closed;
      expect(clock.pendingCount, "timers that are left").toBe(0);
    },
  };
}

let worldCount = 0;
