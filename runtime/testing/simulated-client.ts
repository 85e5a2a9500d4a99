/** One HTTP client of a simulated network: one connection at a time, a new one after it has ended. */
import type { HttpClient, HttpOptions, HttpRequest } from "../base/http-client.ts";
import { type Block, Connection } from "./simulated-connection.ts";
import { type Answer, Exchange, type ExchangeParts, faultOf } from "./simulated-exchange.ts";
import type { Fate, SimulatedRequest } from "./simulated-fate.ts";
import type { Host } from "./simulated-host.ts";
import type { SimulatedProcess } from "./simulated-process.ts";

/** Who is connected: the network cuts and blocks it with its process or its server. */
export interface Connected {
  readonly process: SimulatedProcess;
  /** The server that it is connected to. */
  readonly host: Host | undefined;
  /** The connection ends: what is under way is cut. */
  end(why: string): void;
  block(how: Block): void;
  unblock(): void;
}

/** What a client needs of its network. */
export interface ClientNetwork extends Pick<ExchangeParts, "clock" | "tell" | "twin"> {
  readonly fate: (request: SimulatedRequest) => Fate;
  numberOf(process: SimulatedProcess): number;
  serverOf(origin: string): Host | undefined;
  blockOf(process: SimulatedProcess): Block | undefined;
  forget(client: Connected): void;
}

export class SimulatedClient implements HttpClient, Connected {
  readonly process: SimulatedProcess;
  readonly #network: ClientNetwork;
  readonly #options: HttpOptions;
  #connection: Connection;
  #retired = false;

  constructor(network: ClientNetwork, process: SimulatedProcess, options: HttpOptions) {
    this.#network = network;
    this.process = process;
    this.#options = options;
    this.#connection = new Connection(network.clock, network.blockOf(process));
  }

  /** The server that it is connected to. */
  get host(): Host | undefined {
    return this.#connection.host;
  }

  async send(request: HttpRequest): Promise<Answer> {
    const { signal } = request;
    const { process } = this;
    const network = this.#network;
    signal?.throwIfAborted();
    const body: Uint8Array[] = [];
    for await (const chunk of request.body ?? []) body.push(chunk);
    signal?.throwIfAborted();
    if (this.#retired) throw faultOf("cut", "a client that is given up", false);
    const seen: SimulatedRequest = {
      client: process.name,
      number: network.numberOf(process),
      url: request.url,
      header: request.header,
    };
    if (this.#connection.ended) this.#connection = new Connection(network.clock, network.blockOf(process));
    const connection = this.#connection;
    const parts: ExchangeParts = {
      clock: network.clock,
      process,
      tell: network.tell,
      twin: (its, serve, delayMs) => network.twin(its, serve, delayMs),
      over: (exchange) => {
        connection.carried.delete(exchange);
        this.#endWhenIdle();
      },
    };
    const exchange = new Exchange(parts, request, body, seen, network.fate(seen));
    connection.carried.add(exchange);
    if (connection.host === undefined) this.#connect(exchange, connection, seen);
    else exchange.leave(connection);
    return exchange.answer;
  }

  async reach(url: string, signal: AbortSignal): Promise<Headers | undefined> {
    return (await this.send({ url, method: "HEAD", header: new Headers(), signal })).header;
  }

  retire(): void {
    this.#retired = true;
    this.#endWhenIdle();
  }

  close(): void {
    this.#retired = true;
    this.#connection.end("the link closed it");
    this.#network.forget(this);
  }

  /** The connection ends: what is under way is cut. The next request connects anew. */
  end(why: string): void {
    this.#connection.end(why);
  }

  block(how: Block): void {
    this.#connection.block(how);
  }

  unblock(): void {
    this.#connection.unblock();
  }

  #connect(exchange: Exchange, connection: Connection, seen: SimulatedRequest): void {
    // What waits for the same connection is no attempt of its own.
    if (connection.carried.size === 1)
      this.#network.tell({ kind: "connects", where: this.process.name, request: seen });
    const { fate } = exchange;
    const { origin, connectWaitMs } = this.#options;
    const over = this.#network.clock.timer(connectWaitMs, () =>
      exchange.fail(faultOf("connect-timeout", "no connection", false)),
    );
    exchange.onOver(() => over.cancel());
    if (fate.connect === "hang") return;
    connection.carry(exchange.latencyMs, () => {
      if (exchange.isOver) return;
      over.cancel();
      if (fate.connect !== "refused") connection.host ??= this.#network.serverOf(origin);
      if (connection.host === undefined || fate.connect === "refused") {
        exchange.fail(faultOf("connect-refused", "nobody listens", false));
      } else exchange.leave(connection);
    });
  }

  #endWhenIdle(): void {
    if (!this.#retired || this.#connection.carried.size > 0) return;
    this.#connection.end("given up");
    this.#network.forget(this);
  }
}
