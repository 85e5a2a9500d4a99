/** What programs ask for in one run, drawn before it begins, so that single operations can be left out. */
import type { OutboxMode } from "../../runtime/base/definition.ts";
import type { SeededRandom } from "../../runtime/testing/seeded-random.ts";
import type { Incident } from "./faults.ts";

export type OpKind =
  | "append"
  | "whisper"
  | "pay"
  | "send"
  | "shout"
  | "read"
  | "poke"
  | "follow"
  // Of the second build alone.
  | "stamp"
  // On a held object.
  | "put"
  | "knock"
  | "look"
  | "push"
  // Of the second build alone.
  | "mark";

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
  /** For what is on a held object: the number of the hold. */
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

const overloadOpId = 14_000;

/** A time in which somebody before the servers answers every command with "not now". */
export interface Overload {
  readonly atMs: number;
  readonly forMs: number;
}

/** Commands of one client that meet an overload, more than a link may repeat as often as it likes. */
export function drawOverloadOps(random: SeededRandom, { clientCount }: WorkloadShape, its: Overload): Op[] {
  const client = random.int(clientCount);
  return Array.from({ length: 30 + random.int(30) }, (_, number) => ({
    ...{ id: overloadOpId + number, atMs: its.atMs + random.int(2_000), client, kind: "whisper" },
    ...{ outbox: "none", merge: false, list: "list0", key: `overload-${number}`, refuse: 0, thinkMs: 0 },
    ...{ budgetMs: 30_000, abortAfterMs: undefined },
  }));
}

const rushOpId = 15_000;

/** A reader so slow that its topic moves on without it, while a list grows fast. */
export function drawRush(random: SeededRandom, { clientCount, durationMs }: WorkloadShape): Op[] {
  const begunMs = random.int(durationMs);
  const rest = { outbox: "none", merge: false, list: "rush", refuse: 0 } as const;
  const thinkMs = 500 + random.int(1_000);
  const reader = { id: rushOpId, atMs: begunMs, client: random.int(clientCount), budgetMs: 30_000 };
  const appends = Array.from({ length: 40 + random.int(30) }, (_, number): Op => {
    const atMs = begunMs + random.int(5_000);
    const client = random.int(clientCount);
    const id = rushOpId + 1 + number;
    return {
      ...{ id, kind: "append", key: `rush-${number}`, atMs, client, thinkMs: 0 },
      ...{ budgetMs: 20_000, abortAfterMs: undefined, ...rest },
    };
  });
  return [{ ...reader, kind: "follow", key: "rush", thinkMs, abortAfterMs: undefined, ...rest }, ...appends];
}

/** What is held in one run: from when, by whom, and for how long. */
export interface HoldPlan {
  readonly id: number;
  readonly client: number;
  readonly atMs: number;
  /** Ms until it is released; undefined: it stays. */
  readonly forMs: number | undefined;
  readonly type: "shelf" | "queue" | "room";
  readonly name: string;
  /** Its states are read by loops too, which take so long for each value; undefined: by subscriptions alone. */
  readonly thinkMs: number | undefined;
}

export function drawHolds(random: SeededRandom, { clientCount, durationMs }: WorkloadShape): HoldPlan[] {
  const count = 1 + random.int(8);
  const nameCount = 1 + random.int(2);
  return Array.from({ length: count }, (_, id) => ({
    id,
    client: random.int(clientCount),
    atMs: random.chance(0.5) ? random.int(2_000) : random.int(durationMs),
    forMs: random.chance(0.4) ? random.int(random.pick([50, 5_000, 30_000])) : undefined,
    type: random.pick(["shelf", "shelf", "queue", "room"]),
    name: `n${random.int(nameCount)}`,
    thinkMs: random.chance(0.5) ? random.pick([0, 200, 5_000]) : undefined,
  }));
}

const holdOpId = 20_000;

/** Calls on what is held, in bursts: what a reference is asked for one after the other keeps its order. */
export function drawHoldOps(random: SeededRandom, holds: readonly HoldPlan[], durationMs: number): Op[] {
  const ops: Op[] = [];
  const usable = holds.filter(({ type }) => type !== "room");
  if (usable.length === 0) return ops;
  const burstCount = 1 + random.int(8);
  for (let burst = 0; burst < burstCount; burst++) {
    const { id: hold, client, type, atMs: heldAtMs } = random.pick(usable);
    let atMs = random.chance(0.3) ? heldAtMs + 1 : heldAtMs + random.int(durationMs);
    const count = 1 + random.int(6);
    for (let number = 0; number < count; number++) {
      const id = holdOpId + ops.length;
      if (random.chance(0.3)) atMs += random.int(300);
      const kind = type === "queue" ? "push" : random.pick(["put", "put", "knock", "look"] as const);
      ops.push({
        ...{ id, atMs, client, kind, outbox: "none", merge: false, list: `${hold}`, key: `held-${id}` },
        ...{ refuse: 0, thinkMs: random.int(random.pick([1, 30, 3_000])) },
        budgetMs: random.pick([2_000, 8_000, 20_000]),
        abortAfterMs: random.chance(0.1) ? random.int(3_000) : undefined,
      });
    }
  }
  return ops;
}

/** Whether an operation is on what is held. */
export function isHeld({ kind }: Op): boolean {
  return kind === "put" || kind === "knock" || kind === "look" || kind === "push" || kind === "mark";
}
