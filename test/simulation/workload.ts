/** What programs ask for in one run, drawn before it begins, so that single operations can be left out. */
import type { OutboxMode } from "../../runtime/base/definition.ts";
import type { SeededRandom } from "../../runtime/testing/seeded-random.ts";
import type { Incident } from "./faults.ts";

export type OpKind = "append" | "whisper" | "pay" | "send" | "shout" | "read" | "poke" | "follow";

/** Operations from here on are made when all is well again. */
export const lastOpId = 1_000_000;
const crowdOpId = 10_000;

export interface Op {
  readonly id: number;
  readonly atMs: number;
  /** Which client makes it. */
  readonly client: number;
  readonly kind: OpKind;
  readonly outbox: OutboxMode;
  /** Whether an equal one that waits is the same command. */
  readonly merge: boolean;
  readonly list: string;
  /** Unique, but for operations that may merge. */
  readonly key: string;
  /** See AppendRequest. */
  readonly refuse: 0 | 1 | 2 | 3;
  readonly thinkMs: number;
  readonly budgetMs: number;
  /** For `follow`: when its loop is left. */
  readonly abortAfterMs: number | undefined;
}

export interface WorkloadShape {
  readonly clientCount: number;
  readonly opCount: number;
  readonly durationMs: number;
  readonly kinds: readonly OpKind[];
  readonly outboxes: readonly OutboxMode[];
  readonly listCount: number;
  /** Ms that most handlers take at most. */
  readonly thinkMsMost: number;
  readonly mergeRate: number;
  readonly refuseRate: number;
  readonly abortRate: number;
  /** The share of operations that follow the one before at once. */
  readonly burstRate: number;
}

export function drawOps(random: SeededRandom, shape: WorkloadShape): Op[] {
  const ops: Op[] = [];
  let atMs = 0;
  const gapMs = shape.durationMs / shape.opCount;
  for (let id = 1; id <= shape.opCount; id++) {
    if (!random.chance(shape.burstRate)) atMs += random.fraction() * 2 * gapMs;
    const kind = random.pick(shape.kinds);
    const stored = kind === "append" || kind === "send" || kind === "whisper";
    const outbox = stored ? random.pick(shape.outboxes) : "none";
    const client = random.int(shape.clientCount);
    const merge = kind === "append" && outbox !== "none" && random.chance(shape.mergeRate);
    ops.push({
      id,
      atMs: Math.floor(atMs),
      client,
      kind,
      outbox,
      merge,
      list: `list${random.int(shape.listCount)}`,
      // Equal commands of one client meet in its outbox.
      key: merge ? `merging-${client}-${random.int(2)}` : `key-${id}`,
      refuse: kind === "append" && !merge && random.chance(shape.refuseRate) ? random.pick([1, 2, 3]) : 0,
      thinkMs: merge ? 5 : random.int(random.chance(0.1) ? 12_000 : shape.thinkMsMost + 1),
      budgetMs: random.pick([2_000, 8_000, 20_000, 30_000]),
      abortAfterMs: random.chance(shape.abortRate) ? random.int(3_000) : undefined,
    });
  }
  return ops;
}

/** In a few worlds: more calls at once than an opening gate lets go in one slice, while something is wrong. */
export function drawCrowd(
  random: SeededRandom,
  { clientCount }: WorkloadShape,
  incidents: readonly Incident[],
): Op[] {
  if (incidents.length === 0 || !random.chance(0.05)) return [];
  const { atMs } = random.pick(incidents);
  const client = random.int(clientCount);
  const count = 35 + random.int(40);
  return Array.from({ length: count }, (_, number) => ({
    ...{ id: crowdOpId + number, atMs: atMs + random.int(200), client, kind: "read", outbox: "none" },
    ...{ merge: false, list: "list0", key: `crowd-${number}`, refuse: 0, thinkMs: 0, budgetMs: 20_000 },
    abortAfterMs: undefined,
  }));
}
