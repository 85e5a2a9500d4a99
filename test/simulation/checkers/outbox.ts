/** I9, I10: what waits in an outbox leaves it with a true outcome that somebody hears, also after a kill. */
import type { WorldEnd } from "../world.ts";
import { effectsOf, operations } from "./tally.ts";

export function outbox(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  // Who has signed in as another one has entries that wait for their own caller.
  const paused = end.plan.incidents.some(({ kind }) => kind === "person");
  const settled = new Map(end.history.of("settled").map(({ callId, outcome }) => [callId, outcome]));
  const keys = new Map(effectsOf(end).map(({ key, callId }) => [callId, key]));
  for (const names of end.folders) {
    const entries = names.filter((name) => !name.startsWith("ended-"));
    if (entries.length > 0 && !paused) breaches.push(`an outbox still holds ${entries.join(", ")}`);
  }
  for (const { invoked, ended } of operations(end)) {
    if (ended?.ended.kind !== "error" || ended.ended.outcome !== "in-outbox") continue;
    const { op } = invoked;
    const { callId = "" } = ended.ended;
    const outcome = settled.get(callId);
    const there = keys.has(callId);
    if (outcome === undefined && !there && !paused) {
      breaches.push(`op ${op.id} ${op.key} waited (${callId}), and nobody heard how it ended`);
    }
    if (outcome === "ran" && !there)
      breaches.push(`op ${op.id} ${op.key} was settled as run, and is not there`);
    if ((outcome === "refused" || outcome === "not-run") && there) {
      breaches.push(`op ${op.id} ${op.key} was settled as ${outcome}, and is there`);
    }
  }
  return breaches;
}
