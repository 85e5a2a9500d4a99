/**
 * The one visible state of a link, as a pure machine.
 *
 * | from | event | to |
 * | --- | --- | --- |
 * | idle, down | answered | up |
 * | up | answered | up, the same |
 * | idle, up | fault | down |
 * | down | fault | down since the same instant, with the new cause |
 * | idle, up, down | refused | refused |
 * | refused | answered, fault, refused | refused, the same |
 * | refused | readmitted | up |
 * | idle, up, down | readmitted | as answered |
 *
 * Source: design "The state of the link".
 */
import type { Reason } from "../base/reasons.ts";

/** Where a link stands. Instants are wall time in ms, for people; nothing waits by them. */
export type LinkState =
  /** Nothing was sent yet. */
  | { readonly kind: "idle" }
  /** The server answers. `downForMs` is how long it did not before, when it comes back. */
  | { readonly kind: "up"; readonly since: number; readonly downForMs?: number }
  /** No answer, or one that says "not now". */
  | {
      readonly kind: "down";
      readonly since: number;
      readonly host: string;
      readonly cause: Error;
      /** When the next try is due; undefined while one is under way. */
      readonly nextTryAt: number | undefined;
    }
  /** The server does not accept this build, or the sign-in is gone: trying again would change nothing. */
  | { readonly kind: "refused"; readonly host: string; readonly reason: Reason; readonly cause: Error };

export type LinkEvent =
  /** An answer of the server to any call; a refusal of a call is one too. */
  | { readonly kind: "answered" }
  | { readonly kind: "fault"; readonly cause: Error; readonly nextTryAt: number | undefined }
  | { readonly kind: "refused"; readonly reason: Reason; readonly cause: Error }
  /** An answer after a new sign-in. */
  | { readonly kind: "readmitted" };

export const linkAtFirst: LinkState = { kind: "idle" };

export function nextLinkState(state: LinkState, event: LinkEvent, host: string, now: number): LinkState {
  if (state.kind === "refused") return event.kind === "readmitted" ? { kind: "up", since: now } : state;
  switch (event.kind) {
    case "answered":
    case "readmitted":
      if (state.kind === "up") return state;
      if (state.kind === "idle") return { kind: "up", since: now };
      return { kind: "up", since: now, downForMs: now - state.since };
    case "fault": {
      const since = state.kind === "down" ? state.since : now;
      return { kind: "down", since, host, cause: event.cause, nextTryAt: event.nextTryAt };
    }
    case "refused":
      return { kind: "refused", host, reason: event.reason, cause: event.cause };
  }
}
