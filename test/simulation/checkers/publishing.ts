/** S5: who publishes waits for no reader, however slow one is: it goes on when its commit has been heard of. */
import type { WorldEnd } from "../world.ts";

const slackMs = 1;

export function publishing({ plan, history }: WorldEnd): readonly string[] {
  // A server that stands still goes on with nothing.
  if (plan.incidents.some(({ kind }) => kind === "pauseServer")) return [];
  const writtenAt = new Map<string, number>();
  return history.events.flatMap((event) => {
    if (event.kind === "effect") writtenAt.set(`${event.effect.server} ${event.effect.callId}`, event.at);
    if (event.kind !== "published") return [];
    const { server, callId, key, at } = event;
    const waitedMs = at - (writtenAt.get(`${server} ${callId}`) ?? -Infinity);
    if (waitedMs <= plan.diskMsMost + slackMs) return [];
    return [`${key} went on ${Math.round(waitedMs)} ms after it was durable`];
  });
}
