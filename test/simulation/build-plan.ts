/** Worlds with more than one build: who begins with which, when that changes, and what only the second one has. */
import type { OutboxMode } from "../../runtime/base/definition.ts";
import type { SeededRandom } from "../../runtime/testing/seeded-random.ts";
import type { Build } from "./builds.ts";
import type { Incident } from "./faults.ts";
import type { HoldPlan, Op } from "./workload.ts";

export interface BuildsPlan {
  /** What each server, and each client, begins with. */
  readonly hosts: readonly Build[];
  readonly clients: readonly Build[];
  /** Whether servers of the second build refuse clients of the first. */
  readonly refusesFirst: boolean;
}

export interface BuildsShape {
  readonly durationMs: number;
  readonly clientCount: number;
  readonly hostCount: number;
  readonly holds: readonly HoldPlan[];
}

export interface DrawnBuilds {
  readonly builds: BuildsPlan;
  readonly incidents: readonly Incident[];
  readonly ops: readonly Op[];
}

/** In a tenth of all worlds. */
export function drawBuilds(random: SeededRandom, shape: BuildsShape): DrawnBuilds | undefined {
  if (!random.chance(0.1)) return undefined;
  const { clientCount, hostCount } = shape;
  const build = (): Build => random.pick([1, 2]);
  const builds = {
    hosts: Array.from({ length: hostCount }, build),
    clients: Array.from({ length: clientCount }, build),
    refusesFirst: random.chance(0.25),
  };
  const incidents = drawChanges(random, shape, builds);
  return { builds, incidents, ops: [...drawStamps(random, shape), ...drawMarks(random, shape)] };
}

/** Newer, older, and back again. */
function drawChanges(random: SeededRandom, shape: BuildsShape, { hosts }: BuildsPlan): Incident[] {
  const { durationMs, clientCount, hostCount } = shape;
  const forMs = (): number => random.int(random.pick([500, 3_000, 20_000]));
  const deploys: Incident[] = [];
  let builds = hosts;
  for (let atMs = random.int(durationMs); atMs < durationMs; atMs += 1_000 + random.int(durationMs)) {
    const host = random.int(hostCount);
    const build: Build = builds[host] === 1 ? 2 : 1;
    builds = builds.with(host, build);
    const withinMs = random.pick([undefined, 0, 500, 5_000]);
    deploys.push({ kind: "deploy", atMs, host, forMs: forMs(), withinMs, build });
  }
  const updates = Array.from(
    { length: random.int(1 + clientCount) },
    (): Incident => ({
      ...{ kind: "update", atMs: random.int(durationMs), client: random.int(clientCount), forMs: forMs() },
      build: random.pick([1, 2, 2]),
    }),
  );
  return [...deploys, ...updates];
}

const stampOpId = 30_000;
const markOpId = 31_000;

function drawStamps(random: SeededRandom, { durationMs, clientCount }: BuildsShape): Op[] {
  const outboxes: readonly OutboxMode[] = ["none", "late", "early"];
  return Array.from({ length: 3 + random.int(8) }, (_, number) => ({
    ...{ id: stampOpId + number, atMs: random.int(durationMs), client: random.int(clientCount) },
    ...{ kind: "stamp", outbox: random.pick(outboxes), merge: false, list: "stamps", refuse: 0 },
    ...{ key: `stamp-${number}`, thinkMs: random.int(random.pick([1, 2_000])) },
    ...{ budgetMs: random.pick([2_000, 8_000, 20_000]), abortAfterMs: undefined },
  }));
}

function drawMarks(random: SeededRandom, { durationMs, holds }: BuildsShape): Op[] {
  const shelves = holds.filter(({ type }) => type === "shelf");
  if (shelves.length === 0) return [];
  return Array.from({ length: 2 + random.int(6) }, (_, number) => {
    const { id, client, atMs } = random.pick(shelves);
    return {
      ...{ id: markOpId + number, atMs: atMs + random.int(durationMs), client, kind: "mark" },
      ...{ outbox: "none", merge: false, list: `${id}`, refuse: 0, key: `mark-${number}` },
      ...{ thinkMs: random.int(500), budgetMs: random.pick([2_000, 20_000]), abortAfterMs: undefined },
    };
  });
}
