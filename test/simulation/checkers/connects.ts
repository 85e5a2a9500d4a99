/**
 * L2: a link that finds nobody asks less and less: from two seconds into an outage on, at most once a second, however
 * many of its calls, streams and held objects wait. Its wire and its HTTP each look for themselves, from when something
 * first needs them.
 */
import { wirePath } from "../../../runtime/wire/websocket.ts";
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
    const isWire = request.url.endsWith(wirePath);
    const way = `${request.client} ${isWire ? "wire" : "HTTP"}`;
    if (kind === "heard" || kind === "opened") outages.delete(way);
    const outage = outages.get(way);
    if (kind === "failed" && outage === undefined && /nobody listens|no connection/.test(text))
      outages.set(way, { begunAt: at, triedAt: [] });
    if (outage === undefined || kind !== (isWire ? "sent" : "connects")) continue;
    const { begunAt, triedAt } = outage;
    if (at <= begunAt + beginsMs) continue;
    triedAt.push(at);
    const count = triedAt.length - (triedAt.findLastIndex((time) => time <= at - windowMs) + 1);
    if (count > countMost) breaches.push(`${way} tried to connect ${count} times in ${windowMs} ms`);
  }
  return breaches.slice(0, 1);
}
