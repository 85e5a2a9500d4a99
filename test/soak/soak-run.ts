/**
 * Ten readers follow one durable topic over faulty proxies, while a seed decides what breaks: connections are cut,
 * go silent, stall and crawl, readers stop taking, the server restarts on its file. In the end each reader has
 * accounted for every item.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "../../runtime/base/clock.ts";
import { seededRandom, type SeededRandom } from "../../runtime/testing/seeded-random.ts";
import { createServer, type Server } from "../../server/index.ts";
import { sqliteStore } from "../../server/sqlite/index.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { tallyHandlers } from "../support/tally-server.ts";
import { type SoakReader, soakReader, type SoakStream } from "./reader.ts";

export interface SoakOptions {
  readonly itemCount: number;
  readonly seed: number;
  /** Default 10. */
  readonly readerCount?: number;
  readonly onProgress?: (text: string) => void;
}

export interface SoakResult {
  readonly itemCount: number;
  readonly seed: number;
  /** Of all readers together. */
  readonly gotCount: number;
  readonly lostCount: number;
  /** How often each kind of fault was switched on. */
  readonly faultCounts: Readonly<Record<string, number>>;
  readonly connectionCount: number;
  readonly seconds: number;
  /** Broken promises; empty: the run is good. */
  readonly broken: readonly string[];
}

/** Signs each 200 ms, dead after 600: a silent connection is found out in a moment. */
const definition: SoakStream = { ...Tally.follow, idleMs: 600 };
/** The publisher waits for the readers, but for outages that are longer than what the ring keeps. */
const aheadCountMost = 700;
const waveCountMost = 256;
/** All readers must be at the end this long after the last fault. */
const endWaitMs = 60_000;

export async function soak(options: SoakOptions): Promise<SoakResult> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-soak-"));
  const world = new World(options, join(folder, "soak.db"));
  try {
    return await world.run();
  } finally {
    await world.close();
    rmSync(folder, { recursive: true });
  }
}

class World {
  readonly #options: SoakOptions;
  readonly #random: SeededRandom;
  readonly #file: string;
  readonly #faultCounts: Record<string, number> = {};
  #server: Server | undefined;
  #port = 0;
  #readers: SoakReader[] = [];
  #published = 0;

  constructor(options: SoakOptions, file: string) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#file = file;
  }

  async run(): Promise<SoakResult> {
    const { itemCount, seed, readerCount = 10, onProgress } = this.#options;
    const begunAt = systemClock.monotonic();
    await this.#start();
    for (let count = 1; count <= readerCount; count += 1) {
      this.#readers.push(await soakReader(`reader ${count}`, this.#port, definition));
    }
    await Promise.all(this.#readers.map((reader) => reader.opened));
    let toldAt = 0;
    while (this.#published < itemCount) {
      await this.#wave(Math.min(itemCount - this.#published, 1 + this.#random.int(waveCountMost)));
      await this.#maybeFault();
      if (onProgress !== undefined && this.#published - toldAt >= 10_000) {
        toldAt = this.#published;
        onProgress(`${this.#published} items`);
      }
    }
    await this.#heal();
    const broken = [...(await this.#ends()), ...this.#readers.flatMap(({ faults }) => faults)];
    return {
      itemCount,
      seed,
      gotCount: sum(this.#readers, ({ gotCount }) => gotCount),
      lostCount: sum(this.#readers, ({ lostCount }) => lostCount),
      faultCounts: this.#faultCounts,
      connectionCount: sum(this.#readers, ({ proxy }) => proxy.openedCount),
      seconds: Math.round((systemClock.monotonic() - begunAt) / 1000),
      broken,
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader[Symbol.asyncDispose]()));
    await this.#server?.close({ within: 0 });
  }

  async #start(): Promise<void> {
    const server = createServer({ store: sqliteStore(this.#file) });
    const follow = (_: unknown, context: { follow: (topic: ReturnType<World["topic"]>) => unknown }): never =>
      context.follow(this.topic(server)) as never;
    server.implement(Tally, tallyHandlers({ total: 0n, runs: 0 }, { follow: follow as never }));
    this.#port = (await server.listen({ host: "127.0.0.1", port: this.#port })).port;
    this.#server = server;
  }

  topic(server: Server) {
    return server.topic(Tally.follow, "soak", { durable: true });
  }

  /** Publishes some items, in order, as one group of commits. */
  async #wave(count: number): Promise<void> {
    const server = this.#server;
    if (server === undefined) throw new Error("the server is away");
    const topic = this.topic(server);
    const first = this.#published + 1;
    const numbers = Array.from({ length: count }, (_, index) => BigInt(first + index));
    await Promise.all(numbers.map((number) => topic.publish({ number })));
    this.#published += count;
    // Most of the time nobody falls behind what the ring keeps.
    const patient = this.#random.chance(0.9);
    while (patient && this.#readers.some((reader) => this.#published - reader.at > aheadCountMost)) {
      await this.#heal();
      await sleep(systemClock, 5);
      if (this.#readers.some(({ faults }) => faults.length > 0)) return;
    }
  }

  async #heal(): Promise<void> {
    for (const reader of this.#readers) {
      await reader.proxy.heal();
      reader.resume();
    }
  }

  async #maybeFault(): Promise<void> {
    if (!this.#random.chance(0.5)) return;
    const names = Object.keys(faults);
    const name = this.#random.chance(0.02) ? "restart" : this.#random.pick(names);
    this.#faultCounts[name] = (this.#faultCounts[name] ?? 0) + 1;
    if (name === "restart") {
      // Some restarts say goodbye, some do not have the time.
      await this.#server?.close({ within: this.#random.chance(0.5) ? 200 : 0 });
      await this.#start();
      return;
    }
    const reader = this.#random.pick(this.#readers);
    await faults[name]?.(reader, this.#random);
    if (this.#random.chance(0.3)) await sleep(systemClock, this.#random.int(30));
    if (this.#random.chance(0.7)) {
      await reader.proxy.heal();
      reader.resume();
    }
  }

  /** What is wrong in the end; waits until all is well. */
  async #ends(): Promise<readonly string[]> {
    const until = systemClock.monotonic() + endWaitMs;
    const behind = (): readonly SoakReader[] => this.#readers.filter(({ at }) => at !== this.#published);
    while (behind().length > 0 && systemClock.monotonic() < until) await sleep(systemClock, 20);
    return behind().map(({ at, gotCount, lostCount }) => {
      return `a reader is at ${at} of ${this.#published}: got ${gotCount}, lost ${lostCount}`;
    });
  }
}

type Fault = (reader: SoakReader, random: SeededRandom) => Promise<void> | void;

const faults: Readonly<Record<string, Fault>> = {
  reset: ({ proxy }) => proxy.cut("reset"),
  "end in good order": ({ proxy }) => proxy.cut("end"),
  "half-open": ({ proxy }) => proxy.goSilent(),
  "replies lost": ({ proxy }) => {
    proxy.replies.lost = true;
  },
  stall: ({ proxy }) => proxy.replies.stall(),
  lag: ({ proxy }, random) => {
    proxy.replies.delayMs = random.int(50);
  },
  slices: ({ proxy }) => {
    proxy.replies.sliceBytes = 7;
  },
  "cut in the middle": ({ proxy }, random) => {
    proxy.replies.cutAfterBytes = random.int(2_000);
  },
  refused: async ({ proxy }) => {
    await proxy.refuse();
    proxy.cut();
  },
  "slow reader": (reader) => reader.pause(),
};

function sum<T>(list: readonly T[], of: (one: T) => number): number {
  return list.reduce((total, one) => total + of(one), 0);
}
