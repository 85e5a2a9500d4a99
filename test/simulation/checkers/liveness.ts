/** What is asked for when all has been well for minutes is answered, and nobody living is told of a stale call. */
import type { WorldEnd } from "../world.ts";
import { lastOpId } from "../workload.ts";
import { operations } from "./tally.ts";

export function liveness(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  for (const { invoked, ended } of operations(end)) {
    const { op, client } = invoked;
    // What some builds have not is told so: see `builds`.
    const mayBeLacking = op.kind === "stamp" || op.kind === "mark";
    if (op.id >= lastOpId && !mayBeLacking && ended?.ended.kind !== "reply") {
      breaches.push(`${client} gets no answer although all is well`);
    }
    // A copy of what is sent at most once may come first; then the call itself is the late one.
    const mayBeLate = end.plan.brokenLock || op.kind === "shout";
    if (ended?.ended.kind === "error" && ended.ended.reason === "CALL_STALE" && !mayBeLate) {
      breaches.push(`op ${op.id} ${op.key} was told to be stale while its program waited for it`);
    }
  }
  return breaches;
}
