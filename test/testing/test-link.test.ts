/** What holdfast/testing gives to users' tests: a real link and a real server, a network that breaks, processes that die. */
import { createConnectRouter } from "@connectrpc/connect";
import {
  type Fate,
  simulatedDisk,
  simulatedFolder,
  type SimulatedHost,
  simulatedNetwork,
  type SimulatedNetwork,
  simulatedProcess,
  testLink,
  type TestLinkOptions,
  testOrigin,
  type VirtualClock,
  virtualClock,
} from "holdfast/testing";
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../runtime/base/errors.ts";
import { createServer, memoryStore } from "../../server/index.ts";
import { Tally, type TallyClient, tallyClient } from "../gen/test/v1/tally_holdfast.ts";
import { type Count, tallyHandlers } from "../support/tally-server.ts";

interface World {
  readonly clock: VirtualClock;
  readonly network: SimulatedNetwork;
  readonly host: SimulatedHost;
  readonly count: Count;
  fate: Fate;
  client(options?: TestLinkOptions): TallyClient;
}

async function world(): Promise<World> {
  const clock = virtualClock();
  const count: Count = { total: 0n, runs: 0 };
  const made = { clock, count, fate: {} as Fate };
  const network = simulatedNetwork({ clock, fate: () => made.fate });
  const store = memoryStore({ clock });
  const disk = simulatedDisk({ clock });
  const host = network.host(testOrigin, (process) => {
    // What is in the store outlives the server; closing it does not end it.
    const kept = disk.open(store, process);
    const server = createServer({ clock: process.clock, store: kept }).implement(Tally, tallyHandlers(count));
    const router = createConnectRouter();
    server.routes(router);
    return { handlers: router.handlers };
  });
  await host.start();
  return Object.assign(made, {
    network,
    host,
    client: (options: TestLinkOptions = {}) => tallyClient(testLink(network, options).link),
  });
}

describe("a link over a simulated network", () => {
  it("gets its reply from a real server", async () => {
    const { clock, client } = await world();
    const reply = client().add({ amount: 2n });
    await clock.advance(10);
    expect((await reply).total).toBe(2n);
  });

  it("whose answer is lost gets the one that was kept", async () => {
    const its = await world();
    its.fate = { answer: "cut" };
    const reply = its.client().add({ amount: 2n });
    await its.clock.advance(10);
    its.fate = {};
    await its.clock.advance(5_000);
    expect((await reply).total).toBe(2n);
    expect(its.count.runs).toBe(1);
  });

  it("waits while its server is gone, and goes on with the next one", async () => {
    const { clock, client, host } = await world();
    host.crash();
    const reply = client({ timing: { budgetMs: 20_000 } }).add({ amount: 2n });
    await clock.advance(3_000);
    await host.start();
    await clock.advance(10_000);
    expect((await reply).total).toBe(2n);
  });

  it("hears nothing of a write that a crash has overtaken, and runs it again", async () => {
    const { clock, client, host, count } = await world();
    await clock.advance(10_000); // its store is older than the call, whatever a client may be wrong about the time
    const reply = client().add({ amount: 2n });
    await clock.advance(2); // the handler has run, and its reply is not durable yet
    expect(count.runs).toBe(1);
    host.crash();
    await host.start();
    await clock.advance(10_000);
    await reply;
    expect(count.runs).toBe(2);
  });

  it("meets a copy of its request, which runs nothing", async () => {
    const its = await world();
    its.fate = { twinMs: 60_000 };
    const reply = its.client().add({ amount: 2n });
    await its.clock.advance(100_000);
    await reply;
    expect(its.count.runs).toBe(1);
    expect(its.network.lateCount).toBe(0);
  });

  it("that is off the network times out on what was open, and connects anew", async () => {
    const { clock, network, client } = await world();
    const process = simulatedProcess(clock, "client");
    const tally = client({ process });
    const first = tally.read({});
    await clock.advance(10);
    await first;
    network.block(process, "drop");
    const reply = tally.add({ amount: 1n });
    await clock.advance(1_000);
    network.unblock(process);
    await clock.advance(25_000);
    expect((await reply).total).toBe(1n);
  });
});

it("a command of a process that was killed is sent by the next one", async () => {
  const { clock, network, host, count } = await world();
  host.crash();
  const folder = simulatedFolder({ clock });
  const first = simulatedProcess(clock, "first");
  const before = testLink(network, { process: first, outbox: { store: folder.open(first) } });
  const call = before.link.call({ ...Tally.add, outbox: "early" }, { amount: 3n });
  call.catch((error: unknown) => expect(error).toBeInstanceOf(HoldfastError));
  await clock.advance(5);
  first.kill();
  expect(folder.names).toHaveLength(1);
  await host.start();
  const second = simulatedProcess(clock, "second");
  const after = testLink(network, { process: second, outbox: { store: folder.open(second) } });
  await clock.advance(60_000);
  expect(after.link.outbox.entries.value).toEqual([]);
  expect(count.total).toBe(3n);
});

it("a paused process hears late what came meanwhile, in its order", async () => {
  const clock = virtualClock();
  const process = simulatedProcess(clock);
  const heard: number[] = [];
  process.clock.timer(10, () => heard.push(1));
  process.clock.timer(20, () => heard.push(2));
  process.pause();
  await clock.advance(100);
  expect(heard).toEqual([]);
  process.resume();
  expect(heard).toEqual([1, 2]);
  process.clock.timer(10, () => heard.push(3));
  process.kill();
  await clock.advance(100);
  expect(heard).toEqual([1, 2]);
});
