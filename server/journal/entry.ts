/**
 * What a try of a command meets in the journal, and what follows: one total, pure function. The order of its
 * questions is part of the contract: the request is compared before anything else is said of a key, so that
 * a reused ID gets the same answer while the first call runs and afterwards.
 *
 * A try says when its call was *first* sent. The journal takes that time as it comes: the margin for clocks
 * that drift apart is taken off once, by the client, which alone knows how old its idea of our clock is.
 *
 * Source: design "The journal"; reliability decisions D2-D4, D7, D8.
 */
import { firstSentAheadMsMost } from "../../runtime/base/constants.ts";
import type { LanePosition } from "../../runtime/call/headers.ts";
import type { Entry, Found } from "../store/store.ts";
import { type Compared, compareRequests } from "./fingerprint.ts";

/** How a key stands. */
export type KeyState =
  | ({ readonly kind: "absent" } & Standing)
  | { readonly kind: "running"; readonly request: Compared }
  | { readonly kind: "kept"; readonly entry: Entry };

/** What is known around a key that the store does not have. */
export interface Standing extends Omit<Found, "kept"> {
  /** Server time in ms. */
  readonly nowMs: number;
  /** How long calls are kept, in ms. */
  readonly keepMs: number;
}

/** What a try says of its call. */
export interface TryFacts {
  readonly request: Compared;
  /** Undefined for a plain client. */
  readonly seq: number | undefined;
  /** Server time in ms of the call's first sending; undefined for a plain client. */
  readonly firstSentMs: number | undefined;
  /**
   * Whether it says of a call that may have been sent before how old it is, in place of when that was: time that passed
   * on the way makes such a call younger than it is. Absent: false.
   */
  readonly aged?: boolean;
  /** Whether the handler may run again after a run of which nobody knows how it ended. Absent: false. */
  readonly rerun?: boolean;
}

/** What follows for the try. `skipped`: the requests could not be compared, only their methods. */
export type Verdict =
  | { readonly kind: "run" }
  /** An earlier run began, and what became of it is not known; the handler looks for itself. */
  | { readonly kind: "rerun"; readonly skipped: boolean }
  | { readonly kind: "join"; readonly skipped: boolean }
  | { readonly kind: "repeat"; readonly entry: Entry; readonly skipped: boolean }
  /** Whether the call was forgotten cannot be told by its age: its client must say when it was first sent. */
  | { readonly kind: "ask" }
  | { readonly kind: "refuse"; readonly reason: "CALL_ID_REUSED" | "CALL_STALE" | "OUTCOME_UNKNOWN" }
  | { readonly kind: "refuse"; readonly reason: "CALL_FORGOTTEN"; readonly what: string }
  | { readonly kind: "refuse"; readonly reason: "JOURNAL_FULL"; readonly retryMs: number };

/** Decides what a try gets. */
export function meet(facts: TryFacts, state: KeyState): Verdict {
  switch (state.kind) {
    case "running":
    case "kept": {
      const comparison = compareRequests(facts.request, state.kind === "kept" ? state.entry : state.request);
      if (comparison === "other") return { kind: "refuse", reason: "CALL_ID_REUSED" };
      const skipped = comparison === "skipped";
      if (state.kind === "running") return { kind: "join", skipped };
      if (state.entry.outcome.kind !== "started") return { kind: "repeat", entry: state.entry, skipped };
      // What runs here was joined above, so the process that began this one is gone.
      if (facts.rerun === true) return { kind: "rerun", skipped };
      return { kind: "refuse", reason: "OUTCOME_UNKNOWN" };
    }
    case "absent": {
      if (facts.seq !== undefined && facts.seq <= state.watermark) {
        return { kind: "refuse", reason: "CALL_STALE" };
      }
      const forgotten = facts.firstSentMs === undefined ? undefined : whyForgotten(facts.firstSentMs, state);
      if (forgotten !== undefined) return { kind: "refuse", reason: "CALL_FORGOTTEN", what: forgotten };
      if (facts.aged === true) return { kind: "ask" };
      if (state.fullForMs !== undefined) {
        return { kind: "refuse", reason: "JOURNAL_FULL", retryMs: state.fullForMs };
      }
      return { kind: "run" };
    }
  }
}

/**
 * Why the store may have had this call once; undefined when it surely has not. That it is the first try we
 * see says nothing: a late first try is a twin like any other.
 */
function whyForgotten(firstSentMs: number, state: Standing): string | undefined {
  if (firstSentMs > state.nowMs + firstSentAheadMsMost) {
    const aheadS = Math.round((firstSentMs - state.nowMs) / 1000);
    return `the call says it was first sent ${aheadS} s from now, so a clock was set back and the server cannot tell whether it ran`;
  }
  if (firstSentMs <= state.nowMs - state.keepMs) {
    return "the call was first sent longer ago than calls are kept, so the server cannot tell whether it ran";
  }
  if (firstSentMs < state.forgottenBeforeMs) {
    return "the server has forgotten calls from the time when this one was first sent, so it did not run it";
  }
  return undefined;
}

/** The server time of a call's first sending, in ms. An age counts from the arrival of the try that says it. */
export function firstSentMsOf(firstSent: LanePosition["firstSent"], arrivedAtMs: number): number {
  return "serverMs" in firstSent ? firstSent.serverMs : arrivedAtMs - firstSent.agoMs;
}

/** See {@link TryFacts.aged}. */
export function isAged({ tries, firstSent }: LanePosition): boolean {
  return tries > 1 && "agoMs" in firstSent;
}
