/** I5: what the server says of one call it never takes back. */
import type { WorldEnd } from "../world.ts";

export function marks(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  const said = new Map<string, string>();
  for (const { event } of end.history.of("network")) {
    if (event.kind !== "answered") continue;
    const call = event.request?.header.get("holdfast-call")?.slice(1, 23);
    const mark = event.header?.get("holdfast-settled");
    if (call === undefined || (mark !== "ran" && mark !== "refused")) continue;
    const before = said.get(call);
    if (before !== undefined && before !== mark)
      breaches.push(`call ${call} was ${before}, and then ${mark}`);
    said.set(call, mark);
  }
  return breaches;
}
