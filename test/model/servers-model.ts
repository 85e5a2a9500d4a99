/**
 * A small model of one once-command that meets two servers with one store, searched to its last state: what a store
 * that several servers share has to do, of which a store with one server needs nothing.
 *
 * The client makes up to three tries, each of which reaches either server. A server may stop for a while, or die and
 * be started again, between any two steps of a run. What the client has settled a later command of its lane lets the
 * store drop.
 *
 * Source: reliability decisions D3, D4, D12, D16, D51.
 */

/** Where the effects of the command are. */
export type Effects =
  /** In the store's transaction. */
  | "transaction"
  /** Elsewhere; a run of which nobody knows the end is not repeated. */
  | "external"
  /** Elsewhere; the handler looks whether they are there, and runs again when they are not. */
  | "rerun";

export interface ServerRules {
  /** A commit finds what another server has kept under the key meanwhile, and gives way. */
  readonly commitFindsKept: boolean;
  /** A commit finds that the lane is settled beyond the call, whose entry may be dropped already, and fails. */
  readonly commitFindsSettled: boolean;
  /** A claim names its server's lease: while that is held, other servers wait. */
  readonly lease: boolean;
  /** A server whose lease may have been taken over stops before it goes on. */
  readonly stopsItself: boolean;
}

export const sharedRules: ServerRules = {
  commitFindsKept: true,
  commitFindsSettled: true,
  lease: true,
  stopsItself: true,
};

/** How far a server is with the command. */
type Step = "idle" | "looked" | "claimed" | "checked" | "acted";

interface ServerState {
  readonly step: Step;
  readonly paused: boolean;
}

interface World {
  readonly triesSent: number;
  /** Tries under way. */
  readonly tries: number;
  readonly replies: { readonly ran: number; readonly unknown: number };
  readonly outcome: "none" | "ran" | "unknown";
  readonly servers: readonly [ServerState, ServerState];
  readonly kept: "" | "started 0" | "started 1" | "ran";
  /** Whether the server that made the claim is known to be gone. */
  readonly claimOver: boolean;
  readonly settled: boolean;
  readonly effectCount: number;
  readonly left: { readonly crashes: number; readonly pauses: number };
}

const idle: ServerState = { step: "idle", paused: false };

const start: World = {
  triesSent: 0,
  tries: 0,
  replies: { ran: 0, unknown: 0 },
  outcome: "none",
  servers: [idle, idle],
  kept: "",
  claimOver: false,
  settled: false,
  effectCount: 0,
  left: { crashes: 1, pauses: 1 },
};

const triesMost = 3;

export interface ServerViolations {
  /** Its effect is there more than once. */
  ranTwice: number;
  /** The caller was told "ran", and there is not exactly one effect. */
  ranUntrue: number;
}

/** Searches every state that the rules allow. */
export function searchServers(
  effects: Effects,
  rules: ServerRules,
): { readonly stateCount: number; readonly violations: ServerViolations } {
  const violations: ServerViolations = { ranTwice: 0, ranUntrue: 0 };
  const seen = new Set([JSON.stringify(start)]);
  const open = [start];
  for (let world = open.pop(); world !== undefined; world = open.pop()) {
    if (world.effectCount > 1) violations.ranTwice += 1;
    if (world.outcome === "ran" && world.effectCount !== 1) violations.ranUntrue += 1;
    for (const next of steps(world, effects, rules)) {
      const name = JSON.stringify(next);
      if (seen.has(name)) continue;
      seen.add(name);
      open.push(next);
    }
  }
  return { stateCount: seen.size, violations };
}

function* steps(world: World, effects: Effects, rules: ServerRules): Generator<World> {
  yield* clientActs(world);
  for (const at of [0, 1] as const) {
    const server = world.servers[at];
    yield* fails(world, at, rules);
    if (server.paused) continue;
    if (world.tries > 0 && server.step === "idle") yield* meets(world, at, effects, rules);
    if (server.step !== "idle") yield* goesOn(world, at, effects, rules);
  }
}

function* clientActs(world: World): Generator<World> {
  const { outcome, triesSent, replies } = world;
  if (outcome === "none" && triesSent < triesMost) {
    yield { ...world, triesSent: triesSent + 1, tries: world.tries + 1 };
  }
  for (const told of ["ran", "unknown"] as const) {
    if (replies[told] === 0) continue;
    const rest = { ...world, replies: { ...replies, [told]: replies[told] - 1 } };
    yield rest; // it is lost
    if (outcome === "none") yield { ...rest, outcome: told };
  }
  // A later command says so, and the store drops what it kept.
  if (outcome !== "none" && !world.settled) {
    yield { ...world, settled: true, kept: world.kept === "ran" ? "" : world.kept };
  }
}

function* fails(world: World, at: 0 | 1, rules: ServerRules): Generator<World> {
  const { left } = world;
  const server = world.servers[at];
  if (left.crashes > 0) {
    const claimOver = world.claimOver || world.kept === `started ${at}`;
    yield { ...withServer(world, at, idle), claimOver, left: { ...left, crashes: left.crashes - 1 } };
  }
  if (left.pauses > 0 && !server.paused) {
    yield {
      ...withServer(world, at, { ...server, paused: true }),
      left: { ...left, pauses: left.pauses - 1 },
    };
  }
  if (!server.paused) return;
  const holds = world.kept === `started ${at}` && !world.claimOver;
  const lost = server.step !== "idle" && server.step !== "looked" && !holds;
  yield withServer(world, at, rules.stopsItself && lost ? idle : { ...server, paused: false });
  // Its lease runs out while it stands still.
  if (rules.lease && world.kept === `started ${at}` && !world.claimOver) yield { ...world, claimOver: true };
}

/** A try arrives, and looks at what is kept. */
function* meets(world: World, at: 0 | 1, effects: Effects, rules: ServerRules): Generator<World> {
  const arrived = { ...world, tries: world.tries - 1 };
  if (world.kept === "ran") yield reply(arrived, "ran");
  else if (world.kept === "") {
    if (world.settled) yield reply(arrived, "unknown");
    else yield withServer(arrived, at, { ...world.servers[at], step: "looked" });
  } else if (rules.lease && !world.claimOver)
    yield arrived; // asked to come again
  else if (effects === "rerun") yield withServer(arrived, at, { ...world.servers[at], step: "looked" });
  else yield reply(arrived, "unknown");
}

function* goesOn(world: World, at: 0 | 1, effects: Effects, rules: ServerRules): Generator<World> {
  const server = world.servers[at];
  const to = (step: Step, changes: Partial<World> = {}): World =>
    withServer({ ...world, ...changes }, at, { ...server, step });
  if (effects !== "transaction" && server.step === "looked") {
    const free =
      world.kept === "" || (effects === "rerun" && world.kept !== "ran" && (!rules.lease || world.claimOver));
    const settled = rules.commitFindsSettled && world.settled;
    if (settled || (rules.commitFindsKept && !free)) yield to("idle");
    else yield to("claimed", { kept: `started ${at}`, claimOver: false });
  } else if (server.step === "claimed" && effects === "rerun") {
    // It looks for its effects, and makes them a moment later.
    yield to(world.effectCount > 0 ? "acted" : "checked");
  } else if (server.step === "claimed" || server.step === "checked") {
    yield to("acted", { effectCount: world.effectCount + 1 });
  } else {
    yield commits(world, to, effects, rules);
  }
}

function commits(
  world: World,
  to: (step: Step, changes?: Partial<World>) => World,
  effects: Effects,
  rules: ServerRules,
): World {
  if (rules.commitFindsKept && world.kept === "ran") return reply(to("idle"), "ran");
  if (effects === "transaction") {
    if (rules.commitFindsSettled && world.settled) return to("idle");
    return reply(to("idle", { kept: "ran", effectCount: world.effectCount + 1 }), "ran");
  }
  return reply(to("idle", { kept: world.settled ? "" : "ran" }), "ran");
}

function reply(world: World, told: "ran" | "unknown"): World {
  return { ...world, replies: { ...world.replies, [told]: world.replies[told] + 1 } };
}

function withServer(world: World, at: 0 | 1, server: ServerState): World {
  return { ...world, servers: at === 0 ? [server, world.servers[1]] : [world.servers[0], server] };
}
