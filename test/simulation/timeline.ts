/** A failing run as a person reads it: what the world was like, and what happened in it. */
import { type History, textOf } from "./history.ts";
import type { Plan } from "./plan.ts";
import type { Violation } from "./run.ts";

const linesMost = 400;

export function timeline(plan: Plan, history: History, violations: readonly Violation[]): string {
  const { seed, store, hostCount, clients, rates, ops, incidents } = plan;
  const on = Object.entries(rates).filter(([, rate]) => rate > 0);
  const lines = history.events.map(textOf);
  const left = lines.length - linesMost;
  return [
    `seed ${seed}: ${store} store, ${hostCount} servers, ${ops.length} operations, ${incidents.length} incidents`,
    `clients: ${clients.map(({ person, folder, format }) => `${person ?? "nobody"} in folder ${folder} (${format})`).join(", ")}`,
    `faults: ${on.map(([name, rate]) => `${name} ${rate.toFixed(2)}`).join(", ")}`,
    ...(left > 0 ? [`(${left} lines before are left out)`] : []),
    ...lines.slice(-linesMost),
    ...violations.map(({ rule, text }) => `BROKEN ${rule}: ${text}`),
  ].join("\n");
}
