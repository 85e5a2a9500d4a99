/** I1: no command's effect happens twice, by the word of the store. */
import type { WorldEnd } from "../world.ts";
import { callersOf, ranForTwo } from "./copies.ts";
import { effectsOf, groupBy, operations } from "./tally.ts";

export function once(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  const ops = new Map(operations(end).map(({ invoked }) => [invoked.op.key, invoked.op]));
  for (const [callId, effects] of groupBy(effectsOf(end), ({ callId: its }) => its)) {
    const op = ops.get(effects[0]?.key ?? "");
    const keys = new Set(effects.map(({ key }) => key));
    if (keys.size > 1) breaches.push(`call ${callId} has effects of ${[...keys].join(" and ")}`);
    // What is sent at most once is remembered by one process of the server alone.
    const counted =
      op?.kind === "shout" || op?.kind === "knock"
        ? groupBy(effects, ({ server }) => server)
        : new Map([["", effects]]);
    for (const its of counted.values()) {
      if (its.length > 1 && !ranForTwo(end, callId, callersOf(its)))
        breaches.push(`${its[0]?.key ?? ""} (${callId}) took effect ${its.length} times`);
    }
  }
  for (const [key, effects] of groupBy(effectsOf(end), (effect) => effect.key)) {
    const op = ops.get(key);
    if (op === undefined) breaches.push(`${key} took effect and nobody asked for it`);
    else if (
      !op.merge &&
      op.kind !== "shout" &&
      op.kind !== "knock" &&
      effects.length > 1 &&
      !ranForTwo(end, effects[0]?.callId ?? "", callersOf(effects))
    ) {
      breaches.push(`${key} took effect ${effects.length} times`);
    }
    if (op?.refuse === 1 || op?.refuse === 2)
      breaches.push(`${key} took effect although it was to be refused`);
  }
  return breaches;
}
