/**
 * The one text for each state of a link. Every place that shows the connection uses it, so that a person
 * learns it once.
 *
 * Source: design "The state of the link".
 */
import type { LinkState } from "./link-state.ts";

/**
 * The line for a state; undefined when there is nothing to say (idle, and up unless it was down before).
 *
 * @param now - wall time in ms, as in the state.
 */
export function linkLine(state: LinkState, now: number): string | undefined {
  switch (state.kind) {
    case "idle":
      return undefined;
    case "up":
      return state.downForMs === undefined ? undefined : `back after ${seconds(state.downForMs)}`;
    case "down": {
      // A try that was due has begun.
      const due = state.nextTryAt !== undefined && state.nextTryAt > now ? state.nextTryAt : undefined;
      const next = due === undefined ? "trying now" : `next try in ${seconds(due - now)}`;
      return `no reply from ${state.host} for ${seconds(now - state.since)}, ${next}: ${text(state.cause)}`;
    }
    case "refused":
      return state.reason === "SIGN_IN_GONE"
        ? `${state.host} refuses this sign-in`
        : `${state.host} refuses this build: ${text(state.cause)}`;
  }
}

/** Whole seconds, as a person counts them; minutes and hours above. */
function seconds(ms: number): string {
  const all = Math.max(0, Math.round(ms / 1000));
  if (all < 120) return `${all} s`;
  const minutes = Math.round(all / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

/** Connect puts the code before an error's message; a line for people does without. */
function text(cause: Error): string {
  return "rawMessage" in cause && typeof cause.rawMessage === "string" ? cause.rawMessage : cause.message;
}
