/**
 * The sign of life of a session: one try each period, with a body that is made at each tick.
 *
 * A tick that fails is not tried again, since the next one is the new try; a tick that comes late, because the
 * machine slept or the page was hidden, is not made up for. Its timers keep no process alive: a program that only
 * says that it lives has nothing to live for.
 *
 * Source: design "The heartbeat"; reliability decision D53.
 */
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Timer } from "../base/clock.ts";
import type { Beater, HeartbeatDefinition } from "../base/definition.ts";
import { asyncDispose } from "../base/dispose.ts";
import type { BeatOptions } from "../base/heartbeats.ts";
import { onAbort } from "../base/signals.ts";
import { makeCall } from "../call/call.ts";
import type { CallEnvironment } from "../call/call-environment.ts";

/** What it needs of its link. */
export interface HeartEnvironment extends CallEnvironment {
  /** Aborts when the link is closed for good. While it is refused, ticks fail at once and send nothing. */
  readonly closing: AbortSignal;
  onWake(fn: () => void): () => void;
}

/** Many that woke together do not tick together. */
const wakeSpreadMs = 1_000;

/** Gives heartbeats; generated definitions name it. */
export const beating: Beater = {
  start(host: { readonly env: HeartEnvironment }, definition, makeRequest, onReply, options = {}) {
    const beat = new Beat(host.env, definition, makeRequest, onReply, options);
    const stop = (): void => beat.stop();
    return { stop, [asyncDispose]: async () => stop() };
  },
};

class Beat<I extends DescMessage, O extends DescMessage> {
  readonly #env: HeartEnvironment;
  readonly #definition: HeartbeatDefinition<I, O>;
  readonly #makeRequest: () => MessageInitShape<I>;
  readonly #onReply: ((reply: MessageShape<O>) => void) | undefined;
  readonly #options: BeatOptions;
  readonly #over = new AbortController();
  #forget: readonly (() => void)[] = [];
  #timer: Timer | undefined;
  #timerAt = 0;
  #ticking = false;

  constructor(
    env: HeartEnvironment,
    definition: HeartbeatDefinition<I, O>,
    makeRequest: () => MessageInitShape<I>,
    onReply: ((reply: MessageShape<O>) => void) | undefined,
    options: BeatOptions,
  ) {
    this.#env = env;
    this.#definition = definition;
    this.#makeRequest = makeRequest;
    this.#onReply = onReply;
    this.#options = options;
    this.#forget = [
      env.onWake(() => this.#tickSoon()),
      onAbort(options.signal, () => this.stop()),
      onAbort(env.closing, () => this.stop()),
    ];
    if (this.#over.signal.aborted) this.stop();
    else this.#schedule(0);
  }

  stop(): void {
    this.#over.abort();
    this.#timer?.cancel();
    for (const forget of this.#forget) forget();
  }

  /** The machine or the page is back: the server has heard nothing for long. */
  #tickSoon(): void {
    if (this.#ticking || this.#over.signal.aborted) return;
    const soonMs = this.#env.random.fraction() * wakeSpreadMs;
    if (this.#timerAt > this.#env.clock.monotonic() + soonMs) this.#schedule(soonMs);
  }

  #schedule(delayMs: number): void {
    const { clock } = this.#env;
    this.#timer?.cancel();
    this.#timerAt = clock.monotonic() + delayMs;
    this.#timer = clock.timer(delayMs, () => this.#due(), { background: true });
  }

  #due(): void {
    // As late as this after a sleep: everybody who slept through the same night wakes now.
    const lateMs = this.#env.clock.monotonic() - this.#timerAt;
    if (lateMs >= this.#definition.everyMs) this.#schedule(this.#env.random.fraction() * wakeSpreadMs);
    else void this.#tick();
  }

  async #tick(): Promise<void> {
    const { clock } = this.#env;
    const begunAt = clock.monotonic();
    this.#ticking = true;
    try {
      const { headers } = this.#options;
      const reply = await makeCall(this.#env, this.#definition, this.#makeRequest(), {
        signal: this.#over.signal,
        ...(headers === undefined ? {} : { headers }),
      });
      if (!this.#over.signal.aborted) this.#tell(() => this.#onReply?.(reply));
    } catch (error) {
      if (!this.#over.signal.aborted && error instanceof Error)
        this.#tell(() => this.#options.onError?.(error));
    }
    this.#ticking = false;
    if (this.#over.signal.aborted) return;
    this.#schedule(Math.max(0, begunAt + this.#definition.everyMs - clock.monotonic()));
  }

  /** A program's own throw ends no heartbeat, and is shown as what it is. */
  #tell(fn: () => void): void {
    try {
      fn();
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}
