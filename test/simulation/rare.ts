/**
 * What few worlds have: sequences that chance alone comes upon too seldom. Each part has a random of its own, so that
 * the plans of all other worlds are what they were.
 */
import type { SeededRandom } from "../../runtime/testing/seeded-random.ts";
import type { Plan } from "./plan.ts";
import type { Op } from "./workload.ts";

/** Requests that a client sends by HTTP in a span of time are lost, and arrive by themselves so much later. */
export interface Straggling {
  readonly client: number;
  readonly atMs: number;
  readonly forMs: number;
  readonly lateMs: number;
}

type RarePart = (random: SeededRandom, plan: Plan) => Plan;

const stragglerOpId = 17_000;
const burstOpId = 25_000;
const takeoverHoldId = 50;

/** By the names of their randoms: by these, no world that a pinned seed gives has any of them. */
const rareParts: Readonly<Record<string, RarePart>> = {
  straggling: straggler,
  standstill,
  "other person": takeover,
  "full wires": narrowWires,
};

export function withRareParts(random: SeededRandom, plain: Plan): Plan {
  return Object.entries(rareParts).reduce((plan, [name, part]) => part(random.fork(name), plan), plain);
}

/**
 * A command that arrives when its program has given it up long ago, while a later one says so and runs: of what is
 * settled nobody has written anything down by then.
 */
function straggler(random: SeededRandom, plan: Plan): Plan {
  const client = plan.clients.findIndex(({ calls }) => calls === "http");
  if (client === -1 || !random.chance(0.05)) return plan;
  const atMs = random.int(plan.durationMs);
  const budgetMs = 2_000;
  const lateMs = budgetMs + 500 + random.int(3_000);
  const append = { client, kind: "append", outbox: "none", merge: false, list: "list0", refuse: 0 } as const;
  const given = { id: stragglerOpId, atMs, key: "straggler", thinkMs: 0, budgetMs };
  const later = {
    id: stragglerOpId + 1,
    atMs: atMs + budgetMs + 100,
    key: "after-straggler",
    thinkMs: 8_000,
  };
  return {
    ...plan,
    straggling: [{ client, atMs, forMs: budgetMs, lateMs }],
    ops: [
      ...plan.ops,
      { ...append, ...given, abortAfterMs: undefined },
      { ...append, ...later, budgetMs: 20_000, abortAfterMs: undefined },
    ],
  };
}

/** A server that stands still for longer than a client may be without a sign of life. */
function standstill(random: SeededRandom, plan: Plan): Plan {
  if (!plan.beats || !random.chance(0.12)) return plan;
  const atMs = random.int(plan.durationMs);
  const forMs = 90_000 + random.int(60_000);
  return {
    ...plan,
    durationMs: Math.max(plan.durationMs, atMs + forMs + 20_000),
    incidents: [...plan.incidents, { kind: "pauseServer", atMs, host: 0, forMs }],
  };
}

/** Who holds something as the only person who may write it signs in as another one, who may not. */
function takeover(random: SeededRandom, plan: Plan): Plan {
  const client = plan.clients.findIndex(({ person }) => person === "alice");
  if (client === -1 || plan.holds.length === 0 || !random.chance(0.12)) return plan;
  const atMs = random.int(plan.durationMs);
  const hold = { id: takeoverHoldId, client, atMs, forMs: undefined, type: "shelf", name: "n0" } as const;
  const thinkMs = random.pick([undefined, 0, 200]);
  const goneAtMs = atMs + random.int(plan.durationMs - atMs);
  return {
    ...plan,
    writers: "alice",
    holds: [...plan.holds, { ...hold, thinkMs }],
    incidents: [...plan.incidents, { kind: "person", atMs: goneAtMs, client }],
  };
}

/**
 * Wires that are full of little, and many changes at once when nothing drops any more: who misses the last of them
 * misses it for good.
 */
function narrowWires(random: SeededRandom, plan: Plan): Plan {
  const lasting = plan.holds.filter(({ type, forMs }) => type === "shelf" && forMs === undefined);
  if (lasting.length === 0 || !random.chance(0.1)) return plan;
  const { id: hold, client } = random.pick(lasting);
  const atMs = plan.durationMs + 60_000;
  const burst = Array.from(
    { length: 4 + random.int(4) },
    (_, number): Op => ({
      ...{ id: burstOpId + number, atMs, client, kind: random.pick(["put", "knock", "knock"]) },
      ...{ outbox: "none", merge: false, list: `${hold}`, key: `burst-${number}`, refuse: 0 },
      ...{ thinkMs: random.int(20), budgetMs: 20_000, abortAfterMs: undefined },
    }),
  );
  return { ...plan, wireRoomBytes: random.pick([0, 60, 300]), ops: [...plan.ops, ...burst] };
}
