/**
 * What goes wrong in one run, drawn from its seed before it begins. Half of the kinds are left out each time
 * (swarm testing), since faults that all happen at once hide one another.
 */
import type { Build } from "./builds.ts";
import type { Fate, SimulatedRequest } from "../../runtime/testing/simulated-fate.ts";
import { wirePath } from "../../runtime/wire/websocket.ts";
import { type SeededRandom, seededRandom } from "../../runtime/testing/seeded-random.ts";

/** The share of requests that each of these happens to. */
export const rateNames = [
  "connectRefused",
  "connectHang",
  "requestLost",
  "requestCut",
  "requestRefused",
  "requestLate",
  "twin",
  "answerLost",
  "answerCut",
  "foreign",
  "slow",
  "bodyCut",
  "wireCut",
  "wireSilent",
] as const;
export type RateName = (typeof rateNames)[number];
export type Rates = Readonly<Record<RateName, number>>;

/** Something that happens at one moment, and may last. */
export type Incident =
  | { readonly kind: "crash"; readonly atMs: number; readonly host: number; readonly forMs: number }
  | {
      readonly kind: "close";
      readonly atMs: number;
      readonly host: number;
      readonly forMs: number;
      readonly withinMs: number;
    }
  | { readonly kind: "pauseServer"; readonly atMs: number; readonly host: number; readonly forMs: number }
  | { readonly kind: "kill"; readonly atMs: number; readonly client: number; readonly forMs: number }
  | { readonly kind: "leave"; readonly atMs: number; readonly client: number; readonly forMs: number }
  | { readonly kind: "pauseClient"; readonly atMs: number; readonly client: number; readonly forMs: number }
  | {
      readonly kind: "sleep";
      readonly atMs: number;
      readonly client: number;
      readonly forMs: number;
      /** What becomes of its packets: a short sleep, or one after which its connections are gone. */
      readonly how: "drop" | "hold";
      /** Whether its platform tells it that it has woken. */
      readonly told: boolean;
    }
  | { readonly kind: "revoke"; readonly atMs: number; readonly host: number; readonly person: string }
  | {
      readonly kind: "block";
      readonly atMs: number;
      readonly client: number;
      readonly forMs: number;
      readonly how: "drop" | "hold";
    }
  | { readonly kind: "cut"; readonly atMs: number; readonly client: number }
  | { readonly kind: "jumpClient"; readonly atMs: number; readonly client: number; readonly byMs: number }
  | { readonly kind: "jumpServer"; readonly atMs: number; readonly host: number; readonly byMs: number }
  | { readonly kind: "tokens"; readonly atMs: number }
  | { readonly kind: "person"; readonly atMs: number; readonly client: number }
  | { readonly kind: "loseLock"; readonly atMs: number; readonly client: number }
  /** A server is stopped, and started as another build. */
  | {
      readonly kind: "deploy";
      readonly atMs: number;
      readonly host: number;
      readonly forMs: number;
      /** Ms that it drains; undefined: it is killed. */
      readonly withinMs: number | undefined;
      readonly build: Build;
    }
  /** The same of a client. */
  | {
      readonly kind: "update";
      readonly atMs: number;
      readonly client: number;
      readonly forMs: number;
      readonly build: Build;
    };

export type IncidentKind = Incident["kind"];
/** Builds change in worlds that have more than one. */
type DrawnKind = Exclude<IncidentKind, "deploy" | "update">;
const incidentKinds: readonly DrawnKind[] = [
  "crash",
  "close",
  "pauseServer",
  "kill",
  "leave",
  "pauseClient",
  "block",
  "cut",
  "jumpClient",
  "jumpServer",
  "tokens",
  "person",
  "loseLock",
  "sleep",
  "revoke",
];

export interface FaultShape {
  readonly durationMs: number;
  readonly clientCount: number;
  readonly hostCount: number;
  /** Kinds that this world cannot have. */
  readonly without: readonly (IncidentKind | RateName)[];
}

export function drawRates(random: SeededRandom, { without }: FaultShape): Rates {
  const draw = (name: RateName): number => {
    const on = random.chance(0.5);
    const rate = 0.3 ** (1 + 2 * random.fraction());
    return on && !without.includes(name) ? rate : 0;
  };
  return Object.fromEntries(rateNames.map((name) => [name, draw(name)])) as Rates;
}

export function drawIncidents(random: SeededRandom, shape: FaultShape): Incident[] {
  const incidents: Incident[] = [];
  for (const kind of incidentKinds) {
    const its = random.fork(kind);
    if (!its.chance(0.5) || shape.without.includes(kind)) continue;
    const count = 1 + its.int(3);
    for (let number = 0; number < count; number++) incidents.push(drawIncident(its, kind, shape));
  }
  return incidents.sort((a, b) => a.atMs - b.atMs);
}

function drawIncident(random: SeededRandom, kind: DrawnKind, shape: FaultShape): Incident {
  const atMs = random.int(shape.durationMs);
  const client = random.int(shape.clientCount);
  const host = random.int(shape.hostCount);
  const forMs = random.chance(0.3) ? random.int(30_000) : random.int(3_000);
  switch (kind) {
    case "crash":
    case "pauseServer":
      return { kind, atMs, host, forMs };
    case "close":
      return { kind, atMs, host, forMs, withinMs: random.pick([0, 500, 5_000]) };
    case "kill":
    case "leave":
    case "pauseClient":
      return { kind, atMs, client, forMs };
    case "block":
      return { kind, atMs, client, forMs, how: random.pick(["drop", "hold"]) };
    case "sleep":
      return { kind, atMs, client, forMs, how: random.pick(["drop", "hold"]), told: random.chance(0.5) };
    case "revoke":
      return { kind, atMs, host, person: random.pick(["alice", "bob"]) };
    case "cut":
    case "loseLock":
    case "person":
      return { kind, atMs, client };
    case "jumpClient":
      return { kind, atMs, client, byMs: jump(random) };
    case "jumpServer":
      return { kind, atMs, host, byMs: jump(random) };
    case "tokens":
      return { kind, atMs };
  }
}

function jump(random: SeededRandom): number {
  const mostMs = random.pick([2_000, 120_000, 48 * 3_600_000]);
  return Math.floor((random.fraction() * 2 - 1) * mostMs);
}

const html = "<html><body>not the server</body></html>";
const foreignAnswers = [
  { status: 502, header: { "content-type": "text/html" }, body: html },
  { status: 503, header: {}, body: "" },
  { status: 404, header: { "content-type": "text/html" }, body: html },
  { status: 403, header: { "content-type": "text/html" }, body: html },
  { status: 200, header: { "content-type": "text/html" }, body: html },
  { status: 429, header: { "retry-after": "1" }, body: "" },
  { status: 200, header: { "content-type": "application/proto" }, body: "" },
  {
    status: 404,
    header: { "content-type": "application/json" },
    body: '{"code":"not_found","message":"no"}',
  },
  {
    status: 400,
    header: { "content-type": "application/json" },
    body: '{"code":"failed_precondition","message":"no"}',
  },
] as const;

/** The fate of one request: the same for a seed, a process and a number, whatever else was left out of the run. */
export function drawFate(seed: number | string, request: SimulatedRequest, rates: Rates): Fate {
  const random = seededRandom(`${seed}/fate/${request.client}/${request.number}`);
  const happens = (name: RateName): boolean => {
    const drawn = random.fraction();
    return drawn < rates[name];
  };
  const late = happens("requestLate");
  const twin = happens("twin");
  const lost = happens("requestLost") || late;
  const cut = happens("requestCut");
  const refused = happens("requestRefused");
  const answerLost = happens("answerLost");
  const answerCut = happens("answerCut");
  const foreign = happens("foreign");
  const slow = happens("slow");
  const connectRefused = happens("connectRefused");
  const connectHang = happens("connectHang");
  const bodyCut = happens("bodyCut");
  const twinMs = random.int(random.pick([50, 3_000, 60_000, 600_000]));
  const foreignAnswer = random.pick(foreignAnswers);
  return {
    latencyMs: slow ? random.int(12_000) : 1 + random.int(40),
    ...(connectRefused ? { connect: "refused" as const } : connectHang ? { connect: "hang" as const } : {}),
    ...(lost
      ? { request: "lost" as const }
      : cut
        ? { request: "cut" as const }
        : refused
          ? { request: "refused" as const }
          : {}),
    ...(answerLost
      ? { answer: "lost" as const }
      : answerCut
        ? { answer: "cut" as const }
        : foreign
          ? { answer: foreignAnswer }
          : {}),
    ...(bodyCut ? { cutAfterChunks: random.int(2) } : {}),
    ...(request.url.endsWith(wirePath) ? drawWireFate(random.fork("wire"), rates) : {}),
    ...((twin || late) && !(refused && !lost && !cut) ? { twinMs } : {}),
  };
}

function drawWireFate(
  random: SeededRandom,
  { wireCut, wireSilent }: Rates,
): Pick<Fate, "cutAfterChunks" | "silentAfterChunks"> {
  const packetCount = random.int(random.pick([4, 40, 400]));
  if (random.chance(wireCut)) return { cutAfterChunks: packetCount };
  return random.chance(wireSilent) ? { silentAfterChunks: packetCount } : {};
}
