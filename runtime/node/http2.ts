/**
 * HTTP/2 for Node: one connection that all requests of a link share, opened when it is first needed and
 * replaced when it goes.
 *
 * Connect's own session manager is not used: of requests that race a GOAWAY half fail there, and a peer that
 * lost its network is noticed late or never.
 *
 * Source: decision "Own the HTTP/2 session".
 */
import type { UniversalClientResponse } from "@connectrpc/connect/protocol";
import type { OutgoingHttpHeaders } from "node:http";
import { ConnectionFault } from "../base/connection-fault.ts";
import type { HttpClient, HttpOptions, HttpRequest } from "../base/http-client.ts";
import type { TlsOptions } from "./dial.ts";
import type { Http2Exchange } from "./http2-exchange.ts";
import { type Http2Session, openSession, type Outgoing, type SessionOptions } from "./http2-session.ts";
import { originUrl, pathOf } from "./origin.ts";
import { toNodeHeaders } from "./node-headers.ts";
import { RequestBody } from "./request-body.ts";

export interface Http2Options extends HttpOptions {
  /** For https: origins: authorities, a client certificate, a pin. Default: the system's authorities. */
  readonly tls?: TlsOptions;
}

/** Ms without a byte, while requests are under way, after which the peer is asked for a sign. */
const pingAfterMs = 10_000;
/** A session that was quiet for longer is asked before it is used: a network may have forgotten it. */
const idleMsMost = 30_000;

/**
 * The connection for new requests. One that got GOAWAY is no longer here; it ends with its last request.
 * Whatever the state, requests wait in one line and are taken from it in order.
 */
type State =
  | { readonly kind: "none" }
  | { readonly kind: "opening"; readonly abort: AbortController }
  | { readonly kind: "verifying"; readonly session: Http2Session }
  | { readonly kind: "ready"; readonly session: Http2Session };

/** A request that waits for a connection with room. */
interface Waiting {
  readonly outgoing: Outgoing;
  readonly begun: (exchange: Http2Exchange) => void;
  readonly failed: (reason: unknown) => void;
}

class Http2Client implements HttpClient {
  readonly #options: Http2Options;
  readonly #url: URL;
  #state: State = { kind: "none" };
  #waiting: Waiting[] = [];
  /** Every connection that is not over, the draining ones among them. */
  readonly #sessions = new Set<Http2Session>();
  #pingAfterMs = pingAfterMs;
  #life: "open" | "retired" | "closed" = "open";

  constructor(options: Http2Options) {
    this.#options = options;
    this.#url = originUrl(options.origin);
  }

  async send(request: HttpRequest): Promise<UniversalClientResponse> {
    const { signal } = request;
    signal?.throwIfAborted();
    if (this.#life !== "open") throw this.#goneFault();
    const headers = headersOf(request, this.#url);
    const body = new RequestBody(request.body);
    try {
      return await this.#tryOnceOrTwice({ headers, body, signal, onSent: request.onSent });
    } catch (reason) {
      body.stop();
      throw reason;
    }
  }

  async reach(url: string, signal: AbortSignal): Promise<Headers> {
    const answer = await this.send({ url, method: "HEAD", header: new Headers(), signal });
    await answer.body[Symbol.asyncIterator]().return?.();
    return answer.header;
  }

  retire(): void {
    if (this.#life === "open") this.#life = "retired";
    this.#serve();
  }

  close(): void {
    this.#life = "closed";
    const state = this.#state;
    this.#state = { kind: "none" };
    if (state.kind === "opening") state.abort.abort(this.#goneFault());
    this.#failWaiting(this.#goneFault());
    for (const session of this.#sessions) session.destroy();
  }

  /** A server that refuses a stream has not looked at it: it is sent again at once, but only once. */
  async #tryOnceOrTwice(outgoing: Outgoing): Promise<UniversalClientResponse> {
    const first = await this.#begin(outgoing);
    try {
      return await first.answer;
    } catch (reason) {
      const refused = reason instanceof ConnectionFault && reason.kind === "refused-stream";
      if (!refused || !outgoing.body.again || this.#life === "closed") throw reason;
    }
    const second = await this.#begin({ ...outgoing, onSent: undefined });
    return await second.answer;
  }

  #begin(outgoing: Outgoing): Promise<Http2Exchange> | Http2Exchange {
    return this.#beginNow(outgoing) ?? this.#beginLater(outgoing);
  }

  /** Undefined: it has to wait for its stream. */
  #beginNow(outgoing: Outgoing): Http2Exchange | undefined {
    if (this.#waiting.length > 0 || outgoing.signal?.aborted === true) return undefined;
    const session = this.#usable();
    try {
      return session?.begin(outgoing);
    } catch (error) {
      if (session?.taking === true) throw error; // see #serve
      return undefined;
    }
  }

  #beginLater(outgoing: Outgoing): Promise<Http2Exchange> {
    const { signal } = outgoing;
    return new Promise((resolve, reject) => {
      const over = (): void => signal?.removeEventListener("abort", onAbort);
      const one: Waiting = {
        outgoing,
        begun: (exchange) => {
          over();
          resolve(exchange);
        },
        failed: (reason) => {
          over();
          reject(reason);
        },
      };
      const onAbort = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== one);
        one.failed(signal?.reason);
        if (this.#waiting.length === 0) this.#leaveOpening();
      };
      if (signal?.aborted === true) {
        one.failed(signal.reason);
        return;
      }
      signal?.addEventListener("abort", onAbort);
      this.#waiting.push(one);
      this.#serve();
    });
  }

  /** Gives waiting requests their streams, and sees to a connection where one is missing. */
  #serve(): void {
    for (let one = this.#waiting[0]; one !== undefined; one = this.#waiting[0]) {
      const session = this.#usable();
      if (session === undefined) return;
      let exchange: Http2Exchange;
      try {
        exchange = session.begin(one.outgoing);
      } catch (error) {
        // Either the session ended since the last look, and the request stays first in line; or Node does
        // not take its headers, and would not on any other session.
        if (!session.taking) continue;
        this.#waiting.shift();
        one.failed(error);
        continue;
      }
      this.#waiting.shift();
      one.begun(exchange);
    }
    if (this.#life === "retired") this.#drain();
  }

  /** The connection, when a stream can begin on it now; else undefined, and `#serve` is called again. */
  #usable(): Http2Session | undefined {
    if (this.#state.kind === "ready" && !this.#state.session.taking) this.#leave(this.#state.session);
    switch (this.#state.kind) {
      case "none":
        this.#open();
        return undefined;
      case "opening":
      case "verifying":
        return undefined;
      case "ready": {
        const { session } = this.#state;
        if (session.streamCount === 0 && session.quietMs > idleMsMost) {
          this.#verify(session);
          return undefined;
        }
        return session.hasRoom ? session : undefined;
      }
    }
  }

  #open(): void {
    const abort = new AbortController();
    const state: State = { kind: "opening", abort };
    this.#state = state;
    const options: SessionOptions = {
      url: this.#url,
      tls: this.#options.tls,
      connectWaitMs: this.#options.connectWaitMs,
      clock: this.#options.clock,
      pingAfterMs: () => this.#pingAfterMs,
      onLeave: ({ tooManyPings }) => {
        // Some servers count pings and hang up; gRPC's own clients give in the same way.
        if (tooManyPings) this.#pingAfterMs *= 2;
        for (const session of this.#sessions) if (!session.taking) this.#leave(session);
        this.#serve();
      },
      onRoom: () => this.#serve(),
      onOver: (session) => this.#sessions.delete(session),
    };
    openSession(options, abort.signal).then(
      (session) => {
        if (this.#state !== state) {
          session.destroy();
          return;
        }
        this.#sessions.add(session);
        this.#state = { kind: "ready", session };
        this.#serve();
      },
      (reason: unknown) => {
        if (this.#state !== state) return;
        this.#state = { kind: "none" };
        this.#failWaiting(reason);
      },
    );
  }

  #verify(session: Http2Session): void {
    this.#state = { kind: "verifying", session };
    // Half of the time to connect, so that a dead connection and a new one fit into one try.
    void session.verify(this.#options.connectWaitMs / 2).then((alive) => {
      if (this.#state.kind !== "verifying" || this.#state.session !== session) return;
      this.#state = alive ? { kind: "ready", session } : { kind: "none" };
      this.#serve();
    });
  }

  #leave(session: Http2Session): void {
    if ("session" in this.#state && this.#state.session === session) this.#state = { kind: "none" };
  }

  /** Nobody waits for the connection that opens: it is given up, so that no socket is left behind. */
  #leaveOpening(): void {
    if (this.#state.kind !== "opening") return;
    this.#state.abort.abort();
    this.#state = { kind: "none" };
  }

  /** Every connection takes no more, and ends with its last request. */
  #drain(): void {
    this.#state = { kind: "none" };
    for (const session of this.#sessions) session.drain();
  }

  #failWaiting(reason: unknown): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) one.failed(reason);
  }

  #goneFault(): ConnectionFault {
    const text = `the connection to ${this.#url.origin} is ${this.#life}: it takes no new request`;
    return new ConnectionFault("cut", text, { sent: false });
  }
}

function headersOf(request: HttpRequest, origin: URL): OutgoingHttpHeaders {
  const headers = toNodeHeaders(request.header);
  headers[":method"] = request.method;
  headers[":scheme"] = origin.protocol.slice(0, -1);
  headers[":authority"] = origin.host;
  headers[":path"] = pathOf(request.url, origin);
  return headers;
}

/**
 * An HTTP client over one shared HTTP/2 connection: TLS for an https: origin, and prior knowledge (h2c) for
 * http:.
 *
 * @throws TypeError for an origin that is no http: or https: URL.
 */
export function http2Client(options: Http2Options): HttpClient {
  return new Http2Client(options);
}
