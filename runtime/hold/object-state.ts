/**
 * The life of a served object, as a pure machine.
 *
 * | state | cleared | activated | failed | attempt | held | unheld | lingerOver | closed |
 * | --- | --- | --- | --- | --- | --- | --- | --- | --- |
 * | waiting | activating | – | – | – | – | ended | – | ended |
 * | activating | – | live | failed, ended | – | – | ended | – | ended |
 * | live | – | – | failed, ended | – | – | lingering, ended | – | ended |
 * | failed | – | – | – | activating | – | ended | – | ended |
 * | lingering | – | – | ended | – | live | – | ended | ended |
 * | ended | – | – | – | – | – | – | – | – |
 *
 * "–": nothing changes. Two in a cell: `failed` of an object that nobody holds ends it, and only an object with a
 * linger lingers.
 *
 * Source: design "Held objects: Failure and retry", "Linger".
 */
import type { HoldfastError } from "../base/errors.ts";
import { failuresInRow } from "./retry-window.ts";

export type ObjectState =
  /** The instance before it, of the same params, is still ending. */
  | { readonly kind: "waiting" }
  | { readonly kind: "activating"; readonly failures: number }
  | { readonly kind: "live"; readonly failures: number; readonly sinceMs: number }
  /** `windowMs`: until the next attempt, from the failure on; undefined: none until asked. */
  | {
      readonly kind: "failed";
      readonly failures: number;
      readonly cause: HoldfastError;
      readonly windowMs: number | undefined;
    }
  /** Live, with nobody who holds it. */
  | { readonly kind: "lingering"; readonly failures: number; readonly sinceMs: number }
  | { readonly kind: "ended" };

export type ObjectEvent =
  /** The instance before it has ended. */
  | { readonly kind: "cleared" }
  | { readonly kind: "activated"; readonly nowMs: number }
  /** An attempt failed, or a live one did; `windowMs` gives the wait after so many failures in a row. */
  | {
      readonly kind: "failed";
      readonly cause: HoldfastError;
      readonly broken: boolean;
      readonly held: boolean;
      readonly nowMs: number;
      readonly windowMs: (failures: number) => number;
    }
  /** The window is over, somebody asked, or what it depends on is there again. */
  | { readonly kind: "attempt" }
  | { readonly kind: "held" }
  /** The last holder went. */
  | { readonly kind: "unheld"; readonly lingerMs: number }
  | { readonly kind: "lingerOver" }
  | { readonly kind: "closed" };

const ended: ObjectState = { kind: "ended" };

/** What the object is after an event: the same state where nothing changes. */
export function nextObjectState(state: ObjectState, event: ObjectEvent): ObjectState {
  if (event.kind === "closed" && state.kind !== "ended") return ended;
  switch (state.kind) {
    case "waiting":
      if (event.kind === "cleared") return { kind: "activating", failures: 0 };
      return event.kind === "unheld" ? ended : state;
    case "activating":
      if (event.kind === "activated") {
        return { kind: "live", failures: state.failures, sinceMs: event.nowMs };
      }
      if (event.kind === "failed") return afterFailure(state.failures, undefined, event);
      return event.kind === "unheld" ? ended : state;
    case "live":
      if (event.kind === "failed") return afterFailure(state.failures, event.nowMs - state.sinceMs, event);
      if (event.kind !== "unheld") return state;
      if (event.lingerMs <= 0) return ended;
      return { kind: "lingering", failures: state.failures, sinceMs: state.sinceMs };
    case "failed":
      if (event.kind === "attempt") return { kind: "activating", failures: state.failures };
      return event.kind === "unheld" ? ended : state;
    case "lingering":
      if (event.kind === "held") {
        return { kind: "live", failures: state.failures, sinceMs: state.sinceMs };
      }
      return event.kind === "failed" || event.kind === "lingerOver" ? ended : state;
    case "ended":
      return state;
  }
}

function afterFailure(
  before: number,
  liveMs: number | undefined,
  event: Extract<ObjectEvent, { kind: "failed" }>,
): ObjectState {
  if (!event.held) return ended;
  const failures = failuresInRow(before, liveMs);
  const windowMs = event.broken ? undefined : event.windowMs(failures);
  return { kind: "failed", failures, cause: event.cause, windowMs };
}
