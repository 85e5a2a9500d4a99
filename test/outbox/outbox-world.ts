/** Links with an outbox over scripted HTTP in virtual time; several links stand for several processes. */
import type { CommandDefinition } from "../../runtime/base/definition.ts";
import { HoldfastError } from "../../runtime/base/errors.ts";
import type { Log } from "../../runtime/base/log.ts";
import type { Link } from "../../runtime/link/link.ts";
import type { LinkOptions } from "../../runtime/link/link-options.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import { memoryOutbox } from "../../runtime/outbox/memory-outbox.ts";
import { Outbox } from "../../runtime/outbox/outbox.ts";
import type { OutboxStore } from "../../runtime/outbox/outbox-store.ts";
import type { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { Tally } from "../gen/test/v1/tally_holdfast.ts";
import type { AddRequestSchema, AddResponseSchema } from "../gen/test/v1/tally_pb.ts";
import { harness } from "../support/harness.ts";
import { type Answers, answersOf, type ScriptedHttp, scriptedHttp } from "../support/scripted-http.ts";

type Add = CommandDefinition<typeof AddRequestSchema, typeof AddResponseSchema>;

export const none: Add = Tally.add;
export const late: Add = { ...Tally.add, outbox: "late" };
export const early: Add = { ...Tally.add, outbox: "early" };
export const merging: Add = { ...Tally.add, outbox: "late", merge: true };

/** The same store with a lock that everybody gets who asks. */
export function withoutLock(store: OutboxStore): OutboxStore {
  const lost = new AbortController().signal;
  return { ...store, lock: async () => ({ lost, release: async () => undefined }) };
}

export interface OutboxWorld extends AsyncDisposable {
  readonly http: ScriptedHttp;
  readonly clock: VirtualClock;
  readonly answers: Answers;
  readonly store: OutboxStore;
  readonly warnings: readonly string[];
  /** A link as a process of its own has it: another registry, the same store. */
  process(options?: LinkOptions, url?: string): Link;
  /** Moves time until the promise has its result. */
  settled<T>(promise: Promise<T>, withinMs?: number): Promise<T>;
  failure(promise: Promise<unknown>, withinMs?: number): Promise<HoldfastError>;
}

export function outboxWorld(store: OutboxStore = memoryOutbox()): OutboxWorld {
  const held = harness();
  const http = scriptedHttp(1);
  const { clock } = http;
  held.watch(clock);
  const warnings: string[] = [];
  const warn = (text: string): void => void warnings.push(text);
  const log: Log = { info: () => undefined, warn, error: warn };
  const settled = async <T>(promise: Promise<T>, withinMs = 3_600_000): Promise<T> => {
    const state = { over: false };
    const mark = (): void => {
      state.over = true;
    };
    promise.then(mark, mark);
    const end = clock.monotonic() + withinMs;
    await clock.advance();
    while (!state.over) {
      if (clock.next === undefined || clock.next > end) throw new Error(`no result within ${withinMs} ms`);
      await clock.advanceToNext();
    }
    return promise;
  };
  return {
    http,
    clock,
    answers: answersOf(clock),
    store,
    warnings,
    process: (options = {}, url = "http://board.test") => {
      const platform = {
        ...http.platform,
        outbox: {
          storeOf: () => store,
          open: (parts: ConstructorParameters<typeof Outbox>[0]) => new Outbox(parts),
        },
      };
      return held.own(createLinkOf(platform, [])(url, { log, ...options }));
    },
    settled,
    failure: async (promise, withinMs) => {
      const error: unknown = await settled(
        promise.then(
          () => new Error("the call must fail"),
          (reason: unknown) => reason,
        ),
        withinMs,
      );
      if (error instanceof HoldfastError) return error;
      throw error;
    },
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}
