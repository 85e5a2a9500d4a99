/**
 * Where the sending of an outbox stands, as a pure machine.
 *
 * | from | event | to |
 * | --- | --- | --- |
 * | resting, stopped | begin | sending |
 * | sending | done | resting, no failures unless paused |
 * | sending | fault | stopped, one failure more |
 * | stopped | wake (its wait is over, the link is up, the program asks) | resting |
 * | any but closed | signed-out | the same, paused, one failure more: entries wait, calls under way go on |
 * | any but closed | signed-in | the same, not paused |
 * | any | close | closed, for good |
 *
 * Everything else changes nothing.
 *
 * Source: design "The outbox".
 */
import type { HoldfastError } from "../base/errors.ts";

/** Why entries are not sent although the server is there. */
export interface Pause {
  /** The token that the server did not accept: another one ends the pause. */
  readonly token: string | undefined;
  readonly error: HoldfastError;
}

export type SenderState = (
  | { readonly kind: "resting" }
  | { readonly kind: "sending" }
  /** A fault stopped it; it goes on after a wait, or when the link is up. */
  | { readonly kind: "stopped"; readonly error: unknown }
  | { readonly kind: "closed" }
) & {
  /** Stops and pauses since the last success. */
  readonly failures: number;
  readonly pause: Pause | undefined;
};

export type SenderEvent =
  | { readonly kind: "begin" | "done" | "wake" | "signed-in" | "close" }
  | { readonly kind: "fault"; readonly error: unknown }
  | { readonly kind: "signed-out"; readonly pause: Pause };

export const senderAtFirst: SenderState = { kind: "resting", failures: 0, pause: undefined };

export function nextSenderState(state: SenderState, event: SenderEvent): SenderState {
  const { kind, failures, pause } = state;
  if (kind === "closed") return state;
  switch (event.kind) {
    case "begin":
      return kind === "sending" ? state : { kind: "sending", failures, pause };
    case "done":
      return kind === "sending"
        ? { kind: "resting", failures: pause === undefined ? 0 : failures, pause }
        : state;
    case "fault":
      return kind === "sending"
        ? { kind: "stopped", failures: failures + 1, pause, error: event.error }
        : state;
    case "wake":
      return kind === "stopped" ? { kind: "resting", failures, pause } : state;
    case "signed-out":
      return { ...state, failures: failures + 1, pause: event.pause };
    case "signed-in":
      return { ...state, pause: undefined };
    case "close":
      return { kind: "closed", failures, pause: undefined };
  }
}
