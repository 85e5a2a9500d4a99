/**
 * A TCP proxy on this machine with faults that a test or a demo switches on and off, between real sockets of
 * any protocol.
 *
 * Faults here are what networks, proxies and dying servers do. What a test waits for are events, not times:
 * a connection that opened, bytes that passed, a reply that was swallowed.
 */
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { type Clock, systemClock } from "../base/clock.ts";
import { type Direction, FaultyDirection, pipeFaulty } from "./faulty-direction.ts";

export interface FaultyProxyOptions {
  readonly target: { readonly port: number /** Default 127.0.0.1. */; readonly host?: string };
  /** For delays and the limit of bandwidth. Default: the system's. */
  readonly clock?: Clock;
}

/** What happened in a proxy. */
export type ProxyEvent = "opened" | "closed" | "requestBytes" | "replyBytes" | "requestLost" | "replyLost";

/** What becomes of a new connection. */
export type Welcome =
  | { readonly kind: "pass" }
  /** Taken and closed at once. */
  | { readonly kind: "hang-up" }
  /** Taken, and then nothing: a server that hangs, or a firewall behind a proxy. */
  | { readonly kind: "hang" }
  /** Answered with these bytes as soon as the first request bytes come, then closed. */
  | { readonly kind: "answer"; readonly bytes: Uint8Array | string }
  /** Every HTTP/2 request is answered so, as by a hosting edge or a sign-in page. */
  | {
      readonly kind: "answer-http2";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    };

export interface FaultyProxy extends AsyncDisposable {
  readonly port: number;
  /** "http://127.0.0.1:" and the port. */
  readonly origin: string;
  /** Faults on the way to the target. */
  readonly requests: Direction;
  /** Faults on the way back. */
  readonly replies: Direction;
  /** Connections of clients that are open now, and that were opened since the start. */
  readonly openCount: number;
  readonly openedCount: number;
  /** Bytes that went through to the target, and back. */
  readonly requestBytes: number;
  readonly replyBytes: number;
  /** Decides what new connections meet. Default: they pass. */
  welcome(how: Welcome): Promise<void>;
  /** Nobody listens at the port any more; open connections stay. */
  refuse(): Promise<void>;
  /** Listens again, at the same port. */
  accept(): Promise<void>;
  /** Ends all connections, both sides, with a reset (default) or in good order. */
  cut(how?: "reset" | "end"): void;
  /** Swallows everything both ways and tells nobody, as a network does that went away. */
  goSilent(): void;
  /** No faults any more: listens, new connections pass, held bytes go on; lost ones stay lost. */
  heal(): Promise<void>;
  /** Resolves at the next event of this kind. */
  next(event: ProxyEvent): Promise<void>;
  /** Ends everything. Nothing is left when it resolves. */
  close(): Promise<void>;
}

const host = "127.0.0.1";

/**
 * Resets a connection. One that is just being shut down can only be closed: its reset fails, and Node then tells
 * nobody of its close.
 */
function reset(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}

class TcpProxy implements FaultyProxy {
  readonly requests = new FaultyDirection();
  readonly replies = new FaultyDirection();
  openedCount = 0;
  requestBytes = 0;
  replyBytes = 0;
  port = 0;
  readonly #options: FaultyProxyOptions;
  readonly #clock: Clock;
  /** Client sockets with what they lead to. */
  readonly #pairs = new Map<Socket, Socket | undefined>();
  readonly #sockets = new Set<Socket>();
  readonly #waiting = new Map<ProxyEvent, (() => void)[]>();
  #welcome: Welcome = { kind: "pass" };
  #listener: Server | undefined;
  #answering: Http2Server | undefined;

  constructor(options: FaultyProxyOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get origin(): string {
    return `http://${host}:${this.port}`;
  }

  get openCount(): number {
    return this.#pairs.size;
  }

  async welcome(how: Welcome): Promise<void> {
    if (how.kind === "answer-http2") {
      const server = createHttp2Server((_, response) => {
        response.writeHead(how.status, { ...how.headers });
        response.end(how.body ?? "");
      });
      server.on("session", (session) => session.on("error", () => undefined));
      await listening(server, 0);
      await ended(this.#answering);
      this.#answering = server;
    }
    this.#welcome = how;
  }

  async refuse(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.close(); // the port is free at once; the server itself ends with its connections
  }

  async accept(): Promise<void> {
    if (this.#listener !== undefined) return;
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#take(socket));
    this.#listener = listener;
    this.port = await listening(listener, this.port);
  }

  cut(how: "reset" | "end" = "reset"): void {
    for (const client of [...this.#pairs.keys()]) this.#cutOne(client, how);
  }

  goSilent(): void {
    this.requests.lost = true;
    this.replies.lost = true;
  }

  async heal(): Promise<void> {
    this.requests.heal();
    this.replies.heal();
    this.#welcome = { kind: "pass" };
    await this.accept();
  }

  next(event: ProxyEvent): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(event) ?? [];
      waiting.push(resolve);
      this.#waiting.set(event, waiting);
    });
  }

  async close(): Promise<void> {
    await this.refuse();
    this.requests.heal();
    this.replies.heal();
    const closing = [...this.#sockets].map(
      (socket) => new Promise<void>((resolve) => socket.once("close", () => resolve())),
    );
    for (const socket of this.#sockets) reset(socket);
    await Promise.all(closing);
    await ended(this.#answering);
    this.#answering = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #take(client: Socket): void {
    this.openedCount++;
    this.#own(client);
    this.#pairs.set(client, undefined);
    client.once("close", () => {
      this.#pairs.delete(client);
      this.#tell("closed");
    });
    const how = this.#welcome;
    switch (how.kind) {
      case "hang-up":
        client.destroy();
        break;
      case "hang":
        client.pause();
        break;
      case "answer":
        client.once("data", () => client.end(how.bytes));
        client.on("end", () => client.end());
        break;
      case "answer-http2":
        this.#lead(client, { port: portOf(this.#answering), host });
        break;
      case "pass":
        this.#lead(client, this.#options.target);
        break;
    }
    this.#tell("opened");
  }

  #lead(client: Socket, target: FaultyProxyOptions["target"]): void {
    const upstream = connect({ host, allowHalfOpen: true, noDelay: true, ...target });
    this.#own(upstream);
    this.#pairs.set(client, upstream);
    const clock = this.#clock;
    const cut = (): void => this.#cutOne(client, "reset");
    pipeFaulty(client, upstream, this.requests, clock, {
      passed: (count) => {
        this.requestBytes += count;
        this.#tell("requestBytes");
      },
      lost: () => this.#tell("requestLost"),
      cut,
    });
    pipeFaulty(upstream, client, this.replies, clock, {
      passed: (count) => {
        this.replyBytes += count;
        this.#tell("replyBytes");
      },
      lost: () => this.#tell("replyLost"),
      cut,
    });
    // A good end travels in the queue, behind the bytes; a reset overtakes them, as it does in a network.
    client.once("close", (broken) => {
      if (broken && !this.requests.lost) reset(upstream);
    });
    upstream.once("close", (broken) => {
      if (broken && !this.replies.lost) reset(client);
    });
  }

  #cutOne(client: Socket, how: "reset" | "end"): void {
    for (const socket of [client, this.#pairs.get(client)]) {
      if (socket === undefined) continue;
      if (how === "reset") reset(socket);
      else socket.destroySoon();
    }
  }

  #own(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("error", () => undefined); // its close is handled, with or without one
  }

  #tell(event: ProxyEvent): void {
    const waiting = this.#waiting.get(event) ?? [];
    this.#waiting.delete(event);
    for (const resolve of waiting) resolve();
  }
}

function listening(server: Server | Http2Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve(portOf(server));
    });
  });
}

function portOf(server: Server | Http2Server | undefined): number {
  return (server?.address() as AddressInfo | null | undefined)?.port ?? 0;
}

function ended(server: Server | Http2Server | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (server === undefined) resolve();
    else server.close(() => resolve());
  });
}

/** A proxy that listens at a free port of 127.0.0.1. */
export async function faultyProxy(options: FaultyProxyOptions): Promise<FaultyProxy> {
  const proxy = new TcpProxy(options);
  await proxy.accept();
  return proxy;
}
