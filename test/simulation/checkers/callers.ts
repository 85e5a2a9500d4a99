/** I7, A2: nobody gets another one's reply, and no command runs in another one's name. */
import type { WorldEnd } from "../world.ts";
import { ranForTwo } from "./copies.ts";
import { effectsOf, groupBy, operations } from "./tally.ts";

export function callers(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  const changes = end.plan.incidents.some(({ kind }) => kind === "person");
  const persons = new Map<string, string>();
  for (const { invoked, ended } of operations(end)) {
    const { op, person } = invoked;
    if (!op.merge) persons.set(op.key, person);
    const by = ended?.ended.kind === "reply" ? ended.ended.by : undefined;
    if (!changes && by !== undefined && by !== person) {
      breaches.push(`op ${op.id} ${op.key} of ${person} got a reply made for ${by}`);
    }
  }
  for (const { key, by } of effectsOf(end)) {
    const person = persons.get(key);
    if (!changes && person !== undefined && by !== person) {
      breaches.push(`${key} of ${person} took effect as ${by}`);
    }
  }
  for (const [callId, starts] of groupBy(end.history.of("started"), ({ callId: its }) => its)) {
    const names = [...new Set(starts.map(({ by }) => by))];
    // A first try that certainly never ran may be made anew by who is signed in then.
    if (callId !== "" && names.length > 1 && !ranForTwo(end, callId, names))
      breaches.push(`call ${callId} ran for ${names.join(" and ")}`);
  }
  return [...breaches, ...sharedSecrets(end)];
}

/** Who is nobody is told from others by the secret of one link, which only an entry of an outbox takes elsewhere. */
function sharedSecrets(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  const owners = new Map<string, string>();
  for (const { event } of end.history.of("network")) {
    const { kind, request } = event;
    const secret = request?.header.get("holdfast-anon") ?? undefined;
    if (kind !== "sent" || secret === undefined || !/\/(Pay|Shout)$/.test(request?.url ?? "")) continue;
    const owner = owners.get(secret) ?? event.where;
    owners.set(secret, owner);
    if (owner !== event.where) breaches.push(`${owner} and ${event.where} have one secret`);
  }
  return breaches;
}
