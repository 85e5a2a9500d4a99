/**
 * Where a reference stands, as a pure machine. What a program sees, `$state`, is this state itself.
 *
 * | state | loading | bound | failed | released |
 * | --- | --- | --- | --- | --- |
 * | loading | – | live | failed | released |
 * | live | loading | fault | failed | released |
 * | failed | loading | fault | failed | released |
 * | released | – | – | – | – |
 *
 * "–": nothing changes, and nothing is told. "fault": a `bound` with no `loading` before it, which no provider says.
 *
 * Source: design "Held objects: Reference state".
 */
import type { ReferenceState } from "../base/objects.ts";
import type { HoldingFailure } from "./holding.ts";

export type ReferenceEvent =
  | { readonly kind: "loading" }
  | { readonly kind: "bound" }
  | { readonly kind: "failed"; readonly failure: HoldingFailure }
  | { readonly kind: "released" };

export const loading: ReferenceState = { kind: "loading" };
const live: ReferenceState = { kind: "live" };
const released: ReferenceState = { kind: "released" };

/** The state after an event, the same one where nothing changes; "fault" for what must not be. */
export function nextReferenceState(state: ReferenceState, event: ReferenceEvent): ReferenceState | "fault" {
  if (state.kind === "released") return state;
  switch (event.kind) {
    case "loading":
      return state.kind === "loading" ? state : loading;
    case "bound":
      return state.kind === "loading" ? live : "fault";
    case "failed":
      return { kind: "failed", ...event.failure };
    case "released":
      return released;
  }
}
