/**
 * One HTTP/2 connection, from its first byte to its socket's end: how it opens, carries streams, is watched,
 * stops taking new streams, and ends.
 *
 * It owns the socket. Node keeps the socket of a session that got GOAWAY until the other end closes it, which
 * a peer without network never does.
 *
 * Source: decision "Own the HTTP/2 session".
 */
import { type ClientHttp2Session, connect, constants, type Settings } from "node:http2";
import type { OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../base/clock.ts";
import { ConnectionFault } from "../base/connection-fault.ts";
import type { Stop } from "../base/late-signal.ts";
import { dial, type TlsOptions } from "./dial.ts";
import { Http2Exchange } from "./http2-exchange.ts";
import { connectTimeout, notHttp2Fault } from "./node-errors.ts";
import { PingWatch } from "./ping-watch.ts";
import type { RequestBody } from "./request-body.ts";

/** A request on its way out. */
export interface Outgoing {
  readonly headers: OutgoingHttpHeaders;
  readonly body: RequestBody;
  readonly signal: Stop | undefined;
  readonly onSent: (() => void) | undefined;
}

export interface SessionOptions {
  readonly url: URL;
  readonly tls: TlsOptions | undefined;
  readonly connectWaitMs: number;
  readonly clock: Clock;
  /** Ms without a byte, while streams are open, after which the peer is asked for a sign. */
  readonly pingAfterMs: () => number;
  /** It takes no new stream any more. Called once; streams may go on. */
  readonly onLeave: (why: { readonly tooManyPings: boolean }) => void;
  /** A stream ended or the peer allows more: there may be room. */
  readonly onRoom: () => void;
  /** Its socket is closed. */
  readonly onOver: (session: Http2Session) => void;
}

/** A peer that is alive answers a PING over the worst network within this. */
const pingAnswerMs = 8_000;
/** A session that ends in good order gets this long to say goodbye. */
const goodbyeMs = 1_000;
/** Bytes that one stream may take in unread: what a second on a fast line with a long way brings. */
const streamWindowBytes = 256 * 1024;
/** The same for all streams together. Node's 64 KiB would let one slow reader stop all others. */
const sessionWindowBytes = 16 * streamWindowBytes;

/** What a session still does. */
type State = "taking" | "draining" | "ended";

export class Http2Session {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #options: SessionOptions;
  readonly #watch: PingWatch;
  readonly #exchanges = new Set<Http2Exchange>();
  #state: State = "taking";

  constructor(session: ClientHttp2Session, socket: Socket, options: SessionOptions) {
    this.#session = session;
    this.#socket = socket;
    this.#options = options;
    this.#watch = new PingWatch({
      clock: options.clock,
      afterMs: options.pingAfterMs,
      answerMs: pingAnswerMs,
      ping: (answered) => this.#ask(answered),
      onSilent: () => this.destroy("gives no sign: its network or this one is gone"),
    });
    session.on("goaway", (code: number, lastStreamId: number, data?: Uint8Array) => {
      const calm = code === constants.NGHTTP2_ENHANCE_YOUR_CALM;
      this.#leave(
        calm && data !== undefined && Buffer.from(data).toString("latin1").includes("too_many_pings"),
      );
      for (const exchange of [...this.#exchanges]) exchange.goAway(lastStreamId);
    });
    session.on("close", () => this.#end());
    socket.on("close", () => {
      this.#end();
      options.onOver(this);
    });
    session.on("remoteSettings", () => options.onRoom());
    session.unref();
  }

  /** Whether a stream can begin now. */
  get hasRoom(): boolean {
    if (this.#state !== "taking" || this.#session.closed || this.#session.destroyed) return false;
    return (
      this.#exchanges.size < (this.#session.remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY)
    );
  }

  get taking(): boolean {
    return this.#state === "taking" && !this.#session.closed && !this.#session.destroyed;
  }

  get streamCount(): number {
    return this.#exchanges.size;
  }

  /** Ms since the last sign of the peer. */
  get quietMs(): number {
    return this.#options.clock.monotonic() - this.#watch.lastByteAt;
  }

  /** Begins one request. Throws when the session has ended meanwhile: then nothing was sent. */
  begin({ headers, body, signal, onSent }: Outgoing): Http2Exchange {
    const stream = this.#session.request(headers, { endStream: body.empty });
    onSent?.(); // the bytes leave after this turn, whatever becomes of the stream
    const exchange = new Http2Exchange(this.#options.url.origin, stream, body, signal, {
      onByte: () => this.#watch.note(),
      onClose: () => this.#over(exchange),
      connectionGone: () => this.#socket.destroyed || this.#socket.readableEnded,
    });
    this.#exchanges.add(exchange);
    if (this.#exchanges.size === 1) {
      this.#socket.ref();
      this.#watch.start();
    }
    return exchange;
  }

  /** Asks the peer for a sign; a session without one has ended when this resolves. */
  async verify(waitMs: number): Promise<boolean> {
    this.#socket.ref();
    const alive = await this.#watch.ask(waitMs);
    if (this.#exchanges.size === 0) this.#socket.unref();
    if (!alive) this.destroy();
    return alive && this.#state === "taking";
  }

  /** Takes no new stream, and ends when the last is over. */
  drain(): void {
    this.#leave(false);
    this.#endWhenEmpty();
  }

  /** Ends it now; its streams are cut. */
  destroy(why = "is given up by this client"): void {
    const fault = new ConnectionFault("cut", `${this.#options.url.origin} ${why}`, { sent: true });
    // For the server this is a goodbye: a program that ends is no error in its log.
    this.#session.destroy(fault, constants.NGHTTP2_NO_ERROR);
    this.#socket.destroy();
    this.#end();
  }

  /** Node sends no PING on a session that drains; settings have to be acknowledged too. */
  #ask(answered: (ok: boolean) => void): void {
    const told = (error: Error | null): void => answered(error === null);
    if (this.#session.closed) this.#session.settings({}, told);
    else this.#session.ping(told);
  }

  #leave(tooManyPings: boolean): void {
    if (this.#state !== "taking") return;
    this.#state = "draining";
    // After this turn: the streams that the same frame ends are told first.
    queueMicrotask(() => this.#options.onLeave({ tooManyPings }));
    queueMicrotask(() => this.#endWhenEmpty());
  }

  #over(exchange: Http2Exchange): void {
    if (!this.#exchanges.delete(exchange)) return;
    if (this.#exchanges.size === 0) {
      this.#watch.stop();
      this.#socket.unref();
      this.#endWhenEmpty();
    }
    this.#options.onRoom();
  }

  #endWhenEmpty(): void {
    if (this.#state !== "draining" || this.#exchanges.size > 0) return;
    this.#end();
    // Node's own close() stays open when its GOAWAY is not written yet; this writes it and goes on.
    this.#session.destroy();
    const timer = this.#options.clock.timer(goodbyeMs, () => this.#socket.destroy(), { background: true });
    this.#socket.once("close", () => timer.cancel());
    if (this.#socket.destroyed) timer.cancel();
  }

  #end(): void {
    if (this.#state === "ended") return;
    this.#leave(false);
    this.#state = "ended";
    this.#watch.stop();
  }
}

const settings: Settings = { enablePush: false, initialWindowSize: streamWindowBytes };

/**
 * Opens a session. It stands when the server's first frame is there: a server that speaks something else, or
 * takes connections and says nothing, is found out while nothing is sent yet.
 *
 * @throws ConnectionFault, `sent: false`; the signal's reason once that has aborted.
 */
export async function openSession(options: SessionOptions, signal: AbortSignal): Promise<Http2Session> {
  const { url, clock, connectWaitMs } = options;
  const ended = new AbortController();
  const timer = clock.timer(connectWaitMs, () => ended.abort(connectTimeout(url.origin, connectWaitMs)), {
    background: true,
  });
  const onAbort = (): void => ended.abort(signal.reason);
  signal.addEventListener("abort", onAbort);
  if (signal.aborted) onAbort();
  try {
    const socket = await dial(url, options.tls, ended.signal);
    return await greet(socket, options, ended.signal);
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", onAbort);
  }
}

function greet(socket: Socket, options: SessionOptions, signal: AbortSignal): Promise<Http2Session> {
  return new Promise((resolve, reject) => {
    const { url } = options;
    const session = connect(url, { createConnection: () => socket, settings });
    let problem: unknown;
    // For the session's whole life: an error without a listener ends the process.
    session.on("error", (error: Error) => {
      problem = error;
    });
    // Pushed streams are switched off by our settings; one that comes anyway is refused.
    session.on("stream", (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM));
    const over = (): void => {
      signal.removeEventListener("abort", onAbort);
      session.off("close", onClose);
      session.off("remoteSettings", onReady);
    };
    const fail = (reason: unknown): void => {
      over();
      session.destroy();
      socket.destroy();
      reject(reason);
    };
    const onAbort = (): void => fail(signal.reason);
    const onClose = (): void => fail(notHttp2Fault(url.origin, problem));
    const onReady = (): void => {
      over();
      session.setLocalWindowSize(sessionWindowBytes);
      resolve(new Http2Session(session, socket, options));
    };
    signal.addEventListener("abort", onAbort);
    session.on("close", onClose);
    session.once("remoteSettings", onReady);
    if (signal.aborted) onAbort();
  });
}
