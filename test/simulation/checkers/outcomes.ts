/** I2, I3, I4: what a program was told of a command is true of it at the end. */
import type { WorldEnd } from "../world.ts";
import { ranAsCopyAlone } from "./copies.ts";
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
        if (its.length > 0 && !(outcome === "not-run" && ranAsCopyAlone(end, its[0]?.callId)))
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
