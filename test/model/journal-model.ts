/**
 * A small model of one once-command between a client, a network and a journal, searched to its last state.
 *
 * The client makes up to three tries. The network delivers them in any order, late or not at all, may double
 * one, and loses replies. The server may lose its store, or drop a call before its time; what it refuses
 * today it may accept tomorrow. Each rule of the journal can be switched off, to see that it is needed: with
 * the rules that ship no state breaks a promise, and each weaker set of rules has states that do.
 *
 * Time is a count of four instants: enough for "before", "at", "after" and "after that".
 *
 * Source: reliability decisions D3-D7.
 */

/** What the journal and the client do. */
export interface Rules {
  /** A call that may have been forgotten is refused (the fence). */
  readonly fence: boolean;
  /** A refusal is kept like a reply. */
  readonly keepRefusals: boolean;
  /** The client says what it has settled; the server drops that and refuses late copies of it. */
  readonly lanes: boolean;
  /** A fence is raised past the first sending of a call that is dropped early. */
  readonly raiseOnDrop: boolean;
  /** A fence stands at the start of a store that lost everything. */
  readonly raiseOnLoss: boolean;
  /** After "forgotten" the client stamps the old call anew. Looks safe when one try left, and is not. */
  readonly stampsAnew: boolean;
  /** An answer without the journal's mark, such as a proxy's, settles a call. */
  readonly unmarkedSettles: boolean;
}

export const shippedRules: Rules = {
  fence: true,
  keepRefusals: true,
  lanes: true,
  raiseOnDrop: true,
  raiseOnLoss: true,
  stampsAnew: false,
  unmarkedSettles: false,
};

type Settled = "ran" | "refused";
type Told = Settled | "stale" | "forgotten";

/** One state of the world. Messages under way are sorted, so that two orders of the same ones are one state. */
interface World {
  readonly now: number;
  readonly client: {
    readonly triesSent: number;
    /** When the call was first sent, the same in every try; 0: not yet. */
    readonly firstSent: number;
    readonly outcome: "none" | "unknown" | Settled;
    readonly stampedAnew: boolean;
  };
  /** Tries under way, by the first sending that they say. */
  readonly tries: readonly number[];
  readonly replies: readonly Told[];
  readonly server: {
    readonly kept: { readonly outcome: Settled; readonly firstSent: number } | undefined;
    readonly fence: number;
    readonly settled: boolean;
    readonly effectCount: number;
    /** Whether the command would be accepted now. */
    readonly accepts: boolean;
  };
  /** What may still go wrong, so that the search ends. */
  readonly left: { readonly doubles: number; readonly drops: number; readonly losses: number };
}

const start: World = {
  now: 1,
  client: { triesSent: 0, firstSent: 0, outcome: "none", stampedAnew: false },
  tries: [],
  replies: [],
  server: { kept: undefined, fence: 0, settled: false, effectCount: 0, accepts: false },
  left: { doubles: 1, drops: 1, losses: 1 },
};

const triesMost = 3;
const lastInstant = 4;

/** What a call was promised, and in how many states it was not kept. */
export interface Violations {
  /** Its effect is there more than once. */
  ranTwice: number;
  /** The caller was told "ran", and there is not exactly one effect. */
  ranUntrue: number;
  /** The caller was told "refused", and there is an effect. */
  refusedUntrue: number;
}

/** Searches every state that the rules allow. */
export function search(rules: Rules): { readonly stateCount: number; readonly violations: Violations } {
  const violations: Violations = { ranTwice: 0, ranUntrue: 0, refusedUntrue: 0 };
  const seen = new Set([nameOf(start)]);
  const open = [start];
  for (let world = open.pop(); world !== undefined; world = open.pop()) {
    const { effectCount } = world.server;
    const { outcome } = world.client;
    if (effectCount > 1) violations.ranTwice += 1;
    if (outcome === "ran" && effectCount !== 1) violations.ranUntrue += 1;
    if (outcome === "refused" && effectCount > 0) violations.refusedUntrue += 1;
    for (const next of steps(world, rules)) {
      const name = nameOf(next);
      if (seen.has(name)) continue;
      seen.add(name);
      open.push(next);
    }
  }
  return { stateCount: seen.size, violations };
}

/** A text of its own for each state, as short as may be: the search makes about a million of them. */
function nameOf({ now, client, tries, replies, server, left }: World): string {
  const sent = `${client.triesSent}${client.firstSent}${client.outcome}${+client.stampedAnew}`;
  const kept = server.kept === undefined ? "" : `${server.kept.outcome}${server.kept.firstSent}`;
  const rest = `${server.fence}${+server.settled}${server.effectCount}${+server.accepts}`;
  const counts = `${left.doubles}${left.drops}${left.losses}`;
  return `${now}${sent} ${tries.join("")} ${replies.join("")} ${kept} ${rest}${counts}`;
}

/** Every world that may follow. */
function* steps(world: World, rules: Rules): Generator<World> {
  yield* timePasses(world);
  yield* clientSends(world);
  yield* networkActs(world);
  yield* serverMeets(world, rules);
  yield* clientHears(world, rules);
  yield* serverForgets(world, rules);
  if (rules.lanes) yield* clientSettles(world);
  if (rules.unmarkedSettles && world.tries.length > 0 && world.client.outcome === "none") {
    yield { ...world, client: { ...world.client, outcome: "refused" } };
  }
}

function* timePasses(world: World): Generator<World> {
  if (world.now < lastInstant) yield { ...world, now: world.now + 1 };
  if (!world.server.accepts) yield { ...world, server: { ...world.server, accepts: true } };
}

function* clientSends(world: World): Generator<World> {
  const { client } = world;
  if (client.outcome !== "none" || client.triesSent === triesMost) return;
  const firstSent = client.firstSent === 0 ? world.now : client.firstSent;
  yield {
    ...world,
    client: { ...client, triesSent: client.triesSent + 1, firstSent },
    tries: plus(world.tries, firstSent),
  };
}

function* networkActs(world: World): Generator<World> {
  for (const reply of new Set(world.replies)) yield { ...world, replies: minus(world.replies, reply) };
  if (world.left.doubles === 0) return;
  for (const one of new Set(world.tries)) {
    yield {
      ...world,
      tries: plus(world.tries, one),
      left: { ...world.left, doubles: world.left.doubles - 1 },
    };
  }
}

/** A try that is never delivered is one that stays under way; so there is no step that loses one. */
function* serverMeets(world: World, rules: Rules): Generator<World> {
  for (const firstSent of new Set(world.tries)) {
    const { server, told } = answer(world.server, firstSent, rules);
    yield { ...world, server, tries: minus(world.tries, firstSent), replies: plus(world.replies, told) };
  }
}

function answer(
  server: World["server"],
  firstSent: number,
  rules: Rules,
): { readonly server: World["server"]; readonly told: Told } {
  if (server.kept !== undefined) return { server, told: server.kept.outcome };
  if (rules.lanes && server.settled) return { server, told: "stale" };
  if (rules.fence && firstSent < server.fence) return { server, told: "forgotten" };
  const told = server.accepts ? "ran" : "refused";
  const keeps = told === "ran" || rules.keepRefusals;
  return {
    server: {
      ...server,
      effectCount: server.effectCount + (told === "ran" ? 1 : 0),
      kept: keeps ? { outcome: told, firstSent } : undefined,
    },
    told,
  };
}

function* clientHears(world: World, rules: Rules): Generator<World> {
  const { client } = world;
  for (const told of new Set(world.replies)) {
    const replies = minus(world.replies, told);
    if (client.outcome !== "none") {
      yield { ...world, replies };
    } else if (told === "ran" || told === "refused") {
      yield { ...world, replies, client: { ...client, outcome: told } };
    } else if (told === "forgotten" && rules.stampsAnew && client.triesSent === 1 && !client.stampedAnew) {
      yield {
        ...world,
        replies,
        client: { ...client, stampedAnew: true, firstSent: world.now, triesSent: client.triesSent + 1 },
        tries: plus(world.tries, world.now),
      };
    } else {
      yield { ...world, replies, client: { ...client, outcome: "unknown" } };
    }
  }
}

/** A later command of the lane says that this one is settled: its client has the outcome in hand. */
function* clientSettles(world: World): Generator<World> {
  const { outcome } = world.client;
  if (world.server.settled || (outcome !== "ran" && outcome !== "refused")) return;
  yield { ...world, server: { ...world.server, settled: true } };
}

function* serverForgets(world: World, rules: Rules): Generator<World> {
  const { server, left, now } = world;
  if (server.kept !== undefined && server.settled) {
    yield { ...world, server: { ...server, kept: undefined } };
  } else if (server.kept !== undefined && left.drops > 0) {
    const fence = rules.raiseOnDrop ? Math.max(server.fence, server.kept.firstSent + 1) : server.fence;
    yield {
      ...world,
      server: { ...server, kept: undefined, fence },
      left: { ...left, drops: left.drops - 1 },
    };
  }
  if (left.losses > 0 && now < lastInstant) {
    // A server starts again at a later instant than that in which the old one died, and stands its fence there.
    const restartsAt = now + 1;
    const fence = rules.raiseOnLoss ? restartsAt : server.fence;
    yield {
      ...world,
      now: restartsAt,
      server: { ...server, kept: undefined, settled: false, fence },
      left: { ...left, losses: left.losses - 1 },
    };
  }
}

function plus<T extends number | string>(list: readonly T[], one: T): readonly T[] {
  return [...list, one].sort();
}

function minus<T>(list: readonly T[], one: T): readonly T[] {
  const at = list.indexOf(one);
  return [...list.slice(0, at), ...list.slice(at + 1)];
}
