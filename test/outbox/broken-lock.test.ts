/**
 * What holds when two senders of one outbox send at once, which its lock keeps from happening: the lock is for
 * order and for saving work. That each command runs once is the journal's promise, with or without it.
 *
 * Source: reliability decisions, invariant I12.
 */
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { expect, it, onTestFinished } from "vitest";
import { type Clock, systemClock } from "../../runtime/base/clock.ts";
import { HoldfastError } from "../../runtime/base/errors.ts";
import { systemRandom } from "../../runtime/base/random.ts";
import { headerNames, parseCallHeader } from "../../runtime/call/headers.ts";
import type { Link } from "../../runtime/link/link.ts";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import { nodePlatform } from "../../runtime/node/platform.ts";
import { memoryOutbox } from "../../runtime/outbox/memory-outbox.ts";
import type { OutboxStore } from "../../runtime/outbox/outbox-store.ts";
import { createServer, memoryStore } from "../../server/index.ts";
import { Tally, type TallyHandlers } from "../gen/test/v1/tally_holdfast.ts";
import { startTally, tallyHandlers } from "../support/tally-server.ts";
import { late, withoutLock } from "./outbox-world.ts";

/** A link as a process of its own has it. */
function processOf(url: string, store: OutboxStore, options: LinkOptions = {}): Link {
  const link = createLinkOf(nodePlatform, [])(url, { outbox: { store, atStart: false }, ...options });
  onTestFinished(() => link.close());
  return link;
}

/** Puts commands in, by a process that finds no server at that address. Gives their IDs in their order. */
async function fill(url: string, store: OutboxStore, count: number): Promise<readonly string[]> {
  const link = processOf(url, store);
  const ids: string[] = [];
  for (let amount = 1n; amount <= BigInt(count); amount += 1n) {
    const error: unknown = await link.call(late, { amount }).catch((reason: unknown) => reason);
    if (error instanceof HoldfastError && error.reason === "WAITS_IN_OUTBOX") ids.push(error.callId ?? "");
  }
  await link.close();
  return ids;
}

/** Holds each try of a command until both senders have sent that command, so that every one of them races. */
function pairing() {
  const waiting = new Map<string, () => void>();
  const sent: string[] = [];
  const pair: Interceptor = (next) => async (request) => {
    const { id = "" } = parseCallHeader(request.header.get(headerNames.call) ?? "") ?? {};
    sent.push(id);
    const go = waiting.get(id);
    if (go === undefined) {
      await new Promise<void>((resolve) => {
        waiting.set(id, resolve);
        request.signal.addEventListener("abort", () => resolve(), { once: true });
      });
    } else {
      waiting.delete(id);
      go();
    }
    return next(request);
  };
  return { pair, sent };
}

/** An address at which nobody listens, until the server is started there. */
async function freePort(): Promise<number> {
  const server = await startTally();
  await server[Symbol.asyncDispose]();
  return server.address.port;
}

/** A store as old as commands are that were sent to a server before this one. */
const anHourBehind: Clock = { ...systemClock, now: () => systemClock.now() - 3_600_000 };

it("with the lock broken and two senders each command still runs once, and both learn the same", async () => {
  const store = withoutLock(memoryOutbox());
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const made = await fill(url, store, 8);
  expect(made).toHaveLength(8);

  const ran: string[] = [];
  const add: TallyHandlers["add"] = async ({ amount }, { callId = "" }) => {
    ran.push(callId);
    await new Promise((resolve) => setImmediate(resolve));
    if (amount % 3n === 0n) throw new ConnectError("no third ones", Code.FailedPrecondition);
    return { total: BigInt(ran.length) };
  };
  const server = createServer({ store: memoryStore({ clock: anHourBehind, random: systemRandom }) });
  server.implement(Tally, tallyHandlers({ total: 0n, runs: 0 }, { add }));
  await server.listen({ host: "127.0.0.1", port });
  onTestFinished(() => server.close({ within: 0 }));

  const { pair, sent } = pairing();
  const told: string[][] = [[], []];
  const senders = told.map((list) => {
    const link = processOf(url, store, { interceptors: [pair] });
    link.outbox.onSettled((end) => {
      list.push(`${end.callId} ${end.kind === "reply" ? `reply ${end.reply.join()}` : end.outcome}`);
    });
    return link;
  });
  const reports = await Promise.all(senders.map((link) => link.outbox.send()));

  expect(reports.map(({ waitingCount }) => waitingCount)).toEqual([0, 0]);
  expect(ran).toEqual(made);
  // Both did send each: without that, this test would see nothing.
  expect([...sent].sort()).toEqual([...made, ...made].sort());
  expect(told[0]).toHaveLength(made.length);
  expect(told[1]).toEqual(told[0]);
  expect(told[0]?.map((text, at) => text.startsWith(`${made[at]} re`))).toEqual(made.map(() => true));
});
