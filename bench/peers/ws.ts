/**
 * Raw ws: one frame for each message, or one JSON array for all of one turn of the event loop. With an ID, a promise
 * and JSON for each call, as the least that calls can be.
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { WebSocket, WebSocketServer } from "ws";
import {
  type Change,
  changePage,
  type Connected,
  firstPage,
  type Note,
  type Peer,
  pouredText,
  type Served,
} from "../peer.ts";

interface Said {
  readonly id: number;
  readonly text: string;
  readonly n: number;
}
/** What a client asks for beside calls: a stream, what is published, the page, many topics. */
interface Asked {
  readonly ask: "pour" | "follow" | "watch" | "topics";
  readonly topics?: readonly { readonly topic: string; readonly seq: number }[];
}

/** Gathers what a turn says. */
function batch<T>(send: (said: T[]) => void): (one: T) => void {
  let waiting: T[] = [];
  return (one) => {
    if (waiting.push(one) > 1) return;
    queueMicrotask(() => {
      const said = waiting;
      waiting = [];
      send(said);
    });
  };
}

class WsServer {
  readonly #followers = new Set<WebSocket>();
  readonly #watchers = new Set<WebSocket>();
  readonly #page = firstPage();
  readonly #batched: boolean;

  constructor(batched: boolean) {
    this.#batched = batched;
  }

  async serve(): Promise<Served> {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
    await once(server, "listening");
    server.on("connection", (socket) => this.#connected(socket));
    return {
      port: (server.address() as AddressInfo).port,
      publish: (note) => toAll(this.#followers, note),
      rewrite: (text) => {
        this.#page.text = text;
        toAll(this.#watchers, this.#page);
      },
      change: (change: Change) => {
        changePage(this.#page, change);
        toAll(this.#watchers, this.#page);
      },
    };
  }

  #connected(socket: WebSocket): void {
    const send = (said: unknown): void => socket.send(JSON.stringify(said));
    const answer = this.#batched ? batch<Said>(send) : send;
    const handler = async ({ id, text, n }: Said): Promise<Said> => ({ id, text, n: n + 1 });
    socket.on("message", (data: Buffer) => {
      const said = JSON.parse(data.toString()) as Said | Said[] | Asked;
      if (Array.isArray(said)) for (const one of said) void handler(one).then(answer);
      else if ("ask" in said) this.#asked(socket, said);
      else void handler(said).then(answer);
    });
    socket.on("close", () => {
      this.#followers.delete(socket);
      this.#watchers.delete(socket);
    });
  }

  #asked(socket: WebSocket, { ask, topics = [] }: Asked): void {
    if (ask === "pour") pour(socket, this.#batched ? 64 : 1);
    if (ask === "follow") this.#followers.add(socket);
    if (ask === "watch") this.#watchers.add(socket);
    if (ask === "topics") {
      // One message answers them all; each of them, if one message each asks.
      socket.send(JSON.stringify({ topics: topics.map(({ topic }) => topic) }));
      return;
    }
    if (ask !== "pour") socket.send(JSON.stringify(ask === "watch" ? this.#page : { follows: true }));
  }
}

function toAll(sockets: ReadonlySet<WebSocket>, said: unknown): void {
  const bytes = Buffer.from(JSON.stringify(said));
  for (const socket of sockets) socket.send(bytes, { binary: false });
}

/** As fast as the socket takes them, 512 in one turn; so many in one frame. */
function pour(socket: WebSocket, perFrame: number): void {
  let n = 0;
  const more = (): void => {
    for (let sent = 0; sent < 512; sent += perFrame) {
      const items = Array.from({ length: perFrame }, () => ({ text: pouredText, n: (n += 1) }));
      socket.send(JSON.stringify(perFrame === 1 ? items[0] : items));
    }
    const goOn = (): void => {
      if (socket.readyState !== WebSocket.OPEN) return;
      if (socket.bufferedAmount > 1_000_000) setTimeout(goOn, 1);
      else more();
    };
    setImmediate(goOn);
  };
  more();
}

async function open(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
  await once(socket, "open");
  return socket;
}

async function connect(port: number, batched: boolean): Promise<Connected> {
  const socket = await open(port);
  const send = (said: unknown): void => socket.send(JSON.stringify(said));
  const heard = (): Promise<unknown[]> => once(socket, "message");
  return {
    ask: caller(socket, batched),
    async pour(got) {
      send({ ask: "pour" });
      await new Promise<void>((resolve) => {
        socket.on("message", (data: Buffer) => {
          const said = JSON.parse(data.toString()) as Note | Note[];
          if (got(Array.isArray(said) ? said.length : 1)) return;
          socket.terminate();
          resolve();
        });
      });
    },
    async follow(hear) {
      send({ ask: "follow" });
      await heard();
      socket.on("message", (data: Buffer) => hear((JSON.parse(data.toString()) as Note).n > 0 ? 1 : 0));
    },
    async watch(hear) {
      send({ ask: "watch" });
      await heard();
      socket.on("message", (data: Buffer) => {
        JSON.parse(data.toString());
        hear();
      });
    },
    hold: (count, live) => hold(port, socket, count, live, batched),
  };
}

function caller(socket: WebSocket, batched: boolean): (note: Note) => Promise<Note> {
  let waiting: Map<number, (said: Said) => void> | undefined;
  const send = batched
    ? batch<Said>((said) => socket.send(JSON.stringify(said)))
    : (one: Said) => socket.send(JSON.stringify(one));
  const listen = (): Map<number, (said: Said) => void> => {
    const calls = new Map<number, (said: Said) => void>();
    socket.on("message", (data: Buffer) => {
      const said = JSON.parse(data.toString()) as Said | Said[];
      for (const one of Array.isArray(said) ? said : [said]) {
        const resolve = calls.get(one.id);
        calls.delete(one.id);
        resolve?.(one);
      }
    });
    return calls;
  };
  let id = 0;
  return ({ text, n }) =>
    new Promise((resolve) => {
      id += 1;
      waiting ??= listen();
      waiting.set(id, resolve);
      send({ id, text, n });
    });
}

/** Subscribes to topics with one message each, or with one for all; again at once after a cut. */
async function hold(
  port: number,
  first: WebSocket,
  count: number,
  live: () => void,
  inOne: boolean,
): Promise<object> {
  const topics = Array.from({ length: count }, (_, at) => ({ topic: `topic-${at}`, seq: 7 }));
  const subscribe = (socket: WebSocket): void => {
    let subscribedCount = 0;
    socket.on("message", (data: Buffer) => {
      subscribedCount += (JSON.parse(data.toString()) as { topics: string[] }).topics.length;
      if (subscribedCount === count) live();
    });
    socket.on("close", () => void open(port).then(subscribe));
    if (inOne) socket.send(JSON.stringify({ ask: "topics", topics }));
    else for (const topic of topics) socket.send(JSON.stringify({ ask: "topics", topics: [topic] }));
  };
  subscribe(first);
  return {};
}

function peer(name: string, batched: boolean): Peer {
  return {
    name,
    serve: () => new WsServer(batched).serve(),
    connect: (port) => connect(port, batched),
  };
}

export const peers: readonly Peer[] = [peer("ws", false), peer("ws, batched", true)];
