/** The real loop against the real server's topics, in virtual time, under faults from a seed. */
import { expect, it } from "vitest";
import { createLinkOf } from "../../runtime/link/registry.ts";
import { seededRandom, type SeededRandom } from "../../runtime/testing/seeded-random.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { createServer, memoryStore, type Server } from "../../server/index.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import { harness, type Harness } from "../support/harness.ts";
import { tallyHandlers } from "../support/tally-server.ts";
import { SimulatedNet } from "./simulated-net.ts";

/** A small ring, so that some absences are longer than it. */
const definition = { ...Tally.follow, keepCount: 64, roomCount: 16 };
const readerCount = 4;
const stepCount = 150;
const seedCount = 12;

type Over = "Follow" | "WebSocket";

class SimulatedReader {
  readonly net: SimulatedNet;
  /** The last number that is accounted for, in the topic's life that it is in. */
  at: number | undefined = 0;
  gotCount = 0;
  lostCount = 0;
  restartCount = 0;
  readonly broken: string[] = [];
  readonly over: Promise<void>;
  readonly stop: () => Promise<void>;
  #gate: Promise<void> = Promise.resolve();
  #open: (() => void) | undefined;

  constructor(
    clock: VirtualClock,
    random: SeededRandom,
    server: () => Server | undefined,
    held: Harness,
    over: Over,
  ) {
    this.net = new SimulatedNet(clock, random, server, over);
    const link = held.own(createLinkOf(this.net.platform, [])("http://simulated.test"));
    const stream = link.stream(
      definition,
      {},
      {
        onGap: (gap) => {
          if (gap.$gap === "restarted") {
            this.restartCount += 1;
            this.at = undefined; // where it goes on is the server's to say
          } else {
            this.lostCount += gap.count;
            if (this.at !== undefined) this.at += gap.count;
          }
        },
      },
    );
    this.stop = () => stream.close();
    this.over = (async () => {
      try {
        for await (const { number } of stream) {
          if (this.at !== undefined && Number(number) !== this.at + 1)
            this.broken.push(`got ${number} after ${this.at}`);
          this.at = Number(number);
          this.gotCount += 1;
          await this.#gate;
        }
      } catch (error) {
        this.broken.push(String(error));
      }
    })();
  }

  pause(): void {
    if (this.#open !== undefined) return;
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  heal(): void {
    this.net.refusing = false;
    this.net.silent = false;
    this.net.lateMs = 0;
    this.#open?.();
    this.#open = undefined;
  }
}

/** Closes a server, whose goodbye takes time; then its connections are gone. */
async function closed(
  server: Server | undefined,
  clock: VirtualClock,
  readers: readonly SimulatedReader[],
): Promise<void> {
  let over = false;
  const closing = server?.close({ within: 0 }).then(() => {
    over = true;
  });
  await clock.advance();
  for (const { net } of readers) net.cut();
  const isOver = (): boolean => over;
  while (closing !== undefined && !isOver()) await clock.advance(100);
}

async function run(seed: number, over: Over): Promise<readonly SimulatedReader[]> {
  await using held = harness();
  const clock = virtualClock();
  held.watch(clock);
  const random = seededRandom(seed);
  let server: Server | undefined;
  let published = 0;
  const start = (): void => {
    const made = createServer({
      clock,
      random: random.fork("server"),
      store: memoryStore({ clock, random }),
    });
    made.implement(
      Tally,
      tallyHandlers(
        { total: 0n, runs: 0 },
        { follow: (_, context) => context.follow(made.topic(definition, "all")) },
      ),
    );
    server = made;
    published = 0;
  };
  start();
  const readers = Array.from(
    { length: readerCount },
    (_, at) => new SimulatedReader(clock, random.fork(`reader ${at}`), () => server, held, over),
  );
  await clock.advance();
  for (let step = 0; step < stepCount; step += 1) {
    const topic = server?.topic(definition, "all");
    for (let count = random.int(12); count > 0 && topic !== undefined; count -= 1) {
      published += 1;
      topic.publish({ number: BigInt(published) });
    }
    const reader = random.pick(readers);
    const faults: (() => void)[] = [
      () => reader.net.cut(),
      () => reader.net.goSilent(),
      () => reader.pause(),
      () => {
        reader.net.refusing = true;
        reader.net.cut();
      },
      () => {
        reader.net.lateMs = random.int(400);
      },
    ];
    if (random.chance(0.4)) random.pick(faults)();
    if (random.chance(0.5)) random.pick(readers).heal();
    if (random.chance(0.01)) {
      await closed(server, clock, readers);
      start();
    }
    await clock.advance(random.pick([0, 1, 50, 1_000, 20_000]));
  }
  for (const reader of readers) reader.heal();
  await clock.advance(120_000);
  // All are there: what comes now, everybody gets, and knows where it stands.
  published += 1;
  server?.topic(definition, "all").publish({ number: BigInt(published) });
  await clock.advance(60_000);
  for (const reader of readers) {
    if (reader.at !== published) reader.broken.push(`is at ${reader.at} of ${published}`);
    if (reader.restartCount === 0 && reader.gotCount + reader.lostCount !== published)
      reader.broken.push(`got ${reader.gotCount} and lost ${reader.lostCount} of ${published}`);
    await reader.stop();
    await reader.over;
    expect(reader.net.openCount).toBe(0);
  }
  await closed(server, clock, readers);
  return readers;
}

it.each<Over>(["Follow", "WebSocket"])(
  "over %s each item comes once and in order, or it is said how many are lost, whatever a seed breaks",
  async (over) => {
    const all = { got: 0, lost: 0, restarts: 0, connections: 0 };
    for (let seed = 1; seed <= seedCount; seed += 1) {
      const readers = await run(seed, over);
      expect(
        readers.flatMap(({ broken }) => broken),
        `seed ${seed}`,
      ).toEqual([]);
      for (const reader of readers) {
        all.got += reader.gotCount;
        all.lost += reader.lostCount;
        all.restarts += reader.restartCount;
        all.connections += over === "Follow" ? reader.net.connectionCount : reader.net.socketCount;
      }
    }
    // It looked at what it is about.
    expect(all.lost).toBeGreaterThan(100);
    expect(all.restarts).toBeGreaterThan(10);
    expect(all.connections).toBeGreaterThan(300);
    expect(all.got).toBeGreaterThan(10_000);
  },
  120_000,
);
