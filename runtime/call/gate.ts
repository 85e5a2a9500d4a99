/**
 * The gate's shell: it holds the calls that wait, the timer of the next probe, and lets calls go in their
 * order and in slices, so that a server that is just back is not met by everybody at once.
 *
 * Source: design "No storms".
 */
import type { Clock, Timer } from "../base/clock.ts";
import { gateSliceCount, gateSliceEveryMs } from "../base/constants.ts";
import type { Stop } from "../base/late-signal.ts";
import { untilAborted } from "../base/signals.ts";
import { type GateEvent, type GateState, type GateWaits, gateAtFirst, nextGateState } from "./gate-state.ts";

/** How a probe ended: answered by the server, by something, or not. */
export type ProbeEnd =
  | { readonly kind: "proof" }
  | { readonly kind: "maybe" }
  | { readonly kind: "nothing"; readonly cause: Error };

export interface GateOptions {
  readonly clock: Clock;
  /** The waits; they may be longer while nobody waits. */
  readonly waits: (waiting: boolean) => GateWaits;
  /** Looks whether the server is there. Never rejects. */
  readonly probe: () => Promise<ProbeEnd>;
  /** A probe found nothing, and it is known when the next one is due. */
  readonly onNothing: (cause: Error) => void;
  /** Whether to probe also while no call waits, so that the link's state comes back by itself. */
  readonly probeWhenIdle: boolean;
}

export class Gate {
  readonly #options: GateOptions;
  #state: GateState = gateAtFirst;
  #timer: Timer | undefined;
  #slice: Timer | undefined;
  /** Calls in the order in which they came. */
  readonly #queue = new Set<() => void>();
  /** A call that went through an open gate on trial and has not reported yet. */
  #onTrial = false;
  #closed = false;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** Ms of the monotonic clock at which the next probe is due; undefined while the gate is open or it runs. */
  get nextProbeAt(): number | undefined {
    return this.#state.kind === "waiting" ? this.#state.probeAt : undefined;
  }

  /** Whether a call may be tried at once: the gate is open, not on trial, and nobody is before it. */
  get clear(): boolean {
    return this.#state === gateAtFirst && this.#queue.size === 0 && !this.#onTrial;
  }

  /**
   * Resolves when the call may be tried; each pass is followed by one `report`.
   *
   * @param fresh - whether it is the call's first try: only a new call is a reason to probe at once, or a call
   * that fails again and again would keep the waits from growing.
   * @throws the signal's reason, when it aborts first.
   */
  async pass(signal: Stop, fresh: boolean): Promise<void> {
    signal.throwIfAborted();
    if (this.#isFree()) {
      this.#onTrial = this.#state.failures > 0;
      return;
    }
    let go: () => void = () => undefined;
    const turn = new Promise<void>((resolve) => {
      go = resolve;
    });
    this.#queue.add(go);
    // The first to wait is worth a probe soon; the others wait for the same one.
    if (this.#queue.size === 1) this.#move(fresh ? "prompt" : "joined");
    try {
      await untilAborted(turn, signal);
    } catch (error) {
      // Its turn may have come in the same moment: then it is handed on.
      if (!this.#queue.delete(go)) this.report("nothing");
      throw error;
    }
  }

  /** How a call that passed has ended: by an answer, a connection fault, or neither. */
  report(end: "answered" | "fault" | "nothing"): void {
    if (end === "answered" && this.clear) return; // nothing that it would change
    this.#onTrial = false;
    if (end === "nothing") this.#release();
    else this.#move(end);
  }

  /** A sign that the network may be back. */
  prompt(): void {
    this.#move("prompt");
  }

  /** Nothing passes and nothing probes any more; who waits is ended by the signal that it gave. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#slice?.cancel();
    this.#queue.clear();
  }

  #isFree(): boolean {
    return this.#state.kind === "open" && this.#queue.size === 0 && !this.#onTrial;
  }

  #move(event: GateEvent): void {
    if (this.#closed) return;
    const now = this.#options.clock.monotonic();
    const before = this.#state;
    // The call that reports a fault is about to wait.
    const waiting = event === "fault" || this.#queue.size > 0;
    this.#state = nextGateState(before, event, now, this.#options.waits(waiting));
    if (this.#state === before) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#state.kind === "waiting") this.#schedule(this.#state.probeAt - now);
    else if (this.#state.kind === "probing") this.#probe();
    else this.#release();
  }

  #schedule(delayMs: number): void {
    if (this.#queue.size === 0 && !this.#options.probeWhenIdle) return;
    // A probe that nobody waits for does not keep a program alive; a call that waits has a timer of its own.
    this.#timer = this.#options.clock.timer(delayMs, () => this.#move("due"), { background: true });
  }

  #probe(): void {
    void this.#options.probe().then((end) => {
      this.#move(end.kind);
      if (end.kind === "nothing" && !this.#closed) this.#options.onNothing(end.cause);
    });
  }

  /** Lets calls go: one at a time while on trial, else a slice now and the next one a moment later. */
  #release(): void {
    if (this.#state.kind !== "open" || this.#onTrial || this.#slice !== undefined) return;
    const onTrial = this.#state.failures > 0;
    const count = onTrial ? 1 : gateSliceCount;
    let gone = 0;
    for (const go of this.#queue) {
      if (gone === count) break;
      this.#queue.delete(go);
      go();
      gone += 1;
    }
    this.#onTrial = onTrial && gone > 0;
    if (this.#queue.size > 0 && !onTrial) {
      this.#slice = this.#options.clock.timer(gateSliceEveryMs, () => {
        this.#slice = undefined;
        this.#release();
      });
    }
  }
}
