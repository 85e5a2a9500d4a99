/**
 * L2: a link that finds nobody asks less and less: from two seconds into an outage on, at most once a second, however
 * many of its calls, streams and held objects wait.
 */
import type { WorldEnd } from "../world.ts";

const beginsMs = 2_000;
const windowMs = 10_000;
/** Once a second, at both ends of the window too. */
const countMost = 1 + windowMs / 1_000;

interface Outage {
  readonly begunAt: number;
  /** Attempts after its first seconds. */
  readonly triedAt: number[];
}

export function connects({ history }: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  const outages = new Map<string, Outage>();
  for (const { at, event } of history.of("network")) {
    const { kind, request, text = "" } = event;
    if (request === undefined) continue;
    const { client } = request;
    if (kind === "heard" || kind === "opened") outages.delete(client);
    if (kind !== "failed" || !/nobody listens|no connection/.test(text)) continue;
    const outage = outages.get(client) ?? { begunAt: at, triedAt: [] };
    outages.set(client, outage);
    const { begunAt, triedAt } = outage;
    if (at <= begunAt + beginsMs) continue;
    triedAt.push(at);
    const count = triedAt.length - (triedAt.findLastIndex((time) => time <= at - windowMs) + 1);
    if (count > countMost) breaches.push(`${client} tried to connect ${count} times in ${windowMs} ms`);
  }
  return breaches.slice(0, 1);
}
