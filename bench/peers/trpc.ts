/** tRPC over WebSocket, over HTTP, and over HTTP with its batching link. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import {
  createTRPCClient,
  createWSClient,
  httpBatchLink,
  httpLink,
  type TRPCLink,
  wsLink,
} from "@trpc/client";
import { initTRPC } from "@trpc/server";
import { createHTTPServer } from "@trpc/server/adapters/standalone";
import { applyWSSHandler } from "@trpc/server/adapters/ws";
import { WebSocket, WebSocketServer } from "ws";
import { type Connected, type Note, type Peer, pouredText, type Served } from "../peer.ts";

const t = initTRPC.create();
const noteOf = (input: unknown): Note => input as Note; // the cheapest parser there is

type Wake = (note: Note) => void;
const followers = new Set<Wake>();

const router = t.router({
  ask: t.procedure.input(noteOf).query(({ input }) => ({ text: input.text, n: input.n + 1 })),
  pour: t.procedure.subscription(async function* ({ signal }) {
    for (let n = 1; signal?.aborted !== true; n += 1) {
      yield { text: pouredText, n };
      // An endless generator would let the server do nothing else.
      if (n % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }),
  tail: t.procedure.subscription(async function* ({ signal }) {
    let items: Note[] = [{ text: "open", n: 0 }];
    let wake: (() => void) | undefined;
    const follower: Wake = (note) => {
      items.push(note);
      wake?.();
    };
    followers.add(follower);
    signal?.addEventListener("abort", () => {
      followers.delete(follower);
      wake?.();
    });
    while (signal?.aborted !== true) {
      const now = items;
      items = [];
      yield* now;
      if (items.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    }
  }),
});
type Router = typeof router;

async function serve(): Promise<Served> {
  const http = createHTTPServer({ router, allowMethodOverride: true });
  applyWSSHandler({ wss: new WebSocketServer({ server: http, perMessageDeflate: false }), router });
  await once(http.listen(0, "127.0.0.1"), "listening");
  return {
    port: (http.address() as AddressInfo).port,
    publish(note) {
      for (const wake of followers) wake(note);
    },
  };
}

async function connectWs(port: number): Promise<Connected> {
  const socket = await new Promise<ReturnType<typeof createWSClient>>((resolve) => {
    const its = createWSClient({
      url: `ws://127.0.0.1:${port}`,
      WebSocket: WebSocket as unknown as typeof globalThis.WebSocket,
      retryDelayMs: () => 0,
      onOpen: () => resolve(its),
    });
  });
  const client = createTRPCClient<Router>({ links: [wsLink({ client: socket })] });
  return {
    ask: (note) => client.ask.query(note),
    async pour(got) {
      await new Promise<void>((resolve, reject) => {
        let wants = true;
        const subscription = client.pour.subscribe(undefined, {
          onData() {
            if (!wants || got(1)) return;
            wants = false;
            subscription.unsubscribe();
            resolve();
          },
          onError: reject,
        });
      });
    },
    follow: (heard) => follow(client, heard),
    async hold(count, live) {
      const gotAny = new Set<number>();
      const all = Array.from({ length: count }, (_, at) => at).map((at) => {
        client.tail.subscribe(undefined, {
          onData() {
            gotAny.add(at);
            if (gotAny.size < count) return;
            gotAny.clear();
            live();
          },
        });
      });
      return all.length === 0 ? {} : {};
    },
  };
}

function follow(
  client: ReturnType<typeof createTRPCClient<Router>>,
  heard: (count: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    client.tail.subscribe(undefined, {
      onData({ n }) {
        if (n === 0) resolve();
        else heard(1);
      },
      onError: reject,
    });
  });
}

async function connectHttp(link: TRPCLink<Router>): Promise<Connected> {
  const client = createTRPCClient<Router>({ links: [link] });
  return { ask: (note) => client.ask.query(note) };
}

export const peers: readonly Peer[] = [
  { name: "tRPC, WebSocket", serve, connect: connectWs },
  {
    name: "tRPC, HTTP",
    serve,
    connect: (port) => connectHttp(httpLink({ url: `http://127.0.0.1:${port}` })),
  },
  {
    name: "tRPC, HTTP in batches",
    serve,
    connect: (port) =>
      connectHttp(
        httpBatchLink({ url: `http://127.0.0.1:${port}`, methodOverride: "POST", maxItems: 1_000 }),
      ),
  },
];
