/**
 * Commands on a list against a model of one list: it is linearizable. Every append tells its place and no two have
 * the same one, so the places are the one order in which all took effect, and it is enough that this order agrees
 * with time: who began after another had ended comes after it.
 */
import type { WorldEnd } from "../world.ts";
import { groupBy, type Invoked, operations } from "./tally.ts";

interface Seen {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** The list had at least so many keys at the end of it, and fewer than `before` at its begin. */
  readonly least: number;
  readonly before: number;
}

export function order(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  const seen: (Seen & { readonly list: string })[] = [];
  for (const { invoked, ended } of operations(end)) {
    const { op } = invoked;
    if (ended?.ended.kind !== "reply" || (op.kind !== "append" && op.kind !== "read")) continue;
    if (op.kind === "read" && answeredByStranger(end, invoked, ended.at)) continue;
    const place = ended.ended.place ?? 0;
    const name = `op ${op.id} ${op.kind} ${op.list} ${place}`;
    const before = op.kind === "append" && !op.merge ? place : Infinity;
    seen.push({ name, list: op.list, from: invoked.at, to: ended.at, least: place, before });
    if (op.kind === "read")
      seen.push({ name, list: op.list, from: invoked.at, to: ended.at, least: 0, before: place + 1 });
  }
  for (const all of groupBy(seen, ({ list }) => list).values()) {
    for (const first of all) {
      const wrong = all.find((second) => first.to < second.from && first.least >= second.before);
      if (wrong !== undefined) breaches.push(`${wrong.name} began after the end of ${first.name}`);
    }
  }
  return breaches;
}

/**
 * Whether a reader may have got a proxy's answer. A link that has not heard its server yet may stand before a plain
 * one: then the first well-formed answer to a query counts, and a proxy's empty one is an empty message.
 */
function answeredByStranger({ history }: WorldEnd, { client, at }: Invoked, endedAt: number): boolean {
  for (const { at: heardAt, event } of history.of("network")) {
    if (heardAt > endedAt) return false;
    if (event.kind !== "heard" || event.where !== client) continue;
    if (event.header?.has("holdfast-server") === true) return false;
    if (heardAt >= at && event.status === 200 && event.request?.url.endsWith("/Read") === true) return true;
  }
  return false;
}
