/** I2, I3, I4: what a program was told of a command is true of it at the end. */
import type { NetworkEvent } from "../../../runtime/testing/simulated-fate.ts";
import type { WorldEnd } from "../world.ts";
import { effectsOf, groupBy, operations } from "./tally.ts";

export function outcomes(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  const effects = groupBy(effectsOf(end), ({ key }) => key);
  for (const { invoked, ended } of operations(end)) {
    const { op } = invoked;
    if (ended === undefined || op.kind === "read" || op.kind === "poke" || op.kind === "look" || op.merge)
      continue;
    const its = effects.get(op.key) ?? [];
    const name = `op ${op.id} ${op.kind} ${op.key}`;
    const before = its.filter((effect) => timeOf(end, effect) <= ended.at);
    if (ended.ended.kind === "reply") {
      if (before.length === 0) breaches.push(`${name} got a reply, and its effect is not there`);
      const place = ended.ended.place ?? 0;
      if (op.kind === "append" && its[0] !== undefined && its[0].place !== place) {
        breaches.push(`${name} got place ${place}, and is at ${its[0].place}`);
      }
      if (op.refuse === 1 || op.refuse === 2) breaches.push(`${name} was to be refused, and got a reply`);
      continue;
    }
    const { outcome, reason, text } = ended.ended;
    if (reason === "CALL_ID_REUSED") breaches.push(`${name} was told that its ID was another request's`);
    switch (outcome) {
      case "refused":
      case "not-run":
        if (its.length > 0 && !(outcome === "not-run" && ranAsCopy(end, its[0]?.callId)))
          breaches.push(`${name} ended ${outcome}, and took effect: ${text}`);
        break;
      case "unknown":
      case "expired":
      case "in-outbox":
        break;
      default:
        breaches.push(`${name} ended with ${String(outcome)} ${reason ?? ""}: ${text}`);
    }
  }
  return breaches;
}

function timeOf({ history }: WorldEnd, effect: object): number {
  return history.of("effect").find((fact) => fact.effect === effect)?.at ?? Infinity;
}

/**
 * Whether only a copy of a request ran the call, after the server had answered that very request that it had not
 * begun with it. What the server says is believed: that somebody on the way sends a request again which was answered
 * is against HTTP (RFC 9110, 9.2.2), and no answer could be trusted if it were not.
 */
function ranAsCopy({ history }: WorldEnd, callId = ""): boolean {
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
  const there = events.filter(({ kind }) => kind === "arrived" || kind === "twin");
  return there.some(({ kind }) => kind === "twin") && there.every((event) => notBegun.has(nameOf(event)));
}
