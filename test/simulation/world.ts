/** One run: clients, links, servers, stores and a network on one virtual clock, all from one plan. */
import { seededRandom, type SeededRandom } from "../../runtime/testing/seeded-random.ts";
import { type DiskFate, simulatedDisk } from "../../runtime/testing/simulated-disk.ts";
import type { Fate, SimulatedRequest } from "../../runtime/testing/simulated-fate.ts";
import { type SimulatedFolder, simulatedFolder } from "../../runtime/testing/simulated-folder.ts";
import type { SimulatedHost } from "../../runtime/testing/simulated-host.ts";
import { simulatedNetwork, type SimulatedNetwork } from "../../runtime/testing/simulated-network.ts";
import { testOrigin } from "../../runtime/testing/test-link.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { memoryStore, type Store, StoreError } from "../../server/index.ts";
import { type Build, schemaOf } from "./builds.ts";
import { Client } from "./client.ts";
import { drawFate } from "./faults.ts";
import { History } from "./history.ts";
import { Ledger, ledgerStore, type Stage } from "./ledger.ts";
import { type ListsServer, startListsServer } from "./lists-server.ts";
import type { Plan } from "./plan.ts";
import type { StartFate } from "./shelves-server.ts";
import { Tokens } from "./tokens.ts";
import type { HoldPlan } from "./workload.ts";

/** What is left when a run is over. */
export interface WorldEnd {
  readonly plan: Plan;
  readonly history: History;
  readonly ledger: Ledger;
  /** Timers of the clock after everything was closed. */
  readonly timerCount: number;
  /** Operations of living clients that never ended. */
  readonly openKeys: readonly string[];
  /** Entries that are in outboxes still, by folder. */
  readonly folders: readonly (readonly string[])[];
  readonly unhandled: readonly unknown[];
}

const tooMuch = { status: 503, header: {}, body: "" } as const;

export class World {
  readonly plan: Plan;
  readonly clock: VirtualClock = virtualClock();
  readonly history = new History(() => this.clock.monotonic());
  readonly ledger: Ledger;
  readonly hosts: readonly SimulatedHost[];
  readonly clients: readonly Client[];
  readonly network: SimulatedNetwork;
  readonly tokens = new Tokens();
  readonly folders: readonly SimulatedFolder[];
  /** The server of each host, while it runs. */
  readonly servers: (ListsServer | undefined)[] = [];
  /** What each host starts next. */
  readonly builds: Build[];
  healed = false;
  readonly #durableStore: Store<Stage | undefined> | undefined;

  constructor(plan: Plan) {
    this.plan = plan;
    const { clock, history } = this;
    const random = seededRandom(`world/${plan.seed}`);
    this.builds = Array.from({ length: plan.hostCount }, (_, host) => plan.builds?.hosts[host] ?? 1);
    this.ledger = new Ledger((effect) => history.add({ kind: "effect", effect }));
    const room: Fate = plan.wireRoomBytes === undefined ? {} : { roomBytes: plan.wireRoomBytes };
    this.network = simulatedNetwork({
      clock,
      fate: (request) => (this.healed ? room : this.#untilHealed({ ...this.#fateOf(request), ...room })),
      choose: (hosts) => (hosts.length === 0 ? undefined : random.pick(hosts)),
      onEvent: (event) => history.add({ kind: "network", event }),
    });
    if (plan.store === "durable") {
      const inner = memoryStore({ clock, random: random.fork("store") });
      this.#durableStore = ledgerStore(inner, this.ledger, true, plan.hostCount > 1);
    }
    this.hosts = this.#makeHosts(random);
    const folderFates = this.#fates(random.fork("folders"), plan.folderFailRate, 20);
    this.folders = plan.clients.map(() =>
      simulatedFolder({ clock, fate: folderFates, brokenLock: plan.brokenLock }),
    );
    this.clients = plan.clients.map((client, number) => {
      const folder = this.folders[client.folder];
      if (folder === undefined) throw new RangeError("a client has a folder");
      return new Client({
        ...{ clock, network: this.network, folder, history, plan: client, number, beats: plan.beats },
        random: random.fork(`client ${number}`),
        build: plan.builds?.clients[number],
        holds: () => this.#holdsOf(number),
        tokenOf: (person, fresh) => this.tokens.of(person, fresh),
      });
    });
  }

  /** What a client's program holds by now: a process that begins holds it again. */
  #holdsOf(client: number): readonly HoldPlan[] {
    const now = this.clock.monotonic();
    return this.plan.holds.filter(
      (hold) =>
        hold.client === client &&
        hold.atMs <= now &&
        (hold.forMs === undefined || now < hold.atMs + hold.forMs),
    );
  }

  /** A memory store's own gap: a first try that tells its age alone must not be late where calls may be forgotten. */
  #fateOf(request: SimulatedRequest): Fate {
    const { seed, rates, store, windowBytes } = this.plan;
    const drawn = { ...drawFate(seed, request, rates), ...this.#straggling(request) };
    const call = request.header.get("holdfast-call");
    const fate = call !== null && this.#overloaded ? { ...drawn, answer: tooMuch } : drawn;
    if (request.url.endsWith("/Follow") && windowBytes !== undefined) return { ...fate, windowBytes };
    const { twinMs, ...rest } = fate;
    if (twinMs === undefined || store === "durable") return fate;
    return /;t=1;a=\d+$/.test(call ?? "") ? rest : fate;
  }

  get #overloaded(): boolean {
    const { atMs, forMs } = this.plan.overload ?? { atMs: Infinity, forMs: 0 };
    const now = this.clock.monotonic();
    return now >= atMs && now < atMs + forMs;
  }

  #straggling({ client, header }: SimulatedRequest): Fate {
    const now = this.clock.monotonic();
    const one = this.plan.straggling.find(
      ({ client: number, atMs, forMs }) =>
        client.startsWith(`c${number}.`) && atMs <= now && now < atMs + forMs && header.has("holdfast-call"),
    );
    return one === undefined ? {} : { request: "lost", twinMs: one.lateMs };
  }

  /** A connection may live longer than what goes wrong, which is asked for at each packet: what is left is spared. */
  #untilHealed({ silentAfterChunks, cutAfterChunks, ...rest }: Fate): Fate {
    const until = (count = Infinity): number => (this.healed ? Infinity : count);
    return {
      ...rest,

      get silentAfterChunks() {
        return until(silentAfterChunks);
      },
      get cutAfterChunks() {
        return until(cutAfterChunks);
      },
    };
  }

  #fates(random: SeededRandom, failRate: number, msMost: number): () => DiskFate {
    return () => {
      const failing = random.chance(failRate);
      const fail = random.pick(["before", "after"] as const);
      const ms = { durableMs: random.int(msMost + 1), heardMs: random.int(msMost + 1) };
      return failing && !this.healed ? { ...ms, fail } : ms;
    };
  }

  #makeHosts(random: SeededRandom): SimulatedHost[] {
    const { plan, clock, history, ledger } = this;
    const reads = random.fork("reads");
    const disk = simulatedDisk({
      clock,
      fate: this.#fates(random.fork("disk"), plan.diskFailRate, plan.diskMsMost),
      ...(plan.readMsMost === 0 ? {} : { readMs: () => reads.int(plan.readMsMost) }),
      error: (fail) => {
        for (const effect of ledger.staged) history.add({ kind: "doubt", effect, durable: fail === "after" });
        return new StoreError(`simulated: failed ${fail} it was durable`, false);
      },
    });
    const failures = random.fork("handlers");
    const starts = random.fork("starts");
    const ends = random.fork("ends");
    const startOf = (): StartFate => {
      const takesMs = starts.int(plan.startMsMost + 1);
      const fail = starts.pick(["transient", "transient", "broken"] as const);
      const failsAfterMs = starts.int(20_000);
      const fails = (): boolean => starts.chance(plan.startFailRate) && !this.healed;
      return {
        takesMs,
        fail: fails() ? fail : undefined,
        failsAfterMs: fails() ? failsAfterMs : undefined,
        endMs: ends.int(plan.endMsMost + 1),
      };
    };
    return Array.from({ length: plan.hostCount }, (_, number) =>
      this.network.host(
        testOrigin,
        (process) => {
          const store =
            this.#durableStore ??
            ledgerStore(
              memoryStore({
                clock: process.clock,
                random: random.fork(process.name),
                ...(plan.callsPerCallerMost === undefined
                  ? {}
                  : { callsPerCallerMost: plan.callsPerCallerMost }),
              }),
              ledger,
              false,
            );
          const lists = startListsServer(process, {
            ...{ ledger, history },
            store: disk.open(store, process),
            random: random.fork(`server ${process.name}`),
            signInMs: plan.signInMs,
            schema: schemaOf(this.builds[number] ?? 1),
            builds: plan.builds,
            beats: plan.beats,
            personOf: (token) => this.tokens.personOf(token),
            shelves: plan.holds.length === 0 ? undefined : { writers: plan.writers, startOf },
            failureOf: () =>
              failures.chance(plan.handlerFailRate) && !this.healed
                ? failures.pick(["before", "after", "again"] as const)
                : undefined,
          });
          this.servers[number] = lists;
          return lists;
        },
        `s${number}`,
      ),
    );
  }
}
