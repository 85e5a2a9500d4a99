/**
 * The one WebSocket that the streams of a link share where a page has few connections: over HTTP/1.1 a browser gives
 * six to a server, and six streams by themselves would leave none for a call.
 *
 *   none ──first stream──▶ dialing ──welcome──▶ standing ──cut, end, last stream──▶ none
 *                             └──no WebSocket gets through──▶ blocked, for a minute: streams go by themselves
 *
 * The loops of the streams decide when to connect; whoever comes first dials for all. So it has no waits of its own.
 *
 * Source: design "Streams: The client"; field case W1.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Welcome } from "../../gen/holdfast/link/v1/link_pb.ts";
import { ConnectionFault } from "../base/connection-fault.ts";
import { onAbort, untilAborted } from "../base/signals.ts";
import { headerNames } from "../call/headers.ts";
import { SignInGone } from "../call/sign-in.ts";
import { type ClientEnd, WireEnded } from "../wire/client-end.ts";
import { sayHello } from "../wire/say-hello.ts";
import { opened, subprotocolOf, webSocketWire, wirePath } from "../wire/websocket.ts";
import type { Wire } from "../wire/wire.ts";
import type { StreamEnvironment } from "./stream-environment.ts";
import { ofOurServer } from "./stream-message.ts";
import { WireStreams } from "./wire-streams.ts";

/** The slot of this wire. */
const slot = "streams";
/** A WebSocket that does not get through is tried again after this. */
const blockedMs = 60_000;
/** Where one has stood before, so many failures in a row tell a proxy from a server that is away. */
const failuresMost = 3;

/** A wire that opened, and the headers that a welcome stands for. */
export interface Joined {
  readonly streams: WireStreams;
  readonly header: Headers;
}

interface Standing extends Joined {
  /** Whose token it was signed in with. */
  readonly person: number;
  token: string | undefined;
}

export class SharedWire {
  readonly #env: StreamEnvironment;
  readonly #idleTimes = new Map<object, number>();
  /** Aborts when the last stream has left. */
  #life = new AbortController();
  #standing: Standing | undefined;
  /** Those that another one is to take the place of, until it stands: to their streams a change is one cut. */
  readonly #retired = new Set<WireStreams>();
  #dial: Promise<Standing> | undefined;
  #generation = 0;
  #stoodBefore = false;
  #failures = 0;
  #blockedUntil = Number.NEGATIVE_INFINITY;

  constructor(env: StreamEnvironment) {
    this.#env = env;
  }

  /** Whether a WebSocket is worth trying now. */
  isUsable(): boolean {
    return this.#env.webSocket() !== undefined && this.#env.clock.monotonic() >= this.#blockedUntil;
  }

  /** A stream lives on it from now on, until the function that it gives is called. */
  enter(idleMs: number): () => void {
    const key = {};
    this.#idleTimes.set(key, idleMs);
    return () => {
      if (!this.#idleTimes.delete(key) || this.#idleTimes.size > 0) return;
      this.#life.abort(new ConnectionFault("cut", "no stream is left", { sent: true }));
      this.#life = new AbortController();
      this.#dial = undefined;
      if (this.#standing !== undefined) this.retire(this.#standing.streams);
      this.#closeRetired();
    };
  }

  /**
   * The wire, for a stream with this idle time. Opens it when there is none.
   *
   * @throws ConnectionFault; the server's error, as an rpc of it ends; the signal's reason when it aborts first.
   */
  async join(token: string | undefined, idleMs: number, signal: AbortSignal): Promise<Joined> {
    for (;;) {
      const standing = this.#standing;
      if (standing !== undefined) {
        const { person, streams } = standing;
        // The server gives its signs as often as the wire asked for, and serves who signed in on it.
        if (person === this.#env.signIn.person && streams.idleMs <= idleMs) return standing;
        this.retire(streams);
      }
      await untilAborted(this.#dialing(token), signal);
    }
  }

  /** Nothing new goes over it. The next one takes its place, and its streams come over. */
  retire(streams: WireStreams): void {
    streams.retired = true;
    this.#retired.add(streams);
    if (this.#standing?.streams === streams) this.#standing = undefined;
  }

  /** The server does so too, where the one who signed in is the same. */
  #closeRetired(): void {
    for (const streams of this.#retired) this.#close(streams, "another WebSocket took the place of this one");
  }

  #close(streams: WireStreams, why: string): void {
    this.#retired.delete(streams);
    streams.over(cutFault(why));
    streams.end.close();
  }

  /** It gives no sign: it is of no use to any stream. */
  silent(streams: WireStreams): void {
    this.retire(streams);
    this.#close(streams, "no byte came on the WebSocket of the streams");
  }

  /** Nor does anything else get through: that no WebSocket does says nothing. */
  unblock(): void {
    this.#blockedUntil = Number.NEGATIVE_INFINITY;
  }

  /** The dial that is under way, or a new one. */
  #dialing(token: string | undefined): Promise<Standing> {
    if (this.#dial !== undefined) return this.#dial;
    const dial = this.#open(token).finally(() => {
      if (this.#dial === dial) this.#dial = undefined;
    });
    this.#dial = dial;
    return dial;
  }

  async #open(token: string | undefined): Promise<Standing> {
    const { clock, timing } = this.#env;
    const life = this.#life.signal;
    const stop = new AbortController();
    const forget = onAbort(life, (reason) => stop.abort(reason));
    const late = clock.timer(timing.connectWaitMs, () =>
      stop.abort(fault("connect-timeout", `no WebSocket opened in ${timing.connectWaitMs} ms`)),
    );
    try {
      const standing = await this.#openOne(token, stop.signal);
      this.#stoodBefore = true;
      this.#failures = 0;
      return standing;
    } catch (error) {
      if (error instanceof WireEnded) throw faultOfClose(error) ?? cutFault(error.message);
      if (life.aborted) throw error;
      this.#failures += 1;
      if (!this.#stoodBefore || this.#failures >= failuresMost)
        this.#blockedUntil = clock.monotonic() + blockedMs;
      if (error instanceof ConnectionFault) throw error;
      throw fault("connect-failed", `no WebSocket opened: ${String(error)}`, error);
    } finally {
      late.cancel();
      forget();
    }
  }

  async #openOne(token: string | undefined, signal: AbortSignal): Promise<Standing> {
    const { clock, log, timing, linkId, codec, session, build, anonymous, url } = this.#env;
    const Socket = this.#env.webSocket();
    if (Socket === undefined) throw fault("connect-failed", "there is no WebSocket here");
    const { person } = this.#env.signIn;
    const protocol = subprotocolOf(codec.name);
    const socket = new Socket(`${url.replace(/^http/, "ws")}/${wirePath}`, [protocol]);
    await opened(socket, protocol, signal);
    let standing: Standing | undefined;
    this.#generation += 1;
    const idleMs = Math.min(...this.#idleTimes.values());
    const wire = heardBy(webSocketWire(socket, clock), () => standing?.streams.heard(clock.monotonic()));
    const hello = {
      ...{ codec, link: linkId, slot, generation: this.#generation, session, build, token, idleMs },
      anon: token === undefined ? anonymous : undefined,
    };
    await sayHello(wire, hello, {
      ...{ clock, log, signal, waitMs: timing.connectWaitMs },
      opened: (end, welcome) => {
        standing = this.#stands(end, welcome, idleMs, { token, person });
      },
    });
    if (standing === undefined) throw fault("cut", "the WebSocket closed at once");
    return standing;
  }

  #stands(
    end: ClientEnd,
    welcome: Welcome,
    idleMs: number,
    sender: Pick<Standing, "token" | "person">,
  ): Standing {
    const streams = new WireStreams(end, idleMs);
    const standing: Standing = { streams, ...sender, header: headerOf(welcome, welcome.nowMs) };
    this.#standing = standing;
    this.#closeRetired();
    this.#env.heard(standing.header, sender.token);
    end.onNow((nowMs) => this.#env.heard(headerOf(welcome, nowMs), standing.token));
    end.onLeave((afterMs) => {
      this.retire(streams);
      streams.leave(afterMs);
    });
    end.onClose((cause) => {
      const { retired } = streams;
      this.retire(streams);
      this.#retired.delete(streams);
      streams.over(retired ? cutFault("another WebSocket took its place") : faultOfClose(cause));
    });
    end.take({ reauthWanted: () => void this.#reauth(standing) });
    return standing;
  }

  async #reauth(standing: Standing): Promise<void> {
    const { signIn, ending } = this.#env;
    try {
      standing.token = await signIn.refresh(standing.token, ending);
      standing.streams.end.reauth(standing.token ?? "");
    } catch (error) {
      if (error instanceof SignInGone) this.#env.signInGone(error);
    }
  }
}

/** Why a wire's streams end with it; undefined: somebody on the way closed it in good order. */
function faultOfClose(cause: Error | undefined): Error | undefined {
  if (cause === undefined) return undefined;
  if (cause instanceof WireEnded) return cause.error === undefined ? undefined : ofOurServer(cause.error);
  if (!(cause instanceof ConnectError)) return cutFault(cause.message, cause);
  // Made at this end: no sign came, or what came could not be read.
  const kind = cause.code === Code.Unavailable ? "no-reply" : "not-our-answer";
  return new ConnectionFault(kind, cause.rawMessage, { sent: true, cause });
}

function headerOf({ server, caller }: Welcome, nowMs: number): Headers {
  const header = new Headers({ [headerNames.server]: server, [headerNames.now]: `${Math.floor(nowMs)}` });
  if (caller !== "") header.set(headerNames.caller, caller);
  return header;
}

/** The same wire, with a word for each packet before it is read. */
function heardBy(wire: Wire, heard: () => void): Wire {
  return {
    name: wire.name,
    get bufferedAmount() {
      return wire.bufferedAmount;
    },
    send: (packet) => wire.send(packet),
    onPacket: (fn) =>
      wire.onPacket((packet) => {
        heard();
        fn(packet);
      }),
    onClose: (fn) => wire.onClose(fn),
    close: () => wire.close(),
    cut: (cause) => wire.cut(cause),
  };
}

function cutFault(text: string, cause?: unknown): ConnectionFault {
  return new ConnectionFault("cut", text, { sent: true, cause });
}

function fault(kind: "connect-failed" | "connect-timeout" | "cut", text: string, cause?: unknown): Error {
  return new ConnectionFault(kind, text, { sent: false, cause });
}

const sharedByLink = new WeakMap<object, SharedWire>();

/** The one of this stream's link. */
export function sharedWireOf(env: StreamEnvironment): SharedWire {
  const known = sharedByLink.get(env.link);
  if (known !== undefined) return known;
  const made = new SharedWire(env);
  sharedByLink.set(env.link, made);
  return made;
}
