/** A real server behind a faulty proxy, and a real link of Node to it, with waits short enough for tests. */
import { Code } from "@connectrpc/connect";
import { expect } from "vitest";
import { HoldfastError } from "../../runtime/base/errors.ts";
import type { Link } from "../../runtime/link/link.ts";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import type { LinkState } from "../../runtime/link/link-state.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import { type NodeLinkOptions, nodePlatform } from "../../runtime/node/platform.ts";
import { type FaultyProxy, faultyProxy } from "../../runtime/testing/node.ts";
import type { ServerOptions } from "../../server/index.ts";
import { type TallyClient, type TallyHandlers, tallyClient } from "../gen/test/v1/tally_holdfast.ts";
import { type Harness, harness } from "./harness.ts";
import { startTally, type TallyServer } from "./tally-server.ts";

export const shortTiming = {
  tryWaitMs: 300,
  connectWaitMs: 150,
  firstWaitMs: 20,
  waitMsMost: 100,
  budgetMs: 8_000,
  shortBudgetMs: 1_000,
} as const;

export interface SocketWorld extends AsyncDisposable {
  readonly harness: Harness;
  readonly server: TallyServer;
  readonly proxy: FaultyProxy;
  readonly link: Link;
  readonly client: TallyClient;
  readonly states: readonly LinkState[];
}

export async function socketWorld(
  options: LinkOptions & NodeLinkOptions = {},
  serverOptions: ServerOptions & { readonly handlers?: Partial<TallyHandlers> } = {},
): Promise<SocketWorld> {
  const held = harness();
  const server = held.own(await startTally(serverOptions));
  const proxy = held.own(await faultyProxy({ target: { port: server.address.port } }));
  const linkOf = createLinkOf(nodePlatform, ["httpVersion", "tls"]);
  const link = held.own(linkOf(proxy.origin, { timing: shortTiming, ...options }));
  const states: LinkState[] = [link.state.value];
  link.state.subscribe((state) => states.push(state));
  return {
    harness: held,
    server,
    proxy,
    link,
    client: tallyClient(link),
    states,
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

/** The error of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<HoldfastError> {
  const error: unknown = await call.then(
    () => expect.unreachable("the call must fail"),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(HoldfastError);
  return error as HoldfastError;
}

/**
 * That a call ends with its budget: not before it, and at most 50 ms after a timer of the system for the same
 * time, which is as late as this machine is busy.
 */
export async function endsWithBudget(
  budgetMs: number,
  call: (timeoutMs: number) => Promise<unknown>,
): Promise<HoldfastError> {
  const start = performance.now();
  const timer = new Promise<number>((resolve) => setTimeout(() => resolve(performance.now()), budgetMs));
  const error = await failureOf(call(budgetMs));
  const end = performance.now();
  expect(error.code).toBe(Code.DeadlineExceeded);
  expect(end - start).toBeGreaterThanOrEqual(budgetMs - 2);
  expect(end - (await timer)).toBeLessThanOrEqual(50);
  return error;
}

/** Resolves when the link is in this state. */
export async function stateOf(link: Link, kind: LinkState["kind"]): Promise<LinkState> {
  for await (const state of link.state) if (state.kind === kind) return state;
  return expect.unreachable(`the link closed before it was ${kind}`);
}
