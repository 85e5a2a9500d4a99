/**
 * The wire of a link, and which way its calls go.
 *
 * A call goes over the wire that is open, else over HTTP (`auto`), or waits for it (`wire`). The wire opens in the
 * background: when something is held, at the link's third call, or at the first where calls want nothing else. What a
 * one-shot command would pay for a handshake, it saves; a program that goes on gets the wire's speed.
 *
 *   none ──due──▶ opening ──welcome──▶ open ──end with again──▶ none, and the next one is opened
 *                    └──────fault─────▶ resting ──the wait is over──▶ none
 *
 * Source: design "Which way a call goes", "Drops and re-holds".
 */
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Code, type Transport } from "@connectrpc/connect";
import type { CallOptions } from "../base/calls.ts";
import type { Timer } from "../base/clock.ts";
import { ConnectionFault, faultIn } from "../base/connection-fault.ts";
import { streamIdleMs } from "../base/constants.ts";
import type { UnaryDefinition } from "../base/definition.ts";
import { reasonError, reasonFrom } from "../base/errors.ts";
import type { Holds } from "../base/objects.ts";
import { untilAborted } from "../base/signals.ts";
import { backoffMs } from "../call/backoff.ts";
import { makeCallAfter } from "../call/call-after.ts";
import type { TryConnection } from "../call/call-environment.ts";
import { headerNames } from "../call/headers.ts";
import { SignInGone } from "../call/sign-in.ts";
import { HolderSide, type OpenedWire } from "../hold/holder-side.ts";
import { References } from "../hold/references.ts";
import type { Welcome } from "../../gen/holdfast/link/v1/link_pb.ts";
import { type ClientEnd, WireEnded } from "../wire/client-end.ts";
import type { CodecName } from "../wire/handshake.ts";
import { sayHello } from "../wire/say-hello.ts";
import { FirstTries } from "./first-try.ts";
import { codecOf } from "./link-codec.ts";
import { WireCalls } from "./wire-calls.ts";
import type { LinkWire, OpenWire, WireEnvironment, WireHost, WireSupport } from "./wire-support.ts";
import { wireTry, type WireTryParts } from "./wire-transport.ts";

/** With `auto` the wire opens at this call of a link. */
const wireAtCall = 3;
/** A wire that nothing lives on and that does not open is looked for again after this. */
const restMs = 60_000;
/** The slot of this wire. */
const mainSlot = "main";

/** A wire that is open. */
interface Standing {
  readonly end: ClientEnd;
  readonly parts: WireTryParts;
}

/** What gives links their wires, by a function that opens one. */
export function wiresBy(open: OpenWire): WireSupport {
  return { attach: (host) => new MainWire(host, open) };
}

class MainWire implements LinkWire {
  readonly #host: WireHost;
  readonly #env: WireEnvironment;
  readonly #openWire: OpenWire;
  readonly #codec: CodecName;
  /** Whether calls want a wire and nothing else. */
  readonly #only: boolean;
  readonly #firstTries: FirstTries;
  readonly #openers = new Set<(end: ClientEnd) => void>();
  readonly #closed = new AbortController();
  #held: { readonly references: References; readonly side: HolderSide } | undefined;
  #unwant: () => void = () => undefined;
  #standing: Standing | undefined;
  /** All that have not closed: what a server leaves is open until it has answered what is under way on it. */
  readonly #ends = new Set<ClientEnd>();
  #opening: Promise<Standing> | undefined;
  #wants = 0;
  #calls = 0;
  #generation = 0;
  #failures = 0;
  #refusedToken: { readonly token: string | undefined } | undefined;
  #rest: Timer | undefined;
  /** Why the last one did not open, while it rests. */
  #cause: Error | undefined;

  constructor(host: WireHost, open: OpenWire) {
    this.#host = host;
    this.#env = host.env;
    this.#openWire = open;
    this.#codec = host.options.codec ?? "msgpack";
    this.#only = host.options.calls === "wire";
    this.#firstTries = new FirstTries(host.env);
  }

  get end(): ClientEnd | undefined {
    return this.#standing?.end;
  }

  connection(): TryConnection | undefined {
    if (this.#host.options.calls === "http") return undefined;
    const standing = this.#standing;
    if (standing !== undefined) return wireTry(standing.parts);
    this.#calls += 1;
    if (this.#only) return this.#waiting();
    if (this.#calls >= wireAtCall) this.#openIfDue();
    return undefined;
  }

  straight<I extends DescMessage, O extends DescMessage>(
    definition: UnaryDefinition<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions | undefined,
  ): Promise<MessageShape<O>> | undefined {
    const standing = this.#standing;
    if (standing === undefined || this.#host.options.calls === "http") return undefined;
    return this.#firstTries.send(standing.parts, definition, request, options);
  }

  onOpened(fn: (end: ClientEnd) => void): () => void {
    const opener = (end: ClientEnd): void => fn(end);
    this.#openers.add(opener);
    if (this.#standing !== undefined) opener(this.#standing.end);
    return () => this.#openers.delete(opener);
  }

  get holds(): Holds {
    this.#held ??= this.#holdsFromHere();
    return this.#held.references;
  }

  want(): () => void {
    this.#wants += 1;
    this.#openIfDue();
    let wanted = true;
    return () => {
      if (wanted) this.#wants -= 1;
      wanted = false;
    };
  }

  signedIn(): void {
    this.#refusedToken = undefined;
    const standing = this.#standing;
    if (standing !== undefined) {
      // Its end may take a while: from here on nothing goes over it, or over HTTP in its name.
      this.#over(standing, undefined, 0);
      standing.end.close();
    }
    this.#restOver();
  }

  prompt(): void {
    if (this.#standing !== undefined) void this.#standing.end.ask();
    if (this.#cause === undefined) return;
    this.#restOver();
  }

  close(): void {
    this.#closed.abort(reasonError("LINK_CLOSED"));
    this.#rest?.cancel();
    this.#held?.references.close();
    for (const end of this.#ends) end.close();
    this.#openers.clear();
  }

  /** For what does not go over a wire. Interceptors are around it already. */
  #http(): TryConnection {
    return this.#env.connection(undefined, []);
  }

  #openIfDue(): void {
    if (this.#standing !== undefined || this.#cause !== undefined) return;
    if (this.#closed.signal.aborted || this.#env.ending.aborted) return;
    this.#opening ??= this.#open();
    this.#opening.catch(() => undefined);
  }

  #openIfWanted(): void {
    if (this.#wants > 0 || this.#only) this.#openIfDue();
  }

  /** A try that waits for the wire: it is part of the try, and has its time. */
  #waiting(): TryConnection {
    let inner: TryConnection | undefined;
    const unary: Transport["unary"] = async (method, signal, ...rest) => {
      this.#openIfDue();
      if (this.#opening === undefined) throw this.#cause ?? fault("the wire is closed");
      const opened = signal === undefined ? this.#opening : untilAborted(this.#opening, signal);
      inner = wireTry((await opened).parts);
      return inner.transport.unary(method, signal, ...rest);
    };
    return {
      transport: { unary },
      http: () => (inner === undefined ? "connecting" : inner.http()),
      ownDeadline: false,
      signedIn: true,
      fault: () => (inner === undefined ? true : inner.fault()),
    };
  }

  async #open(): Promise<Standing> {
    try {
      const standing = await this.#openOne();
      this.#failures = 0;
      return standing;
    } catch (error) {
      throw this.#failed(error);
    } finally {
      this.#opening = undefined;
      // It may have ended in the very moment in which it opened.
      if (this.#standing === undefined) this.#openIfWanted();
    }
  }

  async #openOne(): Promise<Standing> {
    const { url, options: own } = this.#host;
    const { clock, log, timing, signIn, ending } = this.#env;
    const stop = new AbortController();
    const forget = [ending, this.#closed.signal].map((signal) => {
      const abort = (): void => stop.abort(signal.reason);
      if (signal.aborted) abort();
      signal.addEventListener("abort", abort);
      return () => signal.removeEventListener("abort", abort);
    });
    try {
      const { signal } = stop;
      const refused = this.#refusedToken;
      this.#refusedToken = undefined;
      const { person } = signIn;
      const token = await (refused === undefined
        ? signIn.token(signal)
        : signIn.refresh(refused.token, signal));
      const connectWaitMs = timing.connectWaitMs;
      const wire = await this.#openWire({ url, codec: this.#codec, clock, connectWaitMs, signal, own });
      let standing: Standing | undefined;
      this.#generation += 1;
      try {
        await sayHello(wire, this.#hello(token), {
          clock,
          log,
          waitMs: connectWaitMs,
          signal,
          opened: (end, welcome) => {
            // Somebody else may have signed in while it opened.
            if (person === signIn.person) standing = this.#stands(end, welcome, token);
            else end.close();
          },
        });
      } catch (error) {
        const refusal = error instanceof WireEnded ? error.error : undefined;
        if (refusal?.code === Code.Unauthenticated && refused === undefined) this.#refusedToken = { token };
        throw error;
      }
      if (standing === undefined) throw fault("the wire closed at once");
      return standing;
    } finally {
      for (const each of forget) each();
    }
  }

  #hello(token: string | undefined): Parameters<typeof sayHello>[1] {
    const { lane, identity, anonymous } = this.#env;
    return {
      codec: codecOf(this.#host, this.#codec),
      link: lane.id,
      slot: mainSlot,
      generation: this.#generation,
      session: identity[headerNames.session] ?? "",
      build: identity[headerNames.build],
      token,
      anon: token === undefined ? anonymous : undefined,
      idleMs: streamIdleMs,
    };
  }

  /** The wire stands: its users take their messages before the first can come. */
  #stands(end: ClientEnd, welcome: Welcome, token: string | undefined): Standing {
    const { lane, anonymous } = this.#env;
    const parts: WireTryParts = {
      calls: new WireCalls(end),
      server: welcome.server,
      tag: welcome.caller,
      token,
      link: lane.id,
      anonymous,
      url: this.#host.url,
      interceptors: this.#host.options.interceptors ?? [],
      http: () => this.#http(),
      fault: () => this.#tryFailed(standing),
    };
    const standing: Standing = { end, parts };
    this.#standing = standing;
    end.onNow((nowMs) => this.#learn(parts, nowMs));
    end.onLeave((afterMs) => this.#over(standing, undefined, afterMs));
    this.#ends.add(end);
    end.onClose((cause) => {
      this.#ends.delete(end);
      this.#over(standing, cause, 0);
    });
    end.take({ reauthWanted: () => void this.#reauth(end, token) });
    this.#learn(parts, welcome.nowMs);
    this.#env.answered();
    this.#held?.side.attach(openedOf(standing));
    for (const opener of [...this.#openers]) opener(end);
    return standing;
  }

  #holdsFromHere(): { readonly references: References; readonly side: HolderSide } {
    const { clock, random, log, timing, lane, ticket, anonymous } = this.#env;
    const side = new HolderSide({
      clock,
      random,
      timing,
      lane,
      ticket,
      anonymous,
      trouble: () => this.#env.trouble() ?? this.#cause?.message,
      post: (command) => makeCallAfter(this.#env, command),
      onWanted: (wanted) => {
        this.#unwant();
        this.#unwant = wanted ? this.want() : () => undefined;
      },
    });
    if (this.#standing !== undefined) side.attach(openedOf(this.#standing));
    return { side, references: new References({ clock, random, log, timing, providerOf: () => side }) };
  }

  #learn({ server, tag, token }: WireTryParts, nowMs: number): void {
    const headers = new Headers({ [headerNames.server]: server, [headerNames.now]: `${Math.floor(nowMs)}` });
    if (tag !== "") headers.set(headerNames.caller, tag);
    this.#env.heard(headers, token);
  }

  async #reauth(end: ClientEnd, before: string | undefined): Promise<void> {
    try {
      const token = await this.#env.signIn.refresh(before, this.#env.ending);
      end.reauth(token ?? "");
    } catch (error) {
      if (error instanceof SignInGone) this.#env.signInGone(error);
    }
  }

  /** A try had no answer. A wire that gives a sign stands, and only that try is over. */
  #tryFailed({ end }: Standing): boolean {
    if (end.open) void end.ask();
    return false;
  }

  /** The wire ended, or is about to: one that something lives on is opened again at once, unseen. */
  #over(standing: Standing, cause: Error | undefined, afterMs: number): void {
    if (this.#standing !== standing) return;
    this.#standing = undefined;
    const ended = cause instanceof WireEnded ? cause : undefined;
    if (ended?.error !== undefined) {
      this.#failed(ended);
      return;
    }
    if (afterMs > 0) this.#restFor(afterMs, fault("the server asks to come back later"));
    else this.#openIfWanted();
  }

  /** Why it did not open, as a fault of the tries that wait; and when it is looked for again. */
  #failed(error: unknown): unknown {
    if (this.#closed.signal.aborted || this.#env.ending.aborted) return error;
    const refusal = error instanceof WireEnded ? error.error : undefined;
    if (error instanceof SignInGone) this.#env.signInGone(error);
    else if (refusal !== undefined && reasonFrom(refusal) === "BUILD_REFUSED") {
      this.#env.tryEnded({ kind: "refusal", error: refusal, mark: "none" }, undefined);
    }
    const cause = faultIn(error) ?? fault(error instanceof Error ? error.message : String(error), error);
    this.#failures += 1;
    const { firstWaitMs, waitMsMost } = this.#env.timing;
    const needed = this.#wants > 0 || this.#only;
    const grownMs = backoffMs(this.#failures, firstWaitMs, waitMsMost, this.#env.random);
    const askedMs = error instanceof WireEnded ? error.afterMs : 0;
    const waitMs = Math.max(askedMs, needed || this.#refusedToken !== undefined ? grownMs : restMs);
    if (this.#wants > 0) this.#env.tryEnded({ kind: "connection-fault", fault: cause }, waitMs);
    this.#restFor(waitMs, cause);
    return cause;
  }

  #restFor(waitMs: number, cause: Error): void {
    this.#cause = cause;
    this.#rest?.cancel();
    this.#rest = this.#env.clock.timer(waitMs, () => this.#restOver(), { background: true });
  }

  #restOver(): void {
    this.#rest?.cancel();
    this.#cause = undefined;
    // With calls alone the next of them opens it.
    if (this.#wants > 0) this.#openIfDue();
  }
}

function openedOf({ parts }: Standing): OpenedWire {
  return { numbers: parts.calls.numbers, tag: parts.tag, anonymous: parts.token === undefined };
}

function fault(text: string, cause?: unknown): ConnectionFault {
  return new ConnectionFault("connect-failed", text, { sent: false, cause });
}
