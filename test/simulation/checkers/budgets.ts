/** I8: every call of a living program ends, not long after its budget, and by its budget's end not before it. */
import type { WorldEnd } from "../world.ts";
import { operations } from "./tally.ts";

/** What an outbox's disk, or a process that stood still, may add. */
const slackMs = 50;
const diskMsMost = 200;

export function budgets(end: WorldEnd): readonly string[] {
  const breaches = end.openKeys.map((key) => `${key} never ended`);
  const paused = end.plan.incidents.some(({ kind }) => kind === "pauseClient" || kind === "sleep");
  for (const { invoked, ended } of operations(end)) {
    if (ended === undefined) continue;
    const { op } = invoked;
    const tookMs = ended.at - invoked.at;
    const name = `op ${op.id} ${op.kind} ${op.key}`;
    const mostMs = op.budgetMs + slackMs + (op.outbox === "none" ? 0 : diskMsMost);
    if (tookMs > mostMs && !paused) {
      breaches.push(`${name} took ${Math.round(tookMs)} ms of ${op.budgetMs} ms`);
    }
    const { ended: how } = ended;
    if (how.kind === "error" && how.reason === "BUDGET_ENDED" && tookMs < op.budgetMs - 1) {
      breaches.push(`${name} ended by its budget of ${op.budgetMs} ms after ${Math.round(tookMs)} ms`);
    }
  }
  return breaches;
}
