/**
 * A small model of one command in an outbox that two processes share, searched to its last state. The first process
 * made it; the program of the second makes an equal one, which takes its place (`merge`). Either sends it when it has
 * the lock, and may lose the lock in the middle of that. The program of the first may give its call up.
 *
 * Between two steps of a process anything may happen elsewhere: it looks at the entry, writes down that it is about
 * to send it, and sends it, one after the other.
 *
 * Source: reliability decisions D30, D34, D37, D38.
 */

export interface OutboxRules {
  /** Before a first sending a process looks whether another one has sent it, and since when. */
  readonly looksFirst: boolean;
  /** A first sending is written down before it happens. */
  readonly writesFirst: boolean;
  /** A call that has sent nothing looks whether another process has, before it says that it has not run. */
  readonly asksElsewhere: boolean;
  /** It takes the entry out under the lock, and says that nobody knows where it cannot have that. */
  readonly removesUnderLock: boolean;
}

export const outboxRules: OutboxRules = {
  looksFirst: true,
  writesFirst: true,
  asksElsewhere: true,
  removesUnderLock: true,
};

/** What may go wrong, each once. */
export interface OutboxFaults {
  /** The server forgets what it kept, and raises its fence. */
  readonly loss: boolean;
  /** The lock goes to the other process while the first one is at work. */
  readonly lockLoss: boolean;
}

/** How far a process is with the command. */
type Step = "away" | "waits" | "looked" | "written" | "sent" | "removes" | "over";
type Told = "" | "ran" | "not-run" | "unknown";

interface Process {
  readonly step: Step;
  /** When it was first sent, as far as this process knows; 0: it was not. */
  readonly firstSent: number;
  readonly told: Told;
}

interface World {
  readonly now: number;
  readonly processes: readonly [Process, Process];
  /** The entry: when it was first sent, 0 if it was not; undefined when it has left. */
  readonly entry: number | undefined;
  /** What the process that took it out has left word of. */
  readonly note: Told;
  readonly lock: 0 | 1 | undefined;
  /** Tries under way: who sent them, and the first sending that they say. */
  readonly tries: readonly string[];
  readonly replies: readonly string[];
  readonly triesLeft: number;
  readonly server: { readonly kept: boolean; readonly fence: number; readonly effectCount: number };
  readonly left: OutboxFaults & { readonly abort: boolean };
}

type At = 0 | 1;
const lastInstant = 3;

export interface OutboxViolations {
  ranTwice: number;
  /** Somebody was told that it ran, and there is not exactly one effect. */
  ranUntrue: number;
  /** Somebody was told that it has not run, and it did. */
  notRunUntrue: number;
}

/** Searches every state that the rules allow. */
export function searchOutbox(
  rules: OutboxRules,
  faults: OutboxFaults,
): { readonly stateCount: number; readonly violations: OutboxViolations } {
  const start: World = {
    now: 1,
    processes: [
      { step: "waits", firstSent: 0, told: "" },
      { step: "away", firstSent: 0, told: "" },
    ],
    entry: 0,
    note: "",
    lock: undefined,
    tries: [],
    replies: [],
    triesLeft: 3,
    server: { kept: false, fence: 0, effectCount: 0 },
    left: { ...faults, abort: true },
  };
  const violations: OutboxViolations = { ranTwice: 0, ranUntrue: 0, notRunUntrue: 0 };
  const seen = new Set([JSON.stringify(start)]);
  const open = [start];
  for (let world = open.pop(); world !== undefined; world = open.pop()) {
    const { effectCount } = world.server;
    const told = world.processes.map((one) => one.told);
    if (effectCount > 1) violations.ranTwice += 1;
    if (told.includes("ran") && effectCount !== 1) violations.ranUntrue += 1;
    if (told.includes("not-run") && effectCount > 0) violations.notRunUntrue += 1;
    for (const next of steps(world, rules)) {
      const name = JSON.stringify(next);
      if (seen.has(name)) continue;
      seen.add(name);
      open.push(next);
    }
  }
  return { stateCount: seen.size, violations };
}

function* steps(world: World, rules: OutboxRules): Generator<World> {
  if (world.now < lastInstant) yield { ...world, now: world.now + 1 };
  for (const at of [0, 1] as const) {
    yield* locks(world, at);
    yield* sends(world, at, rules);
    yield* hears(world, at);
  }
  yield* merges(world, rules);
  yield* givesUp(world, rules);
  yield* serverActs(world);
}

/** The second program makes an equal command while the first one waits. */
function* merges(world: World, rules: OutboxRules): Generator<World> {
  const [, second] = world.processes;
  if (second.step !== "away" || world.entry === undefined) return;
  yield withProcess(world, 1, { step: "waits", firstSent: rules.looksFirst ? world.entry : 0 });
}

function* locks(world: World, at: At): Generator<World> {
  if (world.processes[at].step !== "waits") return;
  if (world.lock === undefined) yield { ...world, lock: at };
  else if (world.lock !== at && world.left.lockLoss) {
    yield { ...world, lock: at, left: { ...world.left, lockLoss: false } };
  }
}

function* sends(world: World, at: At, rules: OutboxRules): Generator<World> {
  const { entry, now } = world;
  const process = world.processes[at];
  switch (process.step) {
    case "waits":
      if (world.lock !== at) return;
      if (entry === undefined) yield ends(world, at, world.note === "ran" ? "ran" : "unknown");
      else {
        const known = process.firstSent === 0 && rules.looksFirst ? entry : process.firstSent;
        yield withProcess(world, at, { step: "looked", firstSent: known });
      }
      return;
    case "looked": {
      const firstSent = process.firstSent === 0 ? now : process.firstSent;
      const sent = withProcess(world, at, { step: "written", firstSent });
      // It was there at the look: what another process has taken out since then comes back.
      yield rules.writesFirst ? { ...sent, entry: firstSent } : sent;
      return;
    }
    case "written":
      if (world.triesLeft === 0) return;
      yield {
        ...withProcess(world, at, { step: "sent" }),
        triesLeft: world.triesLeft - 1,
        tries: [...world.tries, `${at} ${process.firstSent}`].sort(),
      };
      return;
    case "sent":
      // No answer comes: it waits for its next turn.
      yield unlocked(withProcess(world, at, { step: "waits" }), at);
      return;
    case "removes":
      yield { ...ends(world, at, "not-run"), entry: undefined };
      return;
    case "away":
    case "over":
  }
}

function* hears(world: World, at: At): Generator<World> {
  for (const reply of new Set(world.replies)) {
    const [to, told] = reply.split(" ") as [string, "ran" | "unknown"];
    if (Number(to) !== at) continue;
    const rest = { ...world, replies: without(world.replies, reply) };
    yield rest; // it is lost
    if (world.processes[at].step === "sent") yield { ...ends(rest, at, told), entry: undefined, note: told };
  }
}

/** The first program waits no longer; its call has not the turn. */
function* givesUp(world: World, rules: OutboxRules): Generator<World> {
  const [first] = world.processes;
  if (first.step !== "waits" || !world.left.abort) return;
  const after = { ...world, left: { ...world.left, abort: false } };
  const unknown = { ...ends(after, 0, "unknown"), entry: undefined };
  const elsewhere = world.entry === undefined || world.entry > 0;
  if (first.firstSent > 0 || (rules.asksElsewhere && elsewhere)) yield unknown;
  else if (!rules.removesUnderLock) yield withProcess(after, 0, { step: "removes" });
  else if (world.lock === 1) yield unknown;
  else yield withProcess({ ...after, lock: 0 }, 0, { step: "removes" });
}

function* serverActs(world: World): Generator<World> {
  const { server, now, left } = world;
  for (const one of new Set(world.tries)) {
    const [from, firstSent] = one.split(" ").map(Number) as [number, number];
    const forgotten = !server.kept && firstSent < server.fence;
    const runs = !server.kept && !forgotten;
    yield {
      ...world,
      tries: without(world.tries, one),
      replies: [...world.replies, `${from} ${forgotten ? "unknown" : "ran"}`].sort(),
      server: runs ? { ...server, kept: true, effectCount: server.effectCount + 1 } : server,
    };
  }
  if (left.loss && now < lastInstant) {
    yield {
      ...world,
      now: now + 1,
      server: { ...server, kept: false, fence: now + 1 },
      left: { ...left, loss: false },
    };
  }
}

/** The call of a process is over, and its program is told. */
function ends(world: World, at: At, told: Told): World {
  return unlocked(withProcess(world, at, { step: "over", told }), at);
}

function unlocked(world: World, at: At): World {
  return world.lock === at ? { ...world, lock: undefined } : world;
}

function withProcess(world: World, at: At, changes: Partial<Process>): World {
  const [first, second] = world.processes;
  return {
    ...world,
    processes: at === 0 ? [{ ...first, ...changes }, second] : [first, { ...second, ...changes }],
  };
}

function without(list: readonly string[], one: string): readonly string[] {
  const at = list.indexOf(one);
  return [...list.slice(0, at), ...list.slice(at + 1)];
}
