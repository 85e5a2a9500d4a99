/**
 * One call, from the program's request to its reply or its error: the loop that sends tries, and obeys
 * `outcome.ts` and `retry.ts` inside one deadline.
 *
 * Source: design "Calls".
 */
import {
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { ConnectError, type UnaryResponse } from "@connectrpc/connect";
import type { CallOptions } from "../base/calls.ts";
import { sleep } from "../base/clock.ts";
import { ConnectionFault } from "../base/connection-fault.ts";
import { type Deadline, deadlineAfter, timeoutHeaderMs } from "../base/deadline.ts";
import type { UnaryDefinition } from "../base/definition.ts";
import { LateSignal, type Stop } from "../base/late-signal.ts";
import type { Progress } from "../base/errors.ts";
import { snapshot } from "../base/snapshot.ts";
import { onAbort, untilAborted } from "../base/signals.ts";
import { faultWaitMs } from "./backoff.ts";
import type { BegunCall } from "./begun-call.ts";
import type { CallEnvironment, TryConnection } from "./call-environment.ts";
import {
  budgetEnded,
  type CallFacts,
  callerAborted,
  errorOfStop,
  errorOfTry,
  ownerlessError,
} from "./call-error.ts";
import { newId } from "./call-id.ts";
import { headerNames, joined, tryHeaders } from "./headers.ts";
import { errorEnd, gateReport, hasLeft, replyEnd, type TryEnd, type TryFacts } from "./outcome.ts";
import { type Keep, keepOf } from "./keep.ts";
import { nextStep } from "./retry.ts";
import { SignInGone } from "./sign-in.ts";
import { Stamp } from "./stamp.ts";
import { answeredText, endText, isRepeat, keptText, nextTexts, tellTry } from "./try-text.ts";
import { budgetMsOf, isSilentTick, noReply, tryWaitMsOf } from "./try-wait.ts";

/**
 * Makes a call.
 *
 * @throws TypeError at once for a budget of NaN; HoldfastError for every other end without a reply.
 */
export async function makeCall<I extends DescMessage, O extends DescMessage>(
  env: CallEnvironment,
  definition: UnaryDefinition<I, O>,
  request: MessageInitShape<I>,
  options: CallOptions = {},
): Promise<MessageShape<O>> {
  const call = new Call(env, definition, request, options);
  return call.run((signal) => keepOf(env, definition, call.request, options, signal));
}

/** Sends an entry of the outbox as the call that it is: {@link makeCall} with a keep of its own. */
export async function sendKept<I extends DescMessage, O extends DescMessage>(
  env: CallEnvironment,
  definition: UnaryDefinition<I, O>,
  request: MessageInitShape<I>,
  keep: Keep,
  options: CallOptions,
): Promise<MessageShape<O>> {
  return new Call(env, definition, request, options).run(async () => keep);
}

/** Goes on with a call from its first try: what comes of that, and all that follows. */
export async function goOn<I extends DescMessage, O extends DescMessage>(
  env: CallEnvironment,
  definition: UnaryDefinition<I, O>,
  request: MessageShape<I>,
  options: CallOptions,
  begun: BegunCall,
): Promise<MessageShape<O>> {
  return new Call(env, definition, request, options, begun).run(async () => undefined);
}

class Call<I extends DescMessage, O extends DescMessage> {
  readonly #env: CallEnvironment;
  readonly #definition: UnaryDefinition<I, O>;
  readonly #options: CallOptions;
  readonly request: MessageShape<I>;
  readonly #deadline: Deadline;
  readonly #budgetMs: number;
  readonly #once: boolean;
  readonly #repeatable: boolean;
  /** What a command carries; undefined for what may run twice, and for a server without a journal. */
  #stamp: Stamp | undefined;
  /** What the outbox holds of a command. */
  #keep: Keep | undefined;
  /** Aborts when the call is over for another reason than its tries. */
  readonly #over = new LateSignal();

  /** The first try, where it is under way already. */
  #begun: BegunCall | undefined;
  /** Ms of the call's time that were gone when this took it over. */
  readonly #goneMs: number;

  #progress: Progress = "waiting";
  #tries = 0;
  #serverFaults = 0;
  #refreshed = false;
  #mayHaveRun = false;
  #lastFault: Error | undefined;

  constructor(
    env: CallEnvironment,
    definition: UnaryDefinition<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions,
    begun?: BegunCall,
  ) {
    this.#env = env;
    this.#definition = definition;
    this.#options = options;
    const command = definition.kind === "command";
    const journaled = command && definition.callId !== false && env.server === "holdfast";
    this.#once = journaled && definition.delivery !== "atMostOnce";
    this.#repeatable = !command || this.#once;
    this.#begun = begun;
    this.#stamp = begun?.stamp ?? (journaled ? new Stamp(newId(env.random), env) : undefined);
    this.#budgetMs = budgetMsOf(definition, options, env.timing);
    this.#goneMs = begun === undefined ? 0 : env.clock.monotonic() - begun.startedAt;
    this.#deadline = deadlineAfter(env.clock, this.#budgetMs - this.#goneMs);
    // A program that changes its message after the call must not change what a later try sends.
    this.request = snapshot(definition.method.input, request);
  }

  async run(enter: (signal: Stop) => Promise<Keep | undefined>): Promise<MessageShape<O>> {
    const { clock, inFlight, ending } = this.#env;
    const signal = this.#over;
    const timer = clock.timer(this.#budgetMs - this.#goneMs, () => this.#over.abort(budgetEnded));
    const forgetCaller = onAbort(this.#options.signal, () => this.#over.abort(callerAborted));
    const forgetLink = onAbort(ending, (reason) => this.#over.abort(reason));
    let leave = this.#begun?.leave ?? ((): void => undefined);
    try {
      this.#keep = await enter(signal);
      if (this.#keep?.stamp !== undefined) {
        this.#stamp = this.#keep.stamp;
        this.#mayHaveRun = this.#stamp.maybeSent;
      }
      if (this.#once && this.#keep?.stored !== true && this.#begun === undefined)
        leave = await inFlight.enter(signal);
      return await this.#tryUntilOver(signal);
    } catch (error) {
      const final = this.#finalError(error, signal);
      throw this.#keep === undefined ? final : await this.#keep.failed(final);
    } finally {
      timer.cancel();
      forgetCaller();
      forgetLink();
      leave();
      if (this.#keep?.stamp === undefined) this.#stamp?.settle();
    }
  }

  async #tryUntilOver(signal: Stop): Promise<MessageShape<O>> {
    for (;;) {
      const begun = this.#begun;
      this.#begun = undefined;
      if (begun === undefined) {
        this.#progress = "waiting";
        const elsewhere = await this.#keep?.turn(signal);
        const { output } = this.#definition.method;
        if (elsewhere !== undefined) return await this.#replied(fromBinary(output, elsewhere));
        await this.#env.gate.pass(signal, this.#tries === 0);
      }
      let connection: TryConnection;
      let token: string | undefined;
      let end: TryEnd<O>;
      try {
        ({ connection, token } = begun ?? (await this.#ready(signal)));
        end = await this.#try(connection, token, signal);
      } catch (error) {
        this.#env.gate.report("nothing");
        throw error;
      }
      // A fault of a connection that was given up before is no news, neither for the gate nor for the state.
      const stale = end.kind === "connection-fault" && !connection.fault();
      const silent = stale || this.#endsWithoutServer(end);
      this.#env.gate.report(silent ? "nothing" : gateReport(end));
      if (end.kind === "reply") {
        this.#env.tryEnded(end, undefined);
        this.#trace(isRepeat(end.response) ? keptText : answeredText);
        this.#options.onHeader?.(end.response.header);
        this.#options.onTrailer?.(end.response.trailer);
        return await this.#replied(end.response.message);
      }
      await this.#follow(end, silent, token, signal);
    }
  }

  /** What the next try goes over, and in whose name. */
  async #ready(signal: Stop): Promise<Pick<BegunCall, "connection" | "token">> {
    this.#progress = "signing-in";
    await this.#keep?.look();
    this.#mayHaveRun ||= this.#stamp?.sentElsewhere === true; // by somebody else, while it waited
    const token = await this.#token(signal);
    // Not before the token is there: the one of now may be given up while the call waits for it.
    const connection = this.#env.callConnection(this.#keep?.binary === true ? "binary" : undefined);
    const tag = this.#env.tagOf(this.#sender(token));
    // At once, while the person of now is the token's.
    if (this.#keep?.stamp === undefined) this.#stamp?.sending(tag);
    await this.#keep?.sending(tag);
    return { connection, token };
  }

  /** The token of who is signed in now, if the command may go in that one's name. */
  async #token(signal: Stop): Promise<string | undefined> {
    const { signIn } = this.#env;
    for (;;) {
      const { person } = signIn;
      const token = await signIn.token(signal);
      if (person !== signIn.person) continue;
      if (this.#mayHaveRun && this.#stamp?.ownerless === true) throw ownerlessError(this.#callFacts());
      return token;
    }
  }

  async #replied(reply: MessageShape<O>): Promise<MessageShape<O>> {
    await this.#keep?.replied(() => toBinary(this.#definition.method.output, reply));
    return reply;
  }

  /** Does what follows a try without a reply; returns when the next try is due. */
  async #follow(
    end: Exclude<TryEnd<O>, { kind: "reply" }>,
    silent: boolean,
    token: string | undefined,
    signal: Stop,
  ): Promise<void> {
    this.#note(end);
    await this.#unsent(end.kind === "unauthenticated" && end.mark === "none");
    const next = nextStep(end, {
      delivery: this.#repeatable ? "repeatable" : "atMostOnce",
      once: this.#stamp !== undefined,
      budgetLeftMs: this.#deadline.leftMs(),
      refreshed: this.#refreshed,
      canRefresh: this.#env.signIn.canRefresh,
      mayHaveRun: this.#mayHaveRun,
      noServer: this.#endsWithoutServer(end),
      tick: this.#definition.kind === "heartbeat",
    });
    const waitMs = next.kind === "wait" ? this.#waitMs(next.hintMs, next.throttled) : undefined;
    if (!silent) this.#env.tryEnded(end, waitMs);
    const then = next.kind === "wait" ? `again in ${Math.round(waitMs ?? 0)} ms` : nextTexts[next.kind];
    this.#trace(`${endText(end)}, ${then}`);
    switch (next.kind) {
      case "reconnect":
        return;
      case "wait":
        this.#progress = "waiting";
        await sleep(this.#env.clock, waitMs ?? 0, signal);
        signal.throwIfAborted();
        return;
      case "refresh":
        this.#refreshed = true;
        this.#progress = "signing-in";
        await this.#env.signIn.refresh(token, signal);
        return;
      case "end":
        if (end.kind === "unauthenticated") this.#env.signIn.refused = token;
        throw errorOfTry(end, next.outcome, next.reason, this.#callFacts());
    }
  }

  /** A call without an end waits for its server, as a stream does; one with a budget ends at once. */
  #endsWithoutServer(end: TryEnd): boolean {
    if (end.kind !== "connection-fault" || this.#budgetMs === Number.POSITIVE_INFINITY) return false;
    return this.#env.isNoServer(end.fault);
  }

  #trace(what: string): void {
    tellTry(this.#env.log, this.#definition, this.#stamp?.callId, this.#tries, what);
  }

  #waitMs(hintMs: number, throttled: boolean): number {
    const { timing, random } = this.#env;
    this.#serverFaults += 1;
    const ownMs = faultWaitMs(this.#serverFaults, throttled, timing, random);
    return Math.max(hintMs, ownMs, this.#env.takeRetryToken(this.#deadline.leftMs()));
  }

  async #try(connection: TryConnection, token: string | undefined, signal: Stop): Promise<TryEnd<O>> {
    const cut = new LateSignal();
    const waitMs = tryWaitMsOf(this.#definition, this.#env.timing);
    const budgetLeftMs = this.#deadline.leftMs();
    const silence = (): ConnectionFault => noReply(waitMs, hasLeft(connection.http()));
    const ticks = isSilentTick(this.#definition, budgetLeftMs, this.#env.timing);
    const forget = onAbort(signal, (why) => cut.abort(ticks && why === budgetEnded ? silence() : why));
    // Where the budget ends first, it ends the call: that is no fault of the connection, and swaps nothing.
    const leftMs = this.#tries === 0 ? waitMs - this.#goneMs : waitMs;
    const dueMs = leftMs < budgetLeftMs ? leftMs : Infinity;
    const timer = this.#env.clock.timer(dueMs, () => cut.abort(silence()));
    this.#tries += 1;
    this.#progress = "sent";
    const headers = this.#headers(token, connection.signedIn);
    try {
      const response = await untilAborted(this.#send(connection, headers, cut), cut);
      this.#env.heard(joined(response), this.#sender(token));
      return replyEnd(response, this.#facts(connection));
    } catch (error) {
      this.#hear(connection.head?.(), token);
      if (signal.aborted && !(cut.reason instanceof ConnectionFault)) {
        if (hasLeft(connection.http())) this.#mayHaveRun = true;
        else this.#progress = "waiting";
        await this.#unsent();
        throw error;
      }
      if (cut.reason instanceof ConnectionFault) return { kind: "connection-fault", fault: cut.reason };
      if (error instanceof ConnectError) this.#hear(error.metadata, token);
      return errorEnd(error, this.#facts(connection));
    } finally {
      timer.cancel();
      forget();
    }
  }

  /** What an answer says beside its body counts also when that is cut off. */
  #hear(head: Headers | undefined, token: string | undefined): void {
    if (head?.has(headerNames.server) !== true) return;
    this.#stamp?.heardTag(head.get(headerNames.caller));
    this.#env.heard(head, this.#sender(token));
  }

  #send(connection: TryConnection, headers: Headers, stop: LateSignal): Promise<UnaryResponse<I, O>> {
    const timeoutMs = timeoutHeaderMs(this.#deadline.leftMs());
    // Our own transport is told by the header alone: its timer would be the system's, not our clock's. A program's
    // own takes the platform's signals alone.
    if (!connection.ownDeadline && timeoutMs !== undefined)
      headers.set("connect-timeout-ms", String(timeoutMs));
    return connection.transport.unary(
      this.#definition.method,
      connection.ownDeadline ? stop.signal : stop,
      connection.ownDeadline ? timeoutMs : undefined,
      headers,
      this.request,
      this.#options.contextValues,
    );
  }

  #facts(connection: TryConnection): TryFacts {
    const { server, seen } = this.#env;
    return { once: this.#stamp !== undefined, server, seen, http: connection.http() };
  }

  /** Whom the server takes a try for: an entry of an outbox carries the secret of the anonymous link that made it. */
  #sender(token: string | undefined): string | undefined {
    return token ?? this.#stamp?.anonymous;
  }

  #headers(token: string | undefined, signedIn = false): Headers {
    const headers = tryHeaders(this.#options.headers, this.#env, token, signedIn);
    this.#stamp?.write(headers, token === undefined, this.#env.tagOf(this.#sender(token)));
    return headers;
  }

  #note(end: TryEnd): void {
    if (end.kind === "connection-fault") {
      this.#lastFault = end.fault;
      this.#mayHaveRun ||= end.fault.sent;
      if (!end.fault.sent) this.#progress = "waiting";
      return;
    }
    this.#progress = "answered";
    if (end.kind !== "server-fault") return;
    this.#lastFault = end.error;
    this.#mayHaveRun ||= end.mayHaveRun;
  }

  /** While no try has left, or all were stopped before anybody knew whose they are, the next one is the first. */
  async #unsent(stopped = false): Promise<void> {
    if (this.#mayHaveRun || (this.#progress !== "waiting" && !stopped)) return;
    this.#stamp?.notSent();
    await this.#keep?.notSent();
  }

  #callFacts(): CallFacts {
    return {
      callId: this.#stamp?.callId,
      tries: this.#tries,
      progress: this.#progress,
      budgetMs: this.#budgetMs,
      mayHaveRun: this.#mayHaveRun,
      lastFault: this.#lastFault,
    };
  }

  /** Whatever ended the call, as the error that the program gets. */
  #finalError(error: unknown, signal: Stop): unknown {
    if (error instanceof SignInGone) this.#env.signInGone(error);
    else if (!signal.aborted) return error;
    const stop: unknown = signal.aborted ? signal.reason : error;
    return errorOfStop(stop, this.#callFacts(), this.#env.trouble(), this.#options.signal?.reason);
  }
}
