/**
 * What the calls of a link share, and what their tries change: connections, the gate with its probe, the
 * sign-in, the lane, what is known of the server. It tells the link's state what happened, and nothing else
 * of the link.
 *
 * Source: design "Calls".
 */
import type { ConnectError, Interceptor, Transport } from "@connectrpc/connect";
import type { ConnectionFault } from "../base/connection-fault.ts";
import {
  idleProbeWaitMsMost,
  inFlightCountMost,
  probeWaitMsMost,
  promptProbeEveryMs,
  retryTokensMost,
  retryTokensPerSecond,
  type Timing,
} from "../base/constants.ts";
import type { Clock } from "../base/clock.ts";
import type { LinkHost } from "../base/definition.ts";
import type { HttpClient } from "../base/http-client.ts";
import { HoldfastError, reasonError, reasonFrom } from "../base/errors.ts";
import { type Log, silentLog } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { Reason } from "../base/reasons.ts";
import { onAbort } from "../base/signals.ts";
import { backoffMs } from "../call/backoff.ts";
import type { CallEnvironment, TryConnection } from "../call/call-environment.ts";
import { newId } from "../call/call-id.ts";
import { Gate, type ProbeEnd } from "../call/gate.ts";
import type { GateWaits } from "../call/gate-state.ts";
import { headerNames } from "../call/headers.ts";
import { InFlight } from "../call/in-flight.ts";
import type { CallOutbox } from "../call/keep.ts";
import { Lane } from "../call/lane.ts";
import type { TryEnd } from "../call/outcome.ts";
import { type RetryTokens, takeToken } from "../call/retry-tokens.ts";
import { SignIn } from "../call/sign-in.ts";
import { Ticket } from "../call/ticket.ts";
import type { Codec } from "../codec/codec.ts";
import type { Connections } from "./connections.ts";
import { type HttpTransportOptions, type HttpTry, httpTry } from "./http-transport.ts";
import type { LinkOptions } from "./link-options.ts";
import type { LinkEvent } from "./link-state.ts";
import type { Platform } from "./platform.ts";
import { probePath } from "./probe-path.ts";
import type { httpStreamTry } from "./stream-transport.ts";
import type { LinkWire } from "./wire-support.ts";

/** What a link is made of; `linkOf` makes it from what the program gave. */
export interface LinkParts {
  readonly url: URL;
  readonly options: LinkOptions;
  readonly timing: Timing;
  readonly platform: Platform;
  readonly connections: Connections;
  /** The program's codec of JSON, else the platform's. */
  readonly json: Codec | undefined;
  /** The link is closed: the registry forgets it. */
  readonly onClose: () => void;
}

/** A link, as the code that definitions name gets it. */
export interface LinkInside extends LinkHost {
  readonly env: LinkEnvironment;
  readonly parts: LinkParts;
  readonly baseUrl: string;
}

/** What the environment tells its link. */
export interface LinkView {
  readonly move: (event: LinkEvent) => void;
  readonly trouble: () => string | undefined;
}

const answered: LinkEvent = { kind: "answered" };
const readmitted: LinkEvent = { kind: "readmitted" };

/** What the calls of a link share. */
export class LinkEnvironment implements CallEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly timing: Timing;
  readonly server: "holdfast" | "plain";
  readonly gate: Gate;
  readonly signIn: SignIn;
  readonly lane: Lane;
  readonly ticket: Ticket;
  readonly inFlight = new InFlight(inFlightCountMost);
  readonly identity: Readonly<Record<string, string>>;
  readonly anonymous: string;
  readonly trouble: () => string | undefined;

  /** Set by the link that this is part of, once, before its first call. */
  outbox: CallOutbox | undefined;
  /** The same; undefined: all goes over HTTP. */
  wire: LinkWire | undefined;

  readonly #parts: LinkParts;
  readonly #baseUrl: string;
  readonly #view: LinkView;
  #ending = new AbortController();
  readonly #closing = new AbortController();
  #seen = false;
  #slotCount = 0;
  /** After a new sign-in, until the first answer: that answer ends `refused`. */
  #readmitting = false;
  #tokens: RetryTokens;
  #tag: { readonly sender: string | undefined; readonly tag: string } | undefined;

  constructor(parts: LinkParts, baseUrl: string, view: LinkView) {
    const { options, platform } = parts;
    this.#parts = parts;
    this.#baseUrl = baseUrl;
    this.#view = view;
    this.trouble = view.trouble;
    this.clock = options.clock ?? platform.clock;
    this.random = options.random ?? platform.random;
    this.log = options.log ?? silentLog;
    this.timing = parts.timing;
    this.server = options.server ?? "holdfast";
    this.lane = new Lane(newId(this.random));
    this.ticket = new Ticket(this.clock);
    this.signIn = new SignIn(options.token, this.clock, this.random);
    this.anonymous = newId(this.random);
    this.#tokens = { left: retryTokensMost, at: this.clock.monotonic() };
    this.identity = {
      [headerNames.session]: options.session ?? newId(this.random),
      ...(options.build === undefined ? {} : { [headerNames.build]: options.build }),
    };
    this.gate = new Gate({
      clock: this.clock,
      waits: (waiting) => this.#probeWaits(waiting),
      probe: () => this.#probe(),
      onNothing: (cause) => this.#fault(cause, this.gate.nextProbeAt),
      probeWhenIdle: options.transport === undefined,
    });
  }

  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** A name for a connection of a stream's own: each has another one. */
  newSlot(): string {
    this.#slotCount += 1;
    return `stream-${this.#slotCount}`;
  }

  get seen(): boolean {
    return this.#seen;
  }

  callConnection(form?: "binary"): TryConnection {
    // The outbox sends bytes whose schema it does not have.
    return (form === undefined ? this.wire?.connection() : undefined) ?? this.connection(form);
  }

  connection(form?: "binary", interceptors?: readonly Interceptor[]): TryConnection {
    return this.#over(httpTry, form, interceptors);
  }

  /**
   * The same for Connect's own streams.
   *
   * @param open - makes their transport; the code for it is the caller's to bring.
   */
  streamConnection(open: typeof httpStreamTry): TryConnection<Pick<Transport, "stream">> {
    return this.#over(open);
  }

  #over<Its extends Partial<Transport>>(
    open: (client: HttpClient, options: HttpTransportOptions) => HttpTry<Its>,
    form?: "binary",
    interceptors?: readonly Interceptor[],
  ): TryConnection<Its | Transport> {
    const { options, connections } = this.#parts;
    if (options.transport !== undefined) {
      return {
        transport: options.transport,
        http: () => undefined,
        ownDeadline: true,
        fault: () => true,
      };
    }
    const client = connections.client;
    const { transport, progress, head } = open(client, {
      baseUrl: this.#baseUrl,
      json: form === undefined && options.format === "json" ? this.#parts.json : undefined,
      interceptors: interceptors ?? options.interceptors ?? [],
    });
    const fault = (): boolean => {
      const swapped = connections.swap(client);
      // A fresh connection asks for a fresh token: the old one may have run out while the link was down.
      if (swapped) this.signIn.forget();
      return swapped;
    };
    return { transport, http: progress, head, ownDeadline: false, fault };
  }

  takeRetryToken(waitMsMost: number): number {
    const rate = { most: retryTokensMost, perSecond: retryTokensPerSecond };
    const taken = takeToken(this.#tokens, this.clock.monotonic(), rate, waitMsMost);
    this.#tokens = taken.tokens;
    return taken.waitMs;
  }

  tagOf(sender: string | undefined): string | undefined {
    return this.#tag?.sender === sender ? this.#tag?.tag : undefined;
  }

  heard(header: Headers, sender: string | undefined): void {
    if (!header.has(headerNames.server)) return;
    this.#seen = true;
    this.ticket.learn(header.get(headerNames.now));
    const tag = header.get(headerNames.caller);
    if (tag !== null) this.named(tag, sender);
  }

  async askTime(): Promise<void> {
    await this.#probe();
  }

  named(tag: string, sender: string | undefined): void {
    const known = this.#tag;
    if (known === undefined || known.tag !== tag || known.sender !== sender) this.#tag = { sender, tag };
  }

  tryEnded(end: TryEnd, nextTryInMs: number | undefined): void {
    switch (end.kind) {
      case "connection-fault":
        this.#fault(end.fault, this.gate.nextProbeAt);
        return;
      case "server-fault":
        this.#parts.connections.replied = true;
        this.#fault(end.error, nextTryInMs === undefined ? undefined : this.clock.monotonic() + nextTryInMs);
        return;
      case "refusal":
        if (reasonFrom(end.error) === "BUILD_REFUSED") this.#refuse("BUILD_REFUSED", ofServer(end.error));
        else this.answered();
        return;
      case "reply":
      case "unauthenticated":
        this.answered();
        return;
      case "not-holdfast":
      case "program-fault":
        return;
    }
  }

  isNoServer(fault: ConnectionFault): boolean {
    const { connections, url } = this.#parts;
    return fault.kind === "connect-refused" && !connections.replied && isLoopback(url.hostname);
  }

  signInGone(error: Error): void {
    this.#refuse("SIGN_IN_GONE", reasonError("SIGN_IN_GONE", undefined, { cause: error }));
  }

  signInAgain(): void {
    this.signIn.restart();
    this.#tag = undefined;
    if (!this.closing.aborted && this.#ending.signal.aborted) {
      this.#readmitting = true;
      this.#ending = new AbortController();
    }
    // A link that was refused opens its wire anew, too.
    this.wire?.signedIn();
  }

  /** Aborts when the link is closed for good, and not when it is only refused. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Calls `fn` when the network may be back, until the returned function is called. */
  onWake(fn: () => void): () => void {
    return this.#parts.platform.onWake(fn);
  }

  /** False when it was closed already. */
  close(): boolean {
    if (this.closing.aborted) return false;
    this.#closing.abort();
    this.#ending.abort(reasonError("LINK_CLOSED"));
    this.gate.close();
    this.wire?.close();
    return true;
  }

  answered(): void {
    this.#parts.connections.replied = true;
    this.#view.move(this.#readmitting ? readmitted : answered);
    this.#readmitting = false;
  }

  #fault(cause: Error, nextAt: number | undefined): void {
    const nextTryAt = nextAt === undefined ? undefined : this.clock.now() + nextAt - this.clock.monotonic();
    this.#view.move({ kind: "fault", cause, nextTryAt });
  }

  #refuse(reason: Reason, error: HoldfastError): void {
    this.#readmitting = false;
    this.#view.move({ kind: "refused", reason, cause: error });
    this.#ending.abort(error);
  }

  #probeWaits(waiting: boolean): GateWaits {
    const { firstWaitMs, waitMsMost } = this.timing;
    const mostMs = waiting ? Math.min(probeWaitMsMost, waitMsMost) : idleProbeWaitMsMost;
    return {
      waitMs: (failures) => backoffMs(failures, Math.min(firstWaitMs, mostMs), mostMs, this.random),
      promptEveryMs: promptProbeEveryMs,
    };
  }

  /** Looks whether the server is there, without any call: a call may be slow, or must not be sent twice. */
  async #probe(): Promise<ProbeEnd> {
    const { connections, options } = this.#parts;
    if (options.transport !== undefined) return { kind: "maybe" };
    const client = connections.client;
    const cut = new AbortController();
    const forget = onAbort(this.ending, (reason) => cut.abort(reason));
    const timer = this.clock.timer(this.timing.connectWaitMs, () => cut.abort(probeTimedOut()), {
      background: true,
    });
    try {
      const header = await client.reach(`${this.#baseUrl}/${probePath}`, cut.signal);
      if (header?.has(headerNames.server) !== true) return { kind: "maybe" };
      this.heard(header, undefined);
      this.answered();
      return { kind: "proof" };
    } catch (error) {
      if (connections.swap(client)) this.signIn.forget();
      return { kind: "nothing", cause: error instanceof Error ? error : new Error(String(error)) };
    } finally {
      timer.cancel();
      forget();
    }
  }
}

function probeTimedOut(): Error {
  return new Error("no reply to a probe");
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** The server's own error, as the end of all calls of this link. */
function ofServer(error: ConnectError): HoldfastError {
  const { rawMessage, code, details, metadata } = error;
  return new HoldfastError(rawMessage, { reason: reasonFrom(error), code, details, metadata, cause: error });
}
