/**
 * The gate of a link, as a pure machine. The first connection fault closes it: then one probe at a time looks
 * for the server, with waits that grow, while all calls wait and spend nothing. What opens it again is proof:
 * an answer of the server. An HTTP layer that can only say "something is there" opens it on trial, for one
 * call, whose end decides.
 *
 * | state | event | next |
 * | --- | --- | --- |
 * | open | fault | waiting, one failure more than before |
 * | open | answered | open, no failures |
 * | waiting | due | probing |
 * | waiting | prompt | waiting, the probe comes at once, but not twice in a second |
 * | waiting | joined | waiting, the probe comes no later than is due while a call waits |
 * | waiting, probing | fault | the same: it is known already |
 * | waiting, probing | answered | open, no failures |
 * | probing | proof | open, no failures |
 * | probing | maybe | open on trial: the failures stand |
 * | probing | nothing | waiting, one failure more |
 *
 * Everything else changes nothing.
 *
 * Source: design "No storms"; reliability decision D20.
 */
export type GateState =
  /** Calls go. With `failures` above 0 it is on trial. */
  | { readonly kind: "open"; readonly failures: number }
  | {
      readonly kind: "waiting";
      readonly failures: number;
      /** Ms of the monotonic clock at which the next probe is due. */
      readonly probeAt: number;
      /** When the last probe, or the fault that closed the gate, was. */
      readonly lastAt: number;
    }
  | { readonly kind: "probing"; readonly failures: number; readonly lastAt: number };

export type GateEvent =
  /** A connection fault of a call. */
  | "fault"
  /** An answer of the server to a call. */
  | "answered"
  /** A sign that a probe is worth it now: online, a wake from sleep, a tab shown, a new call. */
  | "prompt"
  /** A call that has been tried before is the first to wait. */
  | "joined"
  /** The instant of the next probe has come. */
  | "due"
  /** The probe was answered by the server, by something, or not. */
  | "proof"
  | "maybe"
  | "nothing";

export const gateAtFirst: GateState = { kind: "open", failures: 0 };

export interface GateWaits {
  /** Ms before the probe that follows so many failures. */
  waitMs(failures: number): number;
  /** The least ms between two probes that signs ask for. */
  readonly promptEveryMs: number;
}

export function nextGateState(state: GateState, event: GateEvent, now: number, waits: GateWaits): GateState {
  switch (state.kind) {
    case "open":
      if (event === "answered") return gateAtFirst;
      return event === "fault" ? closed(state.failures + 1, now, waits) : state;
    case "waiting":
      if (event === "answered") return gateAtFirst;
      if (event === "due") return { kind: "probing", failures: state.failures, lastAt: now };
      if (event === "prompt") {
        const soonest = Math.max(now, state.lastAt + waits.promptEveryMs);
        return { ...state, probeAt: Math.min(state.probeAt, soonest) };
      }
      if (event === "joined") {
        const due = Math.max(now, state.lastAt + waits.waitMs(state.failures));
        return { ...state, probeAt: Math.min(state.probeAt, due) };
      }
      return state;
    case "probing":
      if (event === "answered" || event === "proof") return gateAtFirst;
      if (event === "maybe") return { kind: "open", failures: state.failures };
      return event === "nothing" ? closed(state.failures + 1, state.lastAt, waits, now) : state;
  }
}

function closed(failures: number, lastAt: number, waits: GateWaits, now = lastAt): GateState {
  return { kind: "waiting", failures, lastAt, probeAt: now + waits.waitMs(failures) };
}
