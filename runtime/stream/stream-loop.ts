/**
 * The loop below a stream: it waits, connects, reads what comes into the inbox, and begins again, until the data
 * has ended, the server refuses, or somebody stops it. What follows each end is decided in `stream-state.ts`.
 *
 * Every connect passes the link's gate, as a try of a call does: during an outage one probe looks for the server on
 * behalf of all, and after it they go in slices.
 *
 * Source: design "Streams: The client", "No storms".
 */
import type { Clock } from "../base/clock.ts";
import { sleep } from "../base/clock.ts";
import { ConnectionFault } from "../base/connection-fault.ts";
import { foreignTimeoutMsMost, promptProbeEveryMs, streamRetryMs } from "../base/constants.ts";
import type { StreamState } from "../base/streams.ts";
import { onAbort, untilAborted, WaitsUntilAbort } from "../base/signals.ts";
import { backoffMs } from "../call/backoff.ts";
import type { TryEnd } from "../call/outcome.ts";
import { SignInGone } from "../call/sign-in.ts";
import { IdleWatch } from "./idle-watch.ts";
import type { Inbox } from "./inbox.ts";
import { Intake } from "./intake.ts";
import type { StreamConnection, StreamDialer } from "./stream-connection.ts";
import type { StreamEnvironment } from "./stream-environment.ts";
import { connectionEnd, isRefusal, refusalOf } from "./stream-end.ts";
import { nextStreamPhase, type StreamEvent, type StreamPhase, streamPhaseAtFirst } from "./stream-state.ts";

/** Ms that a probe has for its answer. */
const probeWaitMs = 5_000;

/** Why a loop is stopped when nothing went wrong: the program has left. */
export const left: unique symbol = Symbol("the program left the stream");

export interface LoopParts<T> {
  readonly env: StreamEnvironment;
  readonly dialer: StreamDialer<T>;
  /** For the log. */
  readonly name: string;
  /** Undefined: the other end gives no signs, so that silence says nothing. */
  readonly idleMs: number | undefined;
  readonly inbox: Inbox<T>;
  readonly onShown: (state: StreamState) => void;
}

export class StreamLoop<T> {
  readonly intake: Intake<T>;
  readonly #parts: LoopParts<T>;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #phase: StreamPhase;
  /** Ends the present wait. */
  #pause = new AbortController();
  #idle: IdleWatch | undefined;
  #lastByteAt = 0;
  #generation = 0;
  #refreshed = false;

  constructor(parts: LoopParts<T>) {
    this.#parts = parts;
    this.#clock = parts.env.clock;
    this.intake = new Intake(parts.inbox);
    this.#phase = streamPhaseAtFirst(this.#now());
  }

  /** How many connections were begun. */
  get generation(): number {
    return this.#generation;
  }

  /** Runs until the stream is over; gives what went wrong, undefined for nothing. Never rejects. */
  async run(): Promise<Error | undefined> {
    const { env, dialer, onShown } = this.#parts;
    const forgetWake = env.onWake(() => this.#wake());
    onShown(this.#phase.shown);
    let cause: Error | undefined;
    try {
      while (this.#phase.kind !== "over") {
        await this.#untilDue(this.#phase);
        this.#move({ kind: "due" });
        await this.#connection();
      }
    } catch (error) {
      if (error !== left) cause = error instanceof Error ? error : new Error(String(error));
      this.#move({ kind: "over", cause });
    }
    forgetWake();
    dialer.close();
    return cause;
  }

  /** Ends it now: with an error, or with `left`. */
  stop(why: Error | typeof left): void {
    this.#stop.abort(why);
    this.#parts.inbox.wakeWriter();
  }

  #now(): { readonly monotonicMs: number; readonly wallMs: number } {
    return { monotonicMs: this.#clock.monotonic(), wallMs: this.#clock.now() };
  }

  #move(event: StreamEvent): void {
    const before = this.#phase;
    const { timing, random } = this.#parts.env;
    const firstMs = Math.min(streamRetryMs, timing.waitMsMost);
    this.#phase = nextStreamPhase(before, event, this.#now(), (failures) =>
      backoffMs(failures, firstMs, timing.waitMsMost, random),
    );
    if (this.#phase.shown !== before.shown) this.#parts.onShown(this.#phase.shown);
  }

  /** The network may be back: a wait ends now, and a connection that is quiet is asked. */
  #wake(): void {
    this.#move({ kind: "wake" });
    this.#pause.abort();
    if (this.#clock.monotonic() - this.#lastByteAt >= promptProbeEveryMs) this.#idle?.ask();
  }

  /** Until the next connect is due, and the program has taken enough to make it worth while. */
  async #untilDue(phase: StreamPhase): Promise<void> {
    const { signal } = this.#stop;
    const waitMs = phase.kind === "due" ? phase.at - this.#clock.monotonic() : 0;
    if (waitMs > 0) {
      this.#pause = new AbortController();
      const forget = onAbort(signal, () => this.#pause.abort());
      await sleep(this.#clock, waitMs, this.#pause.signal);
      forget();
    }
    signal.throwIfAborted();
    await this.#parts.inbox.room();
    signal.throwIfAborted();
  }

  /** One connection, from its turn at the gate to its end. Throws what ends the stream. */
  async #connection(): Promise<void> {
    const { env } = this.#parts;
    const { signal } = this.#stop;
    await this.#turn(signal);
    let reported = false;
    const report = (end: "answered" | "fault" | "nothing"): void => {
      if (!reported) env.gate.report(end);
      reported = true;
    };
    try {
      const token = await this.#token(signal);
      await this.#read(token, () => report("answered"), report);
    } finally {
      report("nothing");
    }
  }

  /**
   * The link probes in the background, since a call that waits has a timer of its own, its budget. A stream has none,
   * and a program that only follows it must not end while the server is away.
   */
  async #turn(signal: AbortSignal): Promise<void> {
    const awake = this.#clock.timer(foreignTimeoutMsMost, () => undefined);
    try {
      await this.#parts.env.gate.pass(signal, "failures" in this.#phase && this.#phase.failures === 0);
    } finally {
      awake.cancel();
    }
  }

  async #token(signal: AbortSignal): Promise<string | undefined> {
    const { env } = this.#parts;
    try {
      return await env.signIn.token(signal);
    } catch (error) {
      // The link is refused by it, which ends its streams with the link's own error.
      if (error instanceof SignInGone) env.signInGone(error);
      signal.throwIfAborted();
      throw error;
    }
  }

  async #read(
    token: string | undefined,
    answered: () => void,
    report: (end: "answered" | "fault" | "nothing") => void,
  ): Promise<void> {
    const { env, dialer, inbox } = this.#parts;
    const { signal } = this.#stop;
    const cut = new AbortController();
    const forget = onAbort(signal, (reason) => cut.abort(reason));
    this.#generation += 1;
    const connection = dialer.open({
      token,
      after: this.intake.begin(),
      generation: this.#generation,
      signal: cut.signal,
      onByte: (atMs) => {
        this.#lastByteAt = atMs;
        this.#idle?.note(atMs);
      },
      offer: (seq, item, byteCount) =>
        !cut.signal.aborted && !inbox.isFull && this.intake.offer(seq, item, byteCount),
    });
    let broken = true;
    try {
      const event = await this.#pump(connection, cut, answered);
      broken = false;
      if (event.kind !== "over") env.signIn.forget(); // asked again at each reconnect
      this.#trace(event.kind === "over" ? "the data has ended" : "the server asks to come back");
      this.#move(event);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const end = connectionEnd(error, env, connection.http(), this.intake.open, token);
      await this.#ended(end, report, token);
    } finally {
      this.#idle?.stop();
      this.#idle = undefined;
      forget();
      cut.abort();
      connection.close(broken);
    }
  }

  /** Takes in what comes, as long as there is room, until the server says that it ends. */
  async #pump(
    connection: StreamConnection<T>,
    cut: AbortController,
    answered: () => void,
  ): Promise<Extract<StreamEvent, { kind: "again" | "over" }>> {
    const { env, inbox, idleMs } = this.#parts;
    const idle = idleMs === undefined ? undefined : this.#watch(connection, cut, idleMs);
    this.#idle = idle;
    const { tryWaitMs } = env.timing;
    // A plain server may say nothing before its first item.
    const opening = this.#clock.timer(idleMs === undefined ? Infinity : tryWaitMs, () => {
      const text = `the stream did not open in ${tryWaitMs} ms`;
      cut.abort(new ConnectionFault("no-reply", text, { sent: true }));
    });
    const waits = new WaitsUntilAbort(cut.signal);
    const told = {
      onReady: () => {
        opening.cancel();
        answered();
        env.answered();
        this.#refreshed = false;
        this.#move({ kind: "ready" });
      },
      onItem: () => this.#move({ kind: "gave" }),
    };
    try {
      for (;;) {
        if (inbox.isFull) {
          idle?.stop(); // silence of what nobody reads says nothing
          await inbox.room();
          this.#stop.signal.throwIfAborted();
        }
        idle?.start();
        const batch = await waits.of(connection.next());
        // An rpc that ends without a word was ended by something that does not know us.
        if (batch === undefined) return { kind: "again", afterMs: 0 };
        const end = this.intake.take(batch, told);
        if (end !== undefined) return end;
      }
    } finally {
      waits.forget();
      opening.cancel();
    }
  }

  #watch(connection: StreamConnection<T>, cut: AbortController, idleMs: number): IdleWatch {
    const { probe } = connection;
    return new IdleWatch({
      clock: this.#clock,
      idleMs,
      probe: probe && (() => this.#probe(probe, cut.signal)),
      onDead: (why) => {
        const text =
          why === "idle"
            ? `no byte on a stream for ${idleMs} ms`
            : "no sign of life after a sleep of this machine";
        cut.abort(new ConnectionFault("no-reply", text, { sent: true }));
      },
    });
  }

  async #probe(probe: (signal: AbortSignal) => Promise<unknown>, signal: AbortSignal): Promise<boolean> {
    const over = new AbortController();
    const forget = onAbort(signal, (reason) => over.abort(reason));
    const timer = this.#clock.timer(probeWaitMs, () => over.abort());
    try {
      await untilAborted(probe(over.signal), over.signal);
      return true;
    } catch {
      return false;
    } finally {
      timer.cancel();
      forget();
    }
  }

  /** A connection, or its opening, has ended without the server's word to come back. */
  async #ended(
    end: Exclude<TryEnd, { kind: "reply" }>,
    report: (end: "answered" | "fault" | "nothing") => void,
    token: string | undefined,
  ): Promise<void> {
    const { env } = this.#parts;
    const opened = this.intake.open;
    if (opened) env.signIn.forget();
    if (isRefusal(end) || (end.kind === "unauthenticated" && (this.#refreshed || !env.signIn.canRefresh))) {
      report(end.kind === "program-fault" ? "nothing" : "answered");
      env.tryEnded(end, undefined);
      this.#trace("refused");
      this.#stop.signal.throwIfAborted(); // the whole link is refused
      throw refusalOf(end, this.#generation);
    }
    if (end.kind === "unauthenticated") {
      report("answered");
      env.tryEnded(end, undefined);
      this.#refreshed = true;
      await env.signIn.refresh(token, this.#stop.signal);
      this.#move({ kind: "anew" });
      return;
    }
    const cause = end.kind === "server-fault" ? end.error : end.fault;
    const hintMs =
      end.kind === "server-fault" ? Math.max(end.hintMs ?? 0, end.never ? env.timing.waitMsMost : 0) : 0;
    this.#move({ kind: "broken", by: brokenBy(end), cause, hintMs });
    this.#trace(cause.message);
    if (this.#phase.kind !== "due" || this.#phase.shown.kind !== "down") return; // the spare connect comes unseen
    const waitMs = this.#phase.at - this.#clock.monotonic();
    if (end.kind === "server-fault") report("answered");
    else if (!opened) report("fault");
    else if (waitMs > 0) env.gate.report("fault");
    env.tryEnded(end, waitMs);
  }

  #trace(what: string): void {
    this.#parts.env.log.info(`${this.#parts.name} connection ${this.#generation}: ${what}`);
  }
}

function brokenBy(
  end: Extract<TryEnd, { kind: "connection-fault" | "server-fault" }>,
): "cut" | "silence" | "answer" {
  if (end.kind === "server-fault") return "answer";
  return end.fault.kind === "no-reply" ? "silence" : "cut";
}
