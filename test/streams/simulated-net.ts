/**
 * A real server without sockets, on a clock that the test moves: its handlers are called as an adapter of Connect
 * calls them, and between them and a reader lies a network that is late, cuts, refuses, and swallows.
 */
import { createConnectRouter } from "@connectrpc/connect";
import type { UniversalClientResponse, UniversalHandler } from "@connectrpc/connect/protocol";
import { ConnectionFault } from "../../runtime/base/connection-fault.ts";
import type { HttpClient, HttpRequest } from "../../runtime/base/http-client.ts";
import type { Stop } from "../../runtime/base/late-signal.ts";
import { onAbort, untilAborted } from "../../runtime/base/signals.ts";
import type { Platform } from "../../runtime/link/platform.ts";
import type { SeededRandom } from "../../runtime/testing/seeded-random.ts";
import type { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { Server } from "../../server/index.ts";
import { type SimulatedSocket, socketsOf } from "./simulated-socket.ts";

/** Pieces that are on their way before the server has to wait. */
const windowCount = 4;

/** The network before one reader. */
export class SimulatedNet {
  readonly platform: Platform<object>;
  /** Ms that each piece is late. */
  lateMs = 0;
  refusing = false;
  /** What is sent meanwhile is lost, and the connections of now stay dead. */
  silent = false;
  connectionCount = 0;
  /** WebSockets that opened. */
  socketCount = 0;
  readonly #wakers = new Set<() => void>();
  readonly #clock: VirtualClock;
  readonly #server: () => Server | undefined;
  readonly #open = new Set<Passage>();

  readonly #sockets = new Set<SimulatedSocket>();
  /** Whether it lets no WebSocket through, as some proxies do. */
  blocking = false;

  /** @param over - what streams go over: a Follow each, or one WebSocket. */
  constructor(
    clock: VirtualClock,
    random: SeededRandom,
    server: () => Server | undefined,
    over: "Follow" | "WebSocket" = "Follow",
  ) {
    this.#clock = clock;
    this.#server = server;
    const Socket = socketsOf({
      clock,
      lateMs: () => this.lateMs,
      way: (signal) =>
        this.blocking ? Promise.reject(new Error("simulated: blocked")) : this.#way(signal, signal),
      onOpened: (socket) => {
        this.socketCount += 1;
        this.#sockets.add(socket);
      },
      onOver: (socket) => this.#sockets.delete(socket),
    });
    this.platform = {
      clock,
      random,
      openHttp: () => this.#openHttp(),
      onWake: (fn) => {
        this.#wakers.add(fn);
        return () => this.#wakers.delete(fn);
      },
      ...(over === "WebSocket" ? { webSocket: () => Socket } : {}),
    };
  }

  get openCount(): number {
    return this.#open.size + this.#sockets.size;
  }

  /** The network may be back. */
  wake(): void {
    for (const fn of [...this.#wakers]) fn();
  }

  /** The server of these connections is gone without a word. */
  cut(): void {
    for (const passage of [...this.#open]) passage.end(cutFault());
    for (const socket of [...this.#sockets]) socket.cut();
  }

  goSilent(): void {
    this.silent = true;
    for (const each of [...this.#open, ...this.#sockets]) each.dead = true;
  }

  #openHttp(): HttpClient {
    const life = new AbortController();
    return {
      send: (request) => this.#send(request, life.signal),
      reach: async (_url, signal) => {
        await this.#way(signal, life.signal);
        return new Headers({ "holdfast-server": "1" });
      },
      retire: () => undefined,
      close: () => life.abort(cutFault()),
    };
  }

  /** The way there. */
  async #way(signal: Stop | undefined, life: AbortSignal): Promise<Server> {
    const over = new AbortController();
    const forget = [signal, life].map((each) => onAbort(each, (reason) => over.abort(reason)));
    try {
      if (this.lateMs > 0) {
        const late = new Promise<void>((resolve) => void this.#clock.timer(this.lateMs, resolve));
        await untilAborted(late, over.signal);
      }
      if (this.silent) await untilAborted(new Promise(() => undefined), over.signal);
      over.signal.throwIfAborted();
      const server = this.#server();
      if (this.refusing || server === undefined)
        throw new ConnectionFault("connect-refused", "simulated: refused", { sent: false });
      return server;
    } finally {
      for (const each of forget) each();
    }
  }

  async #send(request: HttpRequest, life: AbortSignal): Promise<UniversalClientResponse> {
    const server = await this.#way(request.signal, life);
    request.onSent?.();
    this.connectionCount += 1;
    const passage = new Passage(
      this.#clock,
      () => this.lateMs,
      (one) => this.#open.delete(one),
    );
    this.#open.add(passage);
    onAbort(request.signal, (reason) => passage.end(reason));
    onAbort(life, (reason) => passage.end(reason));
    const answer = await handlerFor(
      server,
      request.url,
    )({
      httpVersion: "2",
      method: request.method,
      url: request.url,
      header: request.header,
      body: request.body ?? none(),
      signal: passage.signal,
    });
    void passage.carry(answer.body ?? none());
    return {
      status: answer.status,
      header: new Headers(answer.header),
      body: passage,
      trailer: new Headers(answer.trailer),
    };
  }
}

/** One answer on its way. */
class Passage implements AsyncIterable<Uint8Array> {
  dead = false;
  readonly #clock: VirtualClock;
  readonly #lateMs: () => number;
  readonly #onOver: (one: Passage) => void;
  readonly #stop = new AbortController();
  #arrived: Uint8Array[] = [];
  #end: { readonly fault: unknown } | undefined;
  #wakeReader: (() => void) | undefined;
  #wakeCarrier: (() => void) | undefined;

  constructor(clock: VirtualClock, lateMs: () => number, onOver: (one: Passage) => void) {
    this.#clock = clock;
    this.#lateMs = lateMs;
    this.#onOver = onOver;
  }

  /** Aborts when the reader is gone, as the server hears of it. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  async carry(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
    try {
      for await (const piece of body) {
        if (this.#end !== undefined) break;
        const lateMs = this.#lateMs();
        if (lateMs > 0) await new Promise<void>((resolve) => void this.#clock.timer(lateMs, resolve));
        if (this.dead) continue; // swallowed: the server learns nothing
        this.#arrived.push(Uint8Array.from(piece));
        this.#wake();
        while (this.#arrived.length >= windowCount && !this.#isOver) {
          await new Promise<void>((resolve) => {
            this.#wakeCarrier = resolve;
          });
        }
      }
      if (!this.dead) this.#finish(undefined, false);
    } catch (error) {
      this.end(error);
    }
  }

  get #isOver(): boolean {
    return this.#end !== undefined;
  }

  end(fault: unknown): void {
    this.#finish(fault, true);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.end(undefined);
        return { done: true, value: undefined };
      },
      throw: async (error: unknown) => {
        this.end(undefined);
        throw error;
      },
    };
  }

  async #next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const piece = this.#arrived.shift();
      this.#wakeCarrier?.();
      if (piece !== undefined) return { done: false, value: piece };
      if (this.#end?.fault instanceof Error) throw this.#end.fault;
      if (this.#end !== undefined) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wakeReader = resolve;
      });
    }
  }

  #finish(fault: unknown, now: boolean): void {
    if (this.#end !== undefined) return;
    this.#end = { fault };
    if (now) this.#arrived = [];
    this.#stop.abort();
    this.#onOver(this);
    this.#wake();
    this.#wakeCarrier?.();
  }

  #wake(): void {
    this.#wakeReader?.();
    this.#wakeReader = undefined;
  }
}

const handlersOf = new WeakMap<Server, readonly UniversalHandler[]>();

function handlerFor(server: Server, url: string): UniversalHandler {
  let handlers = handlersOf.get(server);
  if (handlers === undefined) {
    const router = createConnectRouter();
    server.routes(router);
    handlers = router.handlers;
    handlersOf.set(server, handlers);
  }
  const found = handlers.find(({ requestPath }) => new URL(url).pathname.endsWith(requestPath));
  if (found === undefined) throw new Error(`no handler for ${url}`);
  return found;
}

function cutFault(): ConnectionFault {
  return new ConnectionFault("cut", "simulated: cut", { sent: true });
}

async function* none(): AsyncIterable<Uint8Array> {
  yield* [];
}
