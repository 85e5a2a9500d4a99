/** I8: every call of a living program ends, not long after its budget, and by its budget's end not before it. */
import type { WorldEnd } from "../world.ts";
import { operations } from "./tally.ts";

/** What an outbox's disk, or a process that stood still, may add. */
const slackMs = 50;
const diskMsMost = 200;
/** A call that its program gave up may wait this much for its outbox's lock, to say truly whether it will be sent. */
const aloneMsMost = 500;

export function budgets(end: WorldEnd): readonly string[] {
  const breaches = end.openKeys.map((key) => `${key} never ended`);
  const paused = end.plan.incidents.some(({ kind }) => kind === "pauseClient" || kind === "sleep");
  for (const { invoked, ended } of operations(end)) {
    if (ended === undefined) continue;
    const { op } = invoked;
    const tookMs = ended.at - invoked.at;
    const name = `op ${op.id} ${op.kind} ${op.key}`;
    const { ended: how } = ended;
    const givenUp = how.kind === "error" && how.reason === "ABORTED";
    const outboxMs = op.outbox === "none" ? 0 : diskMsMost + (givenUp ? aloneMsMost : 0);
    const mostMs = op.budgetMs + slackMs + outboxMs;
    if (tookMs > mostMs && !paused) {
      breaches.push(`${name} took ${Math.round(tookMs)} ms of ${op.budgetMs} ms`);
    }
    if (how.kind === "error" && how.reason === "BUDGET_ENDED" && tookMs < op.budgetMs - 1) {
      breaches.push(`${name} ended by its budget of ${op.budgetMs} ms after ${Math.round(tookMs)} ms`);
    }
  }
  return breaches;
}
