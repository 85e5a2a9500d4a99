/** Runs a plan: faults, then healing and converging, then closing; and asks every checker. */
import type { SimulatedProcess } from "../../runtime/testing/simulated-process.ts";
import type { Incident } from "./faults.ts";
import { checkers } from "./checkers/checkers.ts";
import type { Plan } from "./plan.ts";
import { lastOpId, type Op } from "./workload.ts";
import { World, type WorldEnd } from "./world.ts";

/** What a checker has found. */
export interface Violation {
  /** The name of the invariant. */
  readonly rule: string;
  readonly text: string;
}

export interface RunResult {
  readonly end: WorldEnd;
  readonly violations: readonly Violation[];
}

/** Time after healing in which everything must come to rest: the longest budget, the longest wait, and some. */
const convergeMs = 150_000;
/** Late copies arrive at most this much after the last request. */
const lateMsMost = 600_000;

export async function runPlan(plan: Plan): Promise<RunResult> {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  try {
    const end = await live(plan, unhandled);
    const violations = Object.entries(checkers).flatMap(([rule, check]) =>
      check(end).map((text) => ({ rule, text })),
    );
    return { end, violations };
  } finally {
    process.off("unhandledRejection", note);
  }
}

async function live(plan: Plan, unhandled: readonly unknown[]): Promise<WorldEnd> {
  const world = new World(plan);
  const { clock, history, clients, hosts, network } = world;
  history.add({ kind: "phase", name: "faults" });
  for (const host of hosts) await host.start();
  for (const client of clients) client.start();
  for (const op of plan.ops) clock.timer(op.atMs, () => clients[op.client]?.act(op));
  for (const { id, client, atMs, forMs } of plan.holds) {
    clock.timer(atMs, () => clients[client]?.rehold());
    if (forMs !== undefined) clock.timer(atMs + forMs, () => clients[client]?.release(id));
  }
  for (const incident of plan.incidents) clock.timer(incident.atMs, () => strike(world, incident));
  await clock.advance(plan.durationMs);

  history.add({ kind: "phase", name: "heal" });
  world.healed = true;
  await heal(world);
  await clock.advance(convergeMs);
  if (network.lateCount > 0) await clock.advance(lateMsMost);
  history.add({ kind: "phase", name: "quiet" });
  const lists = [...new Set(plan.ops.filter(({ kind }) => kind === "follow").map(({ list }) => list))];
  // What broke an object is mended: who holds it asks for it anew.
  for (const { holder } of clients) holder?.retry();
  // An answer first: a link whose server's clock was set knows its time again. A connection that died in a sleep may
  // be found out by this very question, which then takes longer.
  const question = lastOp(200);
  const asked = clock.monotonic();
  clients[0]?.act(question);
  do await clock.advance(1_000);
  while (clients[0]?.open.has(question) === true && clock.monotonic() < asked + question.budgetMs);
  for (const [number, list] of lists.entries())
    clients[0]?.act({ ...lastOp(100 + number), kind: "append", list });
  for (const [number, { holder }] of clients.entries()) {
    for (const id of holder?.shelfIds ?? []) {
      clients[number]?.act(lastLook(number, id));
      clients[number]?.act(lastMark(number, id));
    }
    clients[number]?.act({ ...lastOp(500 + number), client: number, kind: "stamp" });
  }
  await clock.advance(20_000);
  // A room fails with the shelf that it needs, which may have been asked for by another program, and later.
  for (const { holder } of clients) holder?.retry("room");
  await clock.advance(40_000);
  for (const { holder } of clients) holder?.look();
  history.add({ kind: "phase", name: "restart" });
  await restartClients(world);
  await clock.advance(convergeMs);
  for (const [number, client] of clients.entries()) client.act(lastOp(number));
  await clock.advance(60_000);

  history.add({ kind: "phase", name: "close" });
  const openKeys = clients.flatMap((client) => [...client.open].map(({ key }) => key));
  for (const client of clients) void client.link?.close();
  for (const lists of world.servers) void lists?.server.close({ within: 1_000 });
  await clock.advance(60_000);
  return {
    plan,
    history,
    ledger: world.ledger,
    timerCount: clock.pendingCount,
    openKeys,
    folders: world.folders.map(({ names }) => names),
    unhandled,
  };
}

/** Who asks now, when all has been well for minutes, must get an answer. */
function lastOp(client: number): Op {
  const id = lastOpId + client;
  return {
    ...{
      id,
      atMs: 0,
      client,
      kind: "read",
      outbox: "none",
      merge: false,
      list: "list0",
      key: `last-${client}`,
    },
    ...{ refuse: 0, thinkMs: 0, budgetMs: 30_000, abortAfterMs: undefined },
  };
}

function strike(world: World, incident: Incident): void {
  const { clock, history, hosts, clients, network, servers, tokens } = world;
  if (world.healed) return;
  const { forMs, ...said } = { forMs: 0, ...incident };
  history.add({ kind: "incident", text: `${JSON.stringify(said)} for ${forMs} ms` });
  const later = (fn: () => void): void => void clock.timer(forMs, fn);
  const host = "host" in incident ? hosts[incident.host] : undefined;
  const client = "client" in incident ? clients[incident.client] : undefined;
  switch (incident.kind) {
    case "crash":
      host?.crash();
      later(() => void host?.start());
      return;
    case "close":
      drain(world, incident.host, incident.withinMs, later);
      return;
    case "deploy":
      world.builds[incident.host] = incident.build;
      if (incident.withinMs !== undefined) drain(world, incident.host, incident.withinMs, later);
      else {
        host?.crash();
        later(() => void host?.start());
      }
      return;
    case "update":
      if (client === undefined) return;
      client.build = incident.build;
      client.kill();
      later(() => client.start());
      return;
    case "pauseServer": {
      const { process } = host ?? {};
      if (process === undefined) return;
      standStill(world, process, true);
      later(() => standStill(world, process, false));
      return;
    }
    case "kill":
      client?.kill();
      later(() => client?.start());
      return;
    case "leave":
      client?.leave();
      later(() => client?.start());
      return;
    case "pauseClient": {
      const { process } = client ?? {};
      process?.pause();
      later(() => process?.resume());
      return;
    }
    case "sleep": {
      const { process } = client ?? {};
      if (process === undefined) return;
      network.block(process, incident.how);
      process.sleep();
      later(() => {
        network.unblock(process);
        process.wake();
        if (incident.told) client?.woken(process);
      });
      return;
    }
    case "revoke":
      host?.process?.run(() => void servers[incident.host]?.server.revoke(incident.person));
      return;
    case "block": {
      const { process } = client ?? {};
      if (process === undefined) return;
      network.block(process, incident.how);
      later(() => network.unblock(process));
      return;
    }
    case "cut":
      if (client?.process !== undefined) network.cut(client.process);
      return;
    case "jumpClient":
      client?.process?.jumpWall(incident.byMs);
      return;
    case "jumpServer":
      host?.process?.jumpWall(incident.byMs);
      return;
    case "tokens":
      tokens.expire();
      return;
    case "person":
      client?.changePerson(client.person === "alice" ? "bob" : "alice");
      return;
    case "loseLock":
      world.folders[world.plan.clients[incident.client]?.folder ?? 0]?.loseLock();
  }
}

function standStill({ history }: World, server: SimulatedProcess, still: boolean): void {
  history.add({ kind: "still", server: server.name, still });
  if (still) server.pause();
  else server.resume();
}

/** A server ends by itself, and is started again. */
function drain(world: World, number: number, withinMs: number, later: (fn: () => void) => void): void {
  const host = world.hosts[number];
  const closing = host?.process;
  void world.servers[number]?.server.close({ within: withinMs }).then(() => {
    if (closing === undefined || host?.process !== closing) return;
    host.crash();
    later(() => void host.start());
  });
}

/** The same of a shelf that it holds. */
function lastLook(client: number, hold: number): Op {
  return { ...lastOp(300 + hold), client, kind: "look", list: `${hold}`, key: `last-look-${hold}` };
}

/** What the second build alone can do there. */
function lastMark(client: number, hold: number): Op {
  return {
    ...lastLook(client, hold),
    ...{ id: lastOpId + 400 + hold, kind: "mark", key: `last-mark-${hold}` },
  };
}

/** Everything that was broken is whole from here on. */
async function heal(world: World): Promise<void> {
  const { plan, builds, hosts, clients, network } = world;
  const refused = plan.builds?.refusesFirst === true && builds.includes(2);
  for (const client of clients) {
    // A program that was leaving may have left with what it goes on with.
    const { process } = client;
    if (process !== undefined) {
      network.unblock(process);
      process.resume();
      process.wake();
    }
    // Whose build is refused, or was, gets the one that nobody refuses.
    if ((refused && client.build === 1) || client.link?.state.value.kind === "refused") {
      client.build = 2;
      client.kill();
    }
    client.start();
  }
  for (const host of hosts) {
    if (host.process !== undefined) standStill(world, host.process, false);
    await host.start();
  }
}

/** Every program is started once more, as its person, and sends what waits. */
async function restartClients({ clients, clock, history }: World): Promise<void> {
  // That one never ends is a finding of its own.
  const resting = clients.filter(({ open }) => open.size === 0);
  for (const client of resting) void client.link?.close();
  await clock.advance(5_000);
  for (const client of resting) {
    client.kill();
    client.start();
    void client.link?.outbox
      .send()
      .catch((error: unknown) =>
        history.add({ kind: "fault", text: `outbox.send failed: ${String(error)}` }),
      );
  }
}
