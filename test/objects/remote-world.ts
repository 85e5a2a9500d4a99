/** Two hosts with a wire between them, in virtual time whatever the wire is. */
import { expect } from "vitest";
import { createHost, type Host } from "../../runtime/hold/host.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { CodecName } from "../../runtime/wire/handshake.ts";
import type { ConnectedWire } from "../../runtime/hold/connect-wire.ts";
import type { AcceptedWire } from "../../runtime/hold/accept-wire.ts";
import { type Pipe, Traffic, type TracedWire } from "./pipes.ts";
import { type ObjectWorld, recordedLog, type World, type WorldOptions } from "./world.ts";

/** A world whose wire a test may look at, break and slow down. */
export interface RemoteWorld extends ObjectWorld {
  readonly holder: Host;
  readonly link: NonNullable<ObjectWorld["link"]>;
  readonly traffic: Traffic;
  /** Both ends of the wire that was opened last. */
  readonly ends: () => { readonly holder: TracedWire; readonly provider: TracedWire };
  /** The provider's view of it. */
  readonly accepted: () => AcceptedWire;
  readonly connected: () => ConnectedWire;
}

export interface RemoteKind extends World {
  create(options?: WorldOptions): Promise<RemoteWorld>;
}

/** Turns without anything new after which nothing more comes. */
const quietTurns = 6;

export function remoteKind(pipe: Pipe, codec: CodecName): RemoteKind {
  return {
    name: `two hosts over ${pipe.name} with ${codec}`,
    create: (options) => make(pipe, codec, options),
  };
}

async function make(pipe: Pipe, codec: CodecName, options: WorldOptions = {}): Promise<RemoteWorld> {
  const clock = virtualClock();
  const { log, errors } = recordedLog();
  const { load, readyTimeoutMs, caller = { by: undefined, grants: [] } } = options;
  const ready = readyTimeoutMs === undefined ? {} : { readyTimeoutMs };
  const provider = createHost({
    clock,
    random: seededRandom(7),
    log,
    ...ready,
    ...(load === undefined ? {} : { load }),
  });
  const holder = createHost({ clock, random: seededRandom(8), log, connects: true, ...ready });
  const traffic = new Traffic();
  let mine: TracedWire | undefined;
  let theirs: TracedWire | undefined;
  let accepted: AcceptedWire | undefined;
  let connected: ConnectedWire | undefined;
  const end = await pipe.listen((wire) => {
    theirs = traffic.trace(wire, false);
    accepted = provider.accept(theirs, { principal: caller });
  }, clock);
  const settle = (): Promise<void> => quiet(traffic, clock);
  const link: RemoteWorld["link"] = {
    async drop() {
      mine?.cut(new Error("cut by the test"));
      while (traffic.openCount > 0) await turn();
      await settle();
    },
    async connect() {
      const before = theirs;
      mine = traffic.trace(await end.open(), true);
      connected = holder.connect(mine, { codec });
      while (theirs === undefined || theirs === before) await turn();
      mine.other = theirs;
      theirs.other = mine;
      await connected.opened;
      await settle();
    },
  };
  await link.connect();
  return {
    clock: slowed(clock, settle),
    provider,
    holder,
    link,
    errors,
    traffic,
    ends: () => both(mine, theirs),
    accepted: () => there(accepted),
    connected: () => there(connected),
    settle,
    async [Symbol.asyncDispose]() {
      const closed = Promise.all([holder.close(), provider.close()]);
      await slowed(clock, settle).advance(120_000);
      await closed;
      await end.close();
      expect(clock.pendingCount, "timers that are left").toBe(0);
    },
  };
}

function both(
  holder: TracedWire | undefined,
  provider: TracedWire | undefined,
): { readonly holder: TracedWire; readonly provider: TracedWire } {
  return { holder: there(holder), provider: there(provider) };
}

function there<T>(thing: T | undefined): T {
  if (thing === undefined) throw new Error("no wire was opened yet");
  return thing;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Waits until nothing is under way and nothing new is said. */
export async function quiet(traffic: Traffic, clock: VirtualClock): Promise<void> {
  let seen = traffic.events;
  for (let count = 0; count < quietTurns; count++) {
    await clock.settle();
    await turn();
    if (traffic.events === seen && traffic.underWay === 0) continue;
    seen = traffic.events;
    count = -1;
  }
}

/** The clock, with time for what goes over the wire between two timers. */
export function slowed(clock: VirtualClock, settle: () => Promise<void>): VirtualClock {
  const advance = async (ms = 0): Promise<void> => {
    const end = clock.monotonic() + ms;
    await settle();
    while (clock.next !== undefined && clock.next <= end) {
      await clock.advance(Math.max(0, clock.next - clock.monotonic()));
      await settle();
    }
    await clock.advance(end - clock.monotonic());
    await settle();
  };
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    timer: (delayMs, fn, timerOptions) => clock.timer(delayMs, fn, timerOptions),
    advance,
    async advanceToNext() {
      if (clock.next === undefined) return false;
      await advance(Math.max(0, clock.next - clock.monotonic()));
      return true;
    },
    jumpWall: (ms) => clock.jumpWall(ms),
    sleepLaptop: (ms) => clock.sleepLaptop(ms),
    settle,
    get pendingCount() {
      return clock.pendingCount;
    },
    get next() {
      return clock.next;
    },
  };
}
