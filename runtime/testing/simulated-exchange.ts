/** One request of a simulated network and its answer, on one connection. */
import type { Clock } from "../base/clock.ts";
import { ConnectionFault, type FaultKind } from "../base/connection-fault.ts";
import type { HttpClient, HttpRequest } from "../base/http-client.ts";
import { onAbort } from "../base/signals.ts";
import { type BodyPipe, bodyPipe } from "./simulated-answer.ts";
import type { Connection } from "./simulated-connection.ts";
import type { Fate, ForeignAnswer, NetworkEvent, SimulatedRequest } from "./simulated-fate.ts";
import type { Host, ServedAnswer, ServedRequest } from "./simulated-host.ts";
import type { SimulatedProcess } from "./simulated-process.ts";

export type Answer = Awaited<ReturnType<HttpClient["send"]>>;

/** What an exchange needs of the network and its client. */
export interface ExchangeParts {
  readonly clock: Clock;
  readonly process: SimulatedProcess;
  readonly tell: (event: NetworkEvent) => void;
  /** A late copy leaves, or has arrived. */
  readonly twin: (request: HttpRequest, serve: (host: Host) => void, delayMs: number) => void;
  readonly over: (exchange: Exchange) => void;
}

interface Settle {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

const latencyMsDefault = 1;
const windowBytesDefault = 65_536;

export class Exchange {
  readonly answer: Promise<Answer>;
  readonly fate: Fate;
  readonly latencyMs: number;
  readonly #parts: ExchangeParts;
  readonly #request: HttpRequest;
  readonly #body: readonly Uint8Array[];
  readonly #seen: SimulatedRequest;
  /** Aborts what the server does for it. */
  readonly #atServer = new AbortController();
  readonly #onOver: (() => void)[] = [];
  readonly #settle: Settle;
  #connection: Connection | undefined;
  #pipe: BodyPipe | undefined;
  #sent = false;
  #over = false;

  constructor(
    parts: ExchangeParts,
    request: HttpRequest,
    body: readonly Uint8Array[],
    seen: SimulatedRequest,
    fate: Fate,
  ) {
    this.#parts = parts;
    this.#request = request;
    this.#body = body;
    this.#seen = seen;
    this.fate = fate;
    this.latencyMs = fate.latencyMs ?? latencyMsDefault;
    let settle: Settle = { resolve: () => undefined, reject: () => undefined };
    this.answer = new Promise((resolve, reject) => {
      settle = { resolve, reject };
    });
    this.#settle = settle;
    this.onOver(onAbort(request.signal, (reason) => this.#leaveEarly(reason)));
  }

  get isOver(): boolean {
    return this.#over;
  }

  onOver(fn: () => void): void {
    this.#onOver.push(fn);
  }

  /** The request goes out. */
  leave(connection: Connection): void {
    if (this.#over) return;
    const { fate, latencyMs } = this;
    const { host } = connection;
    this.#connection = connection;
    if (host === undefined) {
      this.cut("no connection");
      return;
    }
    this.#parts.tell({ kind: "sent", where: this.#seen.client, request: this.#seen });
    if (fate.twinMs !== undefined) {
      this.#parts.twin(this.#request, (its) => this.#serveTwin(its), fate.twinMs);
    }
    this.#sent = true;
    this.#request.onSent?.();
    if (fate.request === "refused") {
      connection.carry(2 * latencyMs, () =>
        this.fail(faultOf("refused-stream", "the server has not begun with it", false)),
      );
      return;
    }
    if (fate.request === "lost") return;
    if (fate.request === "cut") {
      connection.carry(latencyMs, () => connection.end("cut before it arrived"));
      return;
    }
    connection.carry(latencyMs, () => void this.#serve(host, connection));
  }

  cut(why: string): void {
    this.fail(faultOf("cut", why, this.#sent));
  }

  fail(error: unknown): void {
    this.#atServer.abort(new Error("the connection ended"));
    if (this.#over) return;
    const { tell, process } = this.#parts;
    tell({ kind: "failed", where: this.#seen.client, request: this.#seen, text: String(error) });
    this.#end();
    process.run(() => {
      this.#settle.reject(error);
      this.#pipe?.fail(error);
    });
  }

  /** The client's own end: the server hears of it a moment later, if at all. */
  #leaveEarly(reason: unknown): void {
    if (this.#over) return;
    this.#connection?.carry(this.latencyMs, () => this.#atServer.abort(new Error("the client has left")));
    this.#end();
    this.#settle.reject(reason);
    this.#pipe?.fail(reason);
  }

  #end(): void {
    this.#over = true;
    for (const fn of this.#onOver.splice(0)) fn();
    this.#pipe?.release();
    this.#parts.over(this);
  }

  #served(signal: AbortSignal): ServedRequest {
    const { url, method, header } = this.#request;
    const httpVersion = "2.0";
    return { httpVersion, url, method, header: new Headers(header), body: all(this.#body), signal };
  }

  #serveTwin(host: Host): void {
    const where = host.process?.name ?? host.name;
    const { tell } = this.#parts;
    const request = this.#seen;
    tell({ kind: "twin", where, request });
    host.handle(this.#served(new AbortController().signal))?.then(
      ({ status, header }) => tell({ kind: "answered", where, request, status, header, text: "to a copy" }),
      () => undefined,
    );
  }

  async #serve(host: Host, connection: Connection): Promise<void> {
    const where = host.process?.name ?? host.name;
    const { tell } = this.#parts;
    const request = this.#seen;
    const serving = host.handle(this.#served(this.#atServer.signal));
    if (serving === undefined) return;
    tell({ kind: "arrived", where, request });
    let served: ServedAnswer;
    try {
      served = await serving;
    } catch {
      this.#reset(connection);
      return;
    }
    tell({ kind: "answered", where, request, status: served.status, header: served.header });
    const { answer } = this.fate;
    if (answer === "lost") return;
    if (answer === "cut") {
      connection.carry(this.latencyMs, () => connection.end("cut before the answer arrived"));
      return;
    }
    await this.#answerWith(answer === undefined ? served : foreign(answer), connection);
  }

  /** The answer's parts go back one after the other. */
  async #answerWith({ status, header, body, trailer }: ServedAnswer, connection: Connection): Promise<void> {
    const { latencyMs, fate } = this;
    const { process } = this.#parts;
    const pipe = bodyPipe(fate.windowBytes ?? windowBytesDefault, () =>
      this.#leaveEarly(new Error("the body was left")),
    );
    if (this.#over) pipe.release();
    this.#pipe = pipe;
    connection.carry(latencyMs, () => this.#heard(status, header, trailer, pipe));
    let chunkCount = 0;
    try {
      for await (const chunk of body ?? all([])) {
        if (chunkCount === fate.cutAfterChunks) {
          connection.carry(latencyMs, () => connection.end("cut in the answer"));
          return;
        }
        chunkCount += 1;
        pipe.leave(chunk);
        connection.carry(latencyMs, () => process.run(() => pipe.arrive(chunk)));
        await pipe.room();
        if (this.#atServer.signal.aborted) return;
      }
    } catch {
      this.#reset(connection);
      return;
    }
    connection.carry(latencyMs, () => {
      if (!this.#over) this.#end();
      process.run(() => pipe.end());
    });
  }

  #reset(connection: Connection): void {
    connection.carry(this.latencyMs, () => this.fail(faultOf("cut", "the server reset it", true)));
  }

  #heard(status: number, header = new Headers(), trailer = new Headers(), pipe: BodyPipe): void {
    if (this.#over) return;
    const { tell, process } = this.#parts;
    tell({ kind: "heard", where: this.#seen.client, request: this.#seen, status, header });
    process.run(() =>
      this.#settle.resolve({ status, header: new Headers(header), body: pipe.body, trailer }),
    );
  }
}

export function faultOf(kind: FaultKind, text: string, sent: boolean): ConnectionFault {
  return new ConnectionFault(kind, `simulated: ${text}`, { sent });
}

function foreign({ status, header, body }: ForeignAnswer): ServedAnswer {
  return { status, header: new Headers(header), body: all([new TextEncoder().encode(body)]) };
}

async function* all(chunks: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* chunks;
}
