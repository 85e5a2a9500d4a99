/** H2: no call waits in vain for an object that is there: who is told so has a reference that is not live. */
import type { HistoryEvent } from "../history.ts";
import type { WorldEnd } from "../world.ts";

export function parkedCalls(end: WorldEnd): readonly string[] {
  const live = new Map<string, number>();
  return end.history.events.flatMap((event) => {
    follow(live, event);
    if (event.kind !== "ended" || event.ended.kind !== "error" || event.ended.reason !== "PARK_TIMEOUT")
      return [];
    const { list, key } = event.op;
    const since = live.get(`${clientOf(end, event.op.id)} ref ${list}`);
    // In the moment in which its object comes a call may still be told that it has waited for too long.
    if (since === undefined || since === event.at) return [];
    const ms = Math.round(event.at - since);
    return [`${key} has waited in vain for its object, which has been there for ${ms} ms`];
  });
}

function follow(live: Map<string, number>, event: HistoryEvent): void {
  if (event.kind !== "refState") return;
  if (event.to === "live") live.set(event.ref, event.at);
  else live.delete(event.ref);
}

function clientOf(end: WorldEnd, opId: number): string | undefined {
  return end.history.of("invoked").find(({ op }) => op.id === opId)?.client;
}
