/**
 * HTTP/1.1 for Node, for servers and proxies that know nothing newer: a connection for each request under
 * way, kept for the next one.
 *
 * A kept connection that the server closes in the same moment cuts the request that goes out on it. Nothing
 * can tell whether it arrived, so it counts as sent, and what may not run twice is not sent again.
 */
import { Agent, type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent as TlsAgent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import type { UniversalClientResponse } from "@connectrpc/connect/protocol";
import { ConnectionFault } from "../base/connection-fault.ts";
import type { HttpClient, HttpOptions, HttpRequest } from "../base/http-client.ts";
import type { TlsOptions } from "./dial.ts";
import { connectFault, connectTimeout, requestFault } from "./node-errors.ts";
import { fromNodeHeaders, toNodeHeaders } from "./node-headers.ts";
import { originUrl, targetOf } from "./origin.ts";
import { pour, RequestBody } from "./request-body.ts";
import { ResponseBody } from "./response-body.ts";

export interface Http1Options extends HttpOptions {
  /** For https: origins: authorities, a client certificate, a pin. Default: the system's authorities. */
  readonly tls?: TlsOptions;
}

/** Unused connections that are kept; more are closed. */
const keptCountMost = 64;

class Http1Client implements HttpClient {
  readonly #options: Http1Options;
  readonly #url: URL;
  readonly #agent: Agent;
  readonly #underWay = new Set<Http1Exchange>();
  #life: "open" | "retired" | "closed" = "open";

  constructor(options: Http1Options) {
    this.#options = options;
    this.#url = originUrl(options.origin);
    const kept = { keepAlive: true, maxFreeSockets: keptCountMost };
    this.#agent =
      this.#url.protocol === "https:" ? new TlsAgent({ ...kept, ...options.tls }) : new Agent(kept);
  }

  async send(request: HttpRequest): Promise<UniversalClientResponse> {
    request.signal?.throwIfAborted();
    if (this.#life !== "open") throw this.#goneFault(false);
    const headers = toNodeHeaders(request.header);
    const url = targetOf(request.url, this.#url);
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const exchange = new Http1Exchange(
      this.#options,
      send(url, { method: request.method, headers, agent: this.#agent }),
      request,
      () => {
        this.#underWay.delete(exchange);
        this.#endWhenIdle();
      },
    );
    this.#underWay.add(exchange);
    return await exchange.answer;
  }

  async reach(url: string, signal: AbortSignal): Promise<Headers> {
    const answer = await this.send({ url, method: "HEAD", header: new Headers(), signal });
    await answer.body[Symbol.asyncIterator]().return?.();
    return answer.header;
  }

  retire(): void {
    if (this.#life === "open") this.#life = "retired";
    this.#endWhenIdle();
  }

  close(): void {
    this.#life = "closed";
    for (const exchange of this.#underWay) exchange.abort(this.#goneFault(true));
    this.#agent.destroy();
  }

  #endWhenIdle(): void {
    if (this.#life !== "open" && this.#underWay.size === 0) this.#agent.destroy();
  }

  #goneFault(sent: boolean): ConnectionFault {
    const text = `the client of ${this.#url.origin} is ${this.#life}: it takes no new request`;
    return new ConnectionFault("cut", text, { sent });
  }
}

/** One request and its answer. */
class Http1Exchange {
  readonly answer: Promise<UniversalClientResponse>;
  readonly #options: Http1Options;
  readonly #node: ClientRequest;
  readonly #request: HttpRequest;
  readonly #body: RequestBody;
  readonly #onOver: () => void;
  readonly #onAbort: () => void;
  readonly #trailer = new Headers();
  #reject: (reason: unknown) => void = () => undefined;
  #response: ResponseBody | undefined;
  #connected = false;
  #aborted: { readonly reason: unknown } | undefined;
  #error: unknown;

  constructor(options: Http1Options, node: ClientRequest, request: HttpRequest, onOver: () => void) {
    this.#options = options;
    this.#node = node;
    this.#request = request;
    this.#onOver = onOver;
    this.#body = new RequestBody(request.body);
    this.#body.keepNoMore(); // HTTP/1.1 has no refusal that would let it be sent again
    this.#onAbort = () => this.abort(request.signal?.reason);
    request.signal?.addEventListener("abort", this.#onAbort);
    this.answer = new Promise((resolve, reject) => {
      this.#reject = reject;
      node.once("response", (message) => resolve(this.#answerOf(message)));
    });
    this.answer.catch(() => undefined); // who awaits it comes a turn later
    this.#connect();
    node.on("error", (error) => {
      this.#error = error;
    });
    node.on("close", () => {
      if (this.#response === undefined) this.#reject(this.#fault());
      this.#over();
    });
  }

  /** Ends it now, with this reason for whoever waits. */
  abort(reason: unknown): void {
    this.#aborted ??= { reason };
    this.#reject(reason);
    this.#response?.abort(reason);
    this.#node.destroy();
  }

  /** Nothing is written before the connection stands, so that a failed connect has certainly sent nothing. */
  #connect(): void {
    const { clock, connectWaitMs, origin } = this.#options;
    const timer = clock.timer(connectWaitMs, () => this.abort(connectTimeout(origin, connectWaitMs)), {
      background: true,
    });
    this.#node.once("close", () => timer.cancel());
    this.#node.once("socket", (socket: Socket) => {
      const ready = (): void => {
        timer.cancel();
        if (this.#node.destroyed) return;
        this.#connected = true;
        this.#request.onSent?.();
        this.#pour();
      };
      const shaking = "secureConnecting" in socket && socket.secureConnecting === true;
      if (!socket.connecting && !shaking) ready();
      else socket.once(this.#node.protocol === "https:" ? "secureConnect" : "connect", ready);
    });
  }

  #pour(): void {
    // The source of the request's own body failed: that is the program's error, given on as it is.
    pour(this.#body, this.#node).catch((error: unknown) => this.abort(error));
  }

  #answerOf(message: IncomingMessage): UniversalClientResponse {
    this.#response = new ResponseBody({
      readable: message,
      endOf: (ended) => {
        if (!ended || !message.complete) return this.#fault();
        for (const [name, value] of fromNodeHeaders(message.trailers)) this.#trailer.append(name, value);
        return undefined;
      },
      onOver: () => {
        // A connection with more to come on it cannot be kept.
        if (!message.complete || !this.#node.writableEnded) this.#node.destroy();
        this.#over();
      },
    });
    message.on("error", (error) => {
      this.#error = error;
    });
    return {
      status: message.statusCode ?? 0,
      header: fromNodeHeaders(message.headers),
      body: this.#response,
      trailer: this.#trailer,
    };
  }

  #over(): void {
    this.#request.signal?.removeEventListener("abort", this.#onAbort);
    this.#body.stop();
    this.#onOver();
  }

  #fault(): unknown {
    if (this.#aborted !== undefined) return this.#aborted.reason;
    const { origin } = this.#options;
    if (!this.#connected) return connectFault(origin, this.#error);
    return requestFault(origin, this.#error ?? closedEarly());
  }
}

function closedEarly(): Error {
  return Object.assign(new Error("the connection ended"), { code: "ECONNRESET" });
}

/**
 * An HTTP client over HTTP/1.1.
 *
 * @throws TypeError for an origin that is no http: or https: URL.
 */
export function http1Client(options: Http1Options): HttpClient {
  return new Http1Client(options);
}
