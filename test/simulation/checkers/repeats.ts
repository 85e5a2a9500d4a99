/**
 * L1: a server that says "not now" to everybody is not kept down by repeats: of one link, the tries after such answers
 * are at most what its budget of repeats has at once and gets in the time.
 *
 * Only commands over HTTP are counted, whose tries say which call they are of.
 */
import { retryTokensMost, retryTokensPerSecond } from "../../../runtime/base/constants.ts";
import type { NetworkEvent } from "../../../runtime/testing/simulated-fate.ts";
import type { WorldEnd } from "../world.ts";

const windowMs = 10_000;
/** Of tries that have settled calls, which a link may repeat beside its budget. */
const settledShare = 0.1;
/** A try leaves when its call's own wait is over too: some whose tokens came before a window may leave in it. */
const bunchedMost = 5;

export function repeats({ plan, history }: WorldEnd): readonly string[] {
  // Who stood still does afterwards all at once what it was to do meanwhile.
  if (plan.incidents.some(({ kind }) => kind === "pauseClient" || kind === "sleep")) return [];
  const breaches: string[] = [];
  const faulty = new Set<string>();
  const links = new Map<string, { readonly repeatedAt: number[]; readonly settledAt: number[] }>();
  for (const { at, event } of history.of("network")) {
    const { kind, request } = event;
    const call = request?.header.get("holdfast-call")?.slice(1, 23);
    if (request === undefined || call === undefined || (kind !== "sent" && kind !== "heard")) continue;
    const { client } = request;
    const link = links.get(client) ?? { repeatedAt: [], settledAt: [] };
    links.set(client, link);
    const name = `${client} ${call}`;
    if (kind === "heard") {
      if (saysNotNow(event)) faulty.add(name);
      else link.settledAt.push(at);
      continue;
    }
    if (!faulty.delete(name)) continue;
    link.repeatedAt.push(at);
    const count = within(link.repeatedAt, at);
    const most =
      retryTokensMost +
      (windowMs / 1_000) * retryTokensPerSecond +
      settledShare * within(link.settledAt, at) +
      bunchedMost;
    if (count > most) breaches.push(`${client} tried ${count} times in ${windowMs} ms after "not now"`);
  }
  return breaches.slice(0, 1);
}

function within(times: readonly number[], at: number): number {
  return times.length - (times.findLastIndex((time) => time <= at - windowMs) + 1);
}

function saysNotNow({ status = 200, header }: NetworkEvent): boolean {
  const isGateway = status === 429 || (status >= 502 && status <= 504);
  return isGateway || (status !== 200 && header?.get("holdfast-settled") === "later");
}
