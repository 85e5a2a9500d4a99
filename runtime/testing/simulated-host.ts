/** The servers of a simulated network: what they are given, what they answer, and the machines they run on. */
import type { Clock } from "../base/clock.ts";
import type { Wire } from "../wire/wire.ts";
import { type SimulatedProcess, simulatedProcess } from "./simulated-process.ts";

/** A request as a server gets it; Connect's `UniversalServerRequest` without what only adapters know. */
export interface ServedRequest {
  readonly httpVersion: string;
  readonly url: string;
  readonly method: string;
  readonly header: Headers;
  readonly body: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** What a server answers; Connect's `UniversalServerResponse`. */
export interface ServedAnswer {
  readonly status: number;
  readonly header?: Headers | undefined;
  readonly body?: AsyncIterable<Uint8Array> | undefined;
  readonly trailer?: Headers | undefined;
}

/** One rpc of a server: `router.handlers` of a Connect router are such. */
export interface SimulatedHandler {
  (request: ServedRequest): Promise<ServedAnswer>;
  readonly requestPath: string;
}

/** A server that runs in a simulated process. */
export interface SimulatedServer {
  readonly handlers: Iterable<SimulatedHandler>;
  /** Answers every other path. Default: 404 without anything. */
  readonly otherwise?: (request: ServedRequest) => ServedAnswer;
  /** Takes WebSockets: `(wire, from) => server.accept(wire, from)`. Default: none are taken. */
  readonly accept?: (wire: Wire, from: { readonly header: Headers; readonly address: string }) => void;
}

/** Starts a server. What it makes must take its clock from the process, so that a crash takes it along. */
export type StartServer = (process: SimulatedProcess) => SimulatedServer | Promise<SimulatedServer>;

/** A machine that runs one server at a time. */
export interface SimulatedHost {
  readonly name: string;
  /** The server's process; undefined while none runs. */
  readonly process: SimulatedProcess | undefined;
  /** Starts the server again; nothing while it runs. Rejects with what the start function threw. */
  start(): Promise<void>;
  /** Ends the process: connections are cut, and what it was doing is gone. */
  crash(): void;
}

/** What a machine tells its network. */
export interface HostView {
  started(host: Host, process: SimulatedProcess): void;
  crashed(host: Host, process: SimulatedProcess): void;
}

export class Host implements SimulatedHost {
  readonly name: string;
  process: SimulatedProcess | undefined;
  readonly #clock: Clock;
  readonly #start: StartServer;
  readonly #view: HostView;
  #server: SimulatedServer | undefined;
  #lifeCount = 0;

  constructor(name: string, clock: Clock, start: StartServer, view: HostView) {
    this.name = name;
    this.#clock = clock;
    this.#start = start;
    this.#view = view;
  }

  get ready(): boolean {
    return this.#server !== undefined;
  }

  async start(): Promise<void> {
    if (this.process !== undefined) return;
    this.#lifeCount += 1;
    const process = simulatedProcess(this.#clock, `${this.name}.${this.#lifeCount}`);
    this.process = process;
    try {
      const server = await this.#start(process);
      if (!process.alive) return;
      this.#server = server;
      this.#view.started(this, process);
    } catch (error) {
      this.process = undefined;
      process.kill();
      throw error;
    }
  }

  crash(): void {
    const { process } = this;
    if (process === undefined) return;
    this.process = undefined;
    this.#server = undefined;
    process.kill();
    this.#view.crashed(this, process);
  }

  /** Runs a request in the process of now; undefined: none runs. */
  handle(request: ServedRequest): Promise<ServedAnswer> | undefined {
    const { process } = this;
    const server = this.#server;
    if (process === undefined || server === undefined) return undefined;
    const path = new URL(request.url).pathname;
    const begin = async (): Promise<ServedAnswer> => {
      await process.hold(Promise.resolve()); // a paused process reads it when it goes on
      for (const handler of server.handlers) if (handler.requestPath === path) return handler(request);
      return server.otherwise?.(request) ?? { status: 404 };
    };
    return process.hold(begin());
  }

  /** What takes a WebSocket in the process of now; undefined: nothing does. */
  get accept(): SimulatedServer["accept"] {
    return this.#server?.accept;
  }
}
