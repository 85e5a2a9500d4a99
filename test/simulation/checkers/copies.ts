/**
 * Copies of a request that somebody on the way makes after the server has answered that very request that it had not
 * begun with it. What the server says is believed: that a request is sent again which was answered is against HTTP
 * (RFC 9110, 9.2.2), and no answer could be trusted if it were not. So what only such a copy does breaks no promise.
 */
import type { NetworkEvent } from "../../../runtime/testing/simulated-fate.ts";
import type { Effect } from "../history.ts";
import type { WorldEnd } from "../world.ts";

/** Whether nothing but such copies ran the call. */
export function ranAsCopyAlone(end: WorldEnd, callId = ""): boolean {
  const { arrivals, isSuchCopy } = arrivalsOf(end, callId);
  return arrivals.some(({ kind }) => kind === "twin") && arrivals.every(isSuchCopy);
}

/**
 * Whether such a copy ran the call in the name of who had made it, beside the call itself in the name of who has signed
 * in since: what has certainly not begun is the next caller's to send.
 */
export function ranForTwo(end: WorldEnd, callId: string, callers: readonly string[]): boolean {
  const { arrivals, isSuchCopy } = arrivalsOf(end, callId);
  const copied = arrivals.some((event) => event.kind === "twin" && isSuchCopy(event));
  return copied && callers.length > 1 && new Set(callers).size === callers.length;
}

export function callersOf(effects: readonly Effect[]): readonly string[] {
  return effects.map(({ by }) => by);
}

function arrivalsOf({ history }: WorldEnd, callId: string) {
  const events = history
    .of("network")
    .map(({ event }) => event)
    .filter(({ request }) => request?.header.get("holdfast-call")?.includes(callId));
  const nameOf = ({ request }: NetworkEvent): string => `${request?.client ?? ""} ${request?.number ?? 0}`;
  const notBegun = new Set(
    events
      .filter(({ kind, header }) => {
        const mark = kind === "heard" ? header?.get("holdfast-settled") : undefined;
        return mark === "later" || mark === "none";
      })
      .map(nameOf),
  );
  return {
    arrivals: events.filter(({ kind }) => kind === "arrived" || kind === "twin"),
    isSuchCopy: (event: NetworkEvent): boolean => notBegun.has(nameOf(event)),
  };
}
