/** One run, decided before it begins: a pure value, so that a failing one can be made smaller. */
import { type BuildsPlan, drawBuilds } from "./build-plan.ts";
import type { OutboxMode } from "../../runtime/base/definition.ts";
import { type SeededRandom, seededRandom } from "../../runtime/testing/seeded-random.ts";
import {
  drawIncidents,
  drawRates,
  type FaultShape,
  type Incident,
  type IncidentKind,
  type Rates,
} from "./faults.ts";
import {
  drawCrowd,
  drawHoldOps,
  drawHolds,
  drawOps,
  drawOverloadOps,
  drawRush,
  type HoldPlan,
  type Op,
  type OpKind,
  type Overload,
  type WorkloadShape,
} from "./workload.ts";
import { type Straggling, withRareParts } from "./rare.ts";

/** A client: the processes of one program, one after the other. */
export interface ClientPlan {
  /** Who is signed in; undefined: nobody. */
  readonly person: string | undefined;
  /** Which folder its outbox is in; clients of one person may share one. */
  readonly folder: number;
  readonly format: "binary" | "json";
  /** Which way its calls go, and how a wire's packets are packed. */
  readonly calls: "http" | "auto" | "wire";
  readonly codec: "msgpack" | "json";
  /** Whether its streams share one WebSocket, as in a browser. */
  readonly sharedStreams: boolean;
}

export type { HoldPlan };

export interface Plan {
  readonly seed: number;
  /** `memory`: forgets with its process. `durable`: survives it. */
  readonly store: "memory" | "durable";
  /** Servers behind one address; more than one share their store. */
  readonly hostCount: number;
  readonly clients: readonly ClientPlan[];
  readonly durationMs: number;
  readonly ops: readonly Op[];
  readonly rates: Rates;
  readonly incidents: readonly Incident[];
  /** The share of writes of the server's store, and of outboxes, that fail. */
  readonly diskFailRate: number;
  readonly folderFailRate: number;
  /** Ms that a write takes at most. */
  readonly diskMsMost: number;
  readonly brokenLock: boolean;
  /** The share of handler runs that fail with a fault. */
  readonly handlerFailRate: number;
  /** Ms that a look at what is kept takes at most. */
  readonly readMsMost: number;
  /** Calls that a memory store keeps for one caller. */
  readonly callsPerCallerMost: number | undefined;
  readonly overload: Overload | undefined;
  /** Undefined: all are of the first build. */
  readonly builds: BuildsPlan | undefined;
  /** What clients hold; none in most worlds, since they cost less. */
  readonly holds: readonly HoldPlan[];
  /** The share of activations that fail, or fail later. */
  readonly startFailRate: number;
  /** Ms that an activation takes at most. */
  readonly startMsMost: number;
  /** Ms that the end of an activation takes at most. */
  readonly endMsMost: number;
  /** Bytes of a stream over HTTP that may wait for its reader; undefined: as many as a network has room for. */
  readonly windowBytes: number | undefined;
  /** Whether clients give signs of life. */
  readonly beats: boolean;
  /** Ms for which a sign-in counts; undefined: for ever. */
  readonly signInMs: number | undefined;
  /** Who may write on what it holds. */
  readonly writers: "everybody" | "signedIn" | "alice";
  /** With more than so many bytes unsent a wire is full, also when all is well; undefined: it has room for all. */
  readonly wireRoomBytes: number | undefined;
  readonly straggling: readonly Straggling[];
}

const allKinds: readonly OpKind[] = ["append", "whisper", "pay", "send", "shout", "read", "poke", "follow"];

/** Left out unless they are asked for, since they find what is known and not mended. */
export const knownKinds: readonly IncidentKind[] = [];

/** @param without - kinds of incidents that do not occur. */
export function drawPlan(seed: number, without: readonly IncidentKind[] = knownKinds): Plan {
  const random = seededRandom(`simulation/${seed}`);
  const store = random.chance(0.3) ? "memory" : "durable";
  const hostCount = store === "durable" && random.chance(0.25) ? 2 : 1;
  const clients = drawClients(random.fork("clients"));
  const durationMs = 5_000 + random.int(60_000);
  const workload = drawWorkload(random.fork("shape"), { clientCount: clients.length, durationMs, hostCount });
  const holding = drawHolding(random.fork("holding"), workload, hostCount);
  const shape: FaultShape = {
    durationMs,
    clientCount: clients.length,
    hostCount,
    // A memory store whose server's clock goes back cannot tell old calls from new ones.
    without: store === "memory" ? ["jumpServer", ...without] : without,
  };
  const drawn = drawBuilds(random.fork("builds"), { ...shape, ...holding });
  const incidents = withinOneAccount(
    [...drawIncidents(random.fork("incidents"), shape), ...(drawn?.incidents ?? [])],
    clients,
  );
  const rest = random.fork("rest");
  const windows = random.fork("window");
  const windowBytes = windows.pick([undefined, undefined, 100]);
  const rushes = windowBytes !== undefined && hostCount === 1 && windows.chance(0.3);
  const overloads = random.fork("overload");
  const overload = overloads.chance(0.04)
    ? { atMs: overloads.int(durationMs), forMs: 5_000 + overloads.int(20_000) }
    : undefined;
  const some = (chance: number, value: number): number => (rest.chance(chance) ? value : 0);
  const plain: Plan = {
    seed,
    store,
    hostCount,
    clients,
    durationMs,
    ops: [
      ...drawOps(random.fork("ops"), workload),
      ...drawCrowd(random.fork("crowd"), workload, incidents),
      ...(rushes ? drawRush(windows, workload) : []),
      ...(overload === undefined ? [] : drawOverloadOps(overloads, workload, overload)),
      ...drawHoldOps(random.fork("held"), holding.holds, durationMs),
      ...(drawn?.ops ?? []),
    ],
    rates: drawRates(random.fork("rates"), shape),
    incidents,
    diskFailRate: some(0.2, 0.05),
    folderFailRate: some(0.2, 0.05),
    diskMsMost: rest.pick([1, 20, 500]),
    beats: hostCount === 1 && random.fork("beats").chance(0.25),
    signInMs: random.fork("sign-ins").pick([undefined, undefined, 15_000, 70_000, 300_000]),
    windowBytes,
    overload,
    builds: drawn?.builds,
    readMsMost: random.fork("reads").pick([0, 0, 50]),
    brokenLock: rest.chance(0.15),
    handlerFailRate: some(0.3, 0.1),
    callsPerCallerMost: store === "memory" && rest.chance(0.4) ? 1 + rest.int(6) : undefined,
    ...holding,
    wireRoomBytes: undefined,
    straggling: [],
  };
  const plan = withRareParts(random.fork("rare"), plain);
  return { ...plan, incidents: withinOneAccount(plan.incidents, clients) };
}

/** Objects are in the memory of one server: where two stand behind one address, nobody holds any. */
function drawHolding(
  random: SeededRandom,
  workload: WorkloadShape,
  hostCount: number,
): Pick<Plan, "holds" | "startFailRate" | "startMsMost" | "endMsMost" | "writers"> {
  const holds = hostCount === 1 && random.chance(0.35) ? drawHolds(random, workload) : [];
  return {
    holds,
    startFailRate: random.chance(0.4) ? 0.2 : 0,
    startMsMost: random.pick([0, 30, 3_000]),
    writers: random.chance(0.7) ? "everybody" : "signedIn",
    endMsMost: random.fork("ends").pick([0, 0, 400]),
  };
}

/**
 * An outbox belongs to an account, and a process cannot know in whose name another one has sent from it. So only a
 * link that has its folder alone, and lives on, sees another person sign in.
 */
function withinOneAccount(incidents: readonly Incident[], clients: readonly ClientPlan[]): Incident[] {
  return incidents.filter((incident) => {
    if (incident.kind !== "person") return true;
    const folder = clients[incident.client]?.folder;
    const alone = clients.filter((client) => client.folder === folder).length === 1;
    return (
      alone &&
      !incidents.some(
        ({ kind, ...rest }) =>
          (kind === "kill" || kind === "leave" || kind === "update") &&
          "client" in rest &&
          rest.client === incident.client,
      )
    );
  });
}

/** In half of all worlds everything goes over HTTP: they cost less. */
function drawWays(random: SeededRandom): Pick<ClientPlan, "calls" | "codec" | "sharedStreams"> {
  return {
    calls: random.pick(["http", "auto", "auto", "wire"]),
    codec: random.pick(["msgpack", "json"]),
    sharedStreams: random.chance(0.5),
  };
}

const overHttp = { calls: "http", codec: "msgpack", sharedStreams: false } as const;

function drawClients(random: SeededRandom): ClientPlan[] {
  const ways = random.fork("ways");
  const wires = ways.chance(0.5);
  const clients: ClientPlan[] = [];
  const count = 1 + random.int(4);
  for (let number = 0; number < count; number++) {
    const person = random.pick(["alice", "bob", undefined]);
    const shared = clients.find((one) => one.person === person && person !== undefined);
    clients.push({
      person,
      folder: shared !== undefined && random.chance(0.6) ? shared.folder : number,
      format: random.pick(["binary", "json"]),
      ...(wires ? drawWays(ways) : overHttp),
    });
  }
  return clients;
}

function drawWorkload(
  random: SeededRandom,
  { clientCount, durationMs, hostCount }: { clientCount: number; durationMs: number; hostCount: number },
): WorkloadShape {
  // What has effects elsewhere, or is remembered in memory alone, is promised by one server at a time.
  const alone: readonly OpKind[] = ["pay", "send", "shout", "follow"];
  const possible = allKinds.filter((kind) => hostCount === 1 || !alone.includes(kind));
  const kinds = possible.filter((kind) => kind === "append" || random.chance(0.5));
  const outboxes = (["none", "late", "early"] as const satisfies OutboxMode[]).filter(
    (mode) => mode === "none" || random.chance(0.5),
  );
  return {
    clientCount,
    durationMs,
    kinds,
    outboxes,
    opCount: 4 + random.int(36),
    listCount: 1 + random.int(3),
    thinkMsMost: random.pick([0, 30, 2_000]),
    mergeRate: random.pick([0, 0.3]),
    refuseRate: random.pick([0, 0.2]),
    abortRate: random.pick([0, 0, 0.1]),
    burstRate: random.fraction() * 0.8,
  };
}
