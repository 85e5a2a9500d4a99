/**
 * A network in virtual time, between real links and real servers in one process. It carries requests to the very
 * handlers that a port would, and WebSockets to whoever takes them, and breaks what a test says: connections that are
 * cut, silent, hang or are refused, requests and answers that get lost, late copies, foreign answers, servers that die
 * with all that they were doing.
 *
 * A request's body is read whole before it leaves, so rpcs in which the client streams are not for it.
 */
import type { Clock } from "../base/clock.ts";
import type { HttpClient, HttpOptions, HttpRequest } from "../base/http-client.ts";
import type { OpenWire } from "../link/wire-support.ts";
import type { WebSocketMaker } from "../wire/websocket.ts";
import { type ClientNetwork, type Connected, SimulatedClient } from "./simulated-client.ts";
import type { Block } from "./simulated-connection.ts";
import type { Fate, NetworkEvent, SimulatedRequest } from "./simulated-fate.ts";
import { Host, type SimulatedHost, type StartServer } from "./simulated-host.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import { openSimulatedWire, webSocketsOf } from "./simulated-socket.ts";

export interface SimulatedNetworkOptions {
  readonly clock: Clock;
  /** Decides what happens to a request. Default: nothing bad, 1 ms each way. */
  readonly fate?: (request: SimulatedRequest) => Fate;
  /** Which of the running servers of one origin gets a new connection. Default: the first. */
  readonly choose?: (hosts: readonly SimulatedHost[]) => SimulatedHost | undefined;
  readonly onEvent?: (event: NetworkEvent) => void;
}

export interface SimulatedNetwork {
  readonly clock: Clock;
  /** A machine at this origin. Several of one origin stand behind a load balancer. It does not run yet. */
  host(origin: string, start: StartServer, name?: string): SimulatedHost;
  /** The HTTP client of a process: `openHttp` of its platform. */
  openHttp(process: SimulatedProcess, options: HttpOptions): HttpClient;
  /** The class of the WebSockets of a process: `webSocket` of its platform. */
  webSocket(process: SimulatedProcess): WebSocketMaker;
  /** Opens wires of a process, for `wiresBy`. */
  openWire(process: SimulatedProcess): OpenWire;
  /** Ends all connections of a process, or of everybody. */
  cut(process?: SimulatedProcess): void;
  /**
   * Takes a process off the network. `drop`: what is sent on its connections vanishes, for good on those that are
   * open now. `hold`: it waits, and arrives when the network is back.
   */
  block(process: SimulatedProcess, how: Block): void;
  unblock(process: SimulatedProcess): void;
  /** Late copies that have not arrived yet. */
  readonly lateCount: number;
}

class Network implements SimulatedNetwork, ClientNetwork {
  readonly clock: Clock;
  readonly fate: (request: SimulatedRequest) => Fate;
  readonly tell: (event: NetworkEvent) => void;
  lateCount = 0;
  readonly #choose: (hosts: readonly SimulatedHost[]) => SimulatedHost | undefined;
  readonly #hosts = new Map<string, Host[]>();
  readonly #clients = new Set<Connected>();
  readonly #blocks = new Map<SimulatedProcess, Block>();
  readonly #requestCounts = new Map<SimulatedProcess, number>();

  constructor(options: SimulatedNetworkOptions) {
    this.clock = options.clock;
    this.fate = options.fate ?? (() => ({}));
    this.tell = options.onEvent ?? (() => undefined);
    this.#choose = options.choose ?? (([first]) => first);
  }

  host(origin: string, start: StartServer, name = new URL(origin).host): SimulatedHost {
    const host = new Host(name, this.clock, start, {
      started: (_, { name: where }) => this.tell({ kind: "started", where }),
      crashed: (its, { name: where }) => {
        this.tell({ kind: "crashed", where });
        for (const client of [...this.#clients]) if (client.host === its) client.end("the server died");
      },
    });
    this.#hosts.set(origin, [...(this.#hosts.get(origin) ?? []), host]);
    return host;
  }

  openHttp(process: SimulatedProcess, options: HttpOptions): HttpClient {
    const client = new SimulatedClient(this, process, options);
    this.#clients.add(client);
    process.onDeath(() => client.close());
    return client;
  }

  webSocket(process: SimulatedProcess): WebSocketMaker {
    return webSocketsOf(this, process);
  }

  openWire(process: SimulatedProcess): OpenWire {
    return (options) => openSimulatedWire(this.webSocket(process), options);
  }

  join(client: Connected): void {
    this.#clients.add(client);
  }

  cut(process?: SimulatedProcess): void {
    for (const client of [...this.#clients]) {
      if (process === undefined || client.process === process) client.end("the network cut it");
    }
  }

  block(process: SimulatedProcess, how: Block): void {
    this.#blocks.set(process, how);
    for (const client of this.#clients) if (client.process === process) client.block(how);
  }

  unblock(process: SimulatedProcess): void {
    this.#blocks.delete(process);
    for (const client of this.#clients) if (client.process === process) client.unblock();
  }

  blockOf(process: SimulatedProcess): Block | undefined {
    return this.#blocks.get(process);
  }

  serverOf(origin: string): Host | undefined {
    const running = (this.#hosts.get(origin) ?? []).filter((host) => host.ready);
    const chosen = this.#choose(running);
    return running.find((host) => host === chosen);
  }

  /** A copy reaches whatever server runs then. */
  twin(request: HttpRequest, serve: (host: Host) => void, delayMs: number): void {
    this.lateCount += 1;
    this.clock.timer(delayMs, () => {
      this.lateCount -= 1;
      const host = this.serverOf(new URL(request.url).origin);
      if (host !== undefined) serve(host);
    });
  }

  forget(client: Connected): void {
    this.#clients.delete(client);
  }

  numberOf(process: SimulatedProcess): number {
    const number = (this.#requestCounts.get(process) ?? 0) + 1;
    this.#requestCounts.set(process, number);
    return number;
  }
}

/** Makes a network. */
export function simulatedNetwork(options: SimulatedNetworkOptions): SimulatedNetwork {
  return new Network(options);
}
