/** I5: what the server says of one call it never takes back. */
import type { WorldEnd } from "../world.ts";
import { operations } from "./tally.ts";

/** Of OUTCOME_UNKNOWN alone, among what is marked `unknown`. */
const begunStatus = 409;

export function marks(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  const said = new Map<string, string>();
  const lasting = !end.plan.incidents.some(({ kind }) => kind === "jumpServer");
  for (const { event } of end.history.of("network")) {
    if (event.kind !== "answered") continue;
    const call = event.request?.header.get("holdfast-call")?.slice(1, 23);
    const mark = event.header?.get("holdfast-settled");
    if (call === undefined || (mark !== "ran" && mark !== "refused" && mark !== "unknown")) continue;
    const before = said.get(call);
    // What has an outcome may be forgotten later, and what a clock that was set wrong makes strange may run when it is
    // right again. Who is not the call's caller hears nothing of it at all. Only where nobody knows whether there were
    // effects elsewhere nobody ever will.
    const begun = event.status === begunStatus && event.request?.url.endsWith("/Pay") === true && lasting;
    if (mark === "unknown" && (before !== undefined || !begun)) continue;
    if (before !== undefined && before !== mark)
      breaches.push(`call ${call} was ${before}, and then ${mark}`);
    said.set(call, mark);
  }
  for (const { ended } of operations(end)) {
    if (ended?.ended.kind !== "error" || ended.ended.reason !== "OUTCOME_UNKNOWN") continue;
    const before = said.get(ended.ended.callId ?? "");
    if (before === "ran" || before === "refused")
      breaches.push(`call ${ended.ended.callId ?? ""} was ${before}, and then nobody knew`);
  }
  return breaches;
}
