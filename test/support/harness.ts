/**
 * What a test holds and must not leave behind. At its end it closes what it was given, in reverse order, and
 * fails the test for a timer on the virtual clock, a socket or server that is still open, and a rejection that
 * nobody handled.
 */
import { expect } from "vitest";
import type { VirtualClock } from "../../runtime/testing/virtual-clock.ts";

export interface Harness extends AsyncDisposable {
  /** Closes it at the end; gives it back. */
  own<T extends AsyncDisposable>(thing: T): T;
  /** Checks at the end that no timer of this clock is left. */
  watch(clock: VirtualClock): void;
  /** Rejections that nobody handled, and errors that nobody caught, so far. */
  readonly unhandled: readonly unknown[];
}

/** What keeps a port or a connection: the rest of Node's list (pipes of the test runner) is not ours. */
const ours: readonly string[] = ["TCPSocketWrap", "TCPServerWrap", "TLSWrap", "TCPConnectWrap"];

/** The open sockets and servers of this process, by kind. */
export function openSockets(): readonly string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => ours.includes(name))
    .sort();
}

/** Those that were not there before. One of before may close meanwhile: somebody else has closed it. */
function openSince(before: readonly string[]): readonly string[] {
  const left = [...before];
  return openSockets().filter((name) => {
    const at = left.indexOf(name);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Sockets close a few turns after `close` has resolved. Waits for turns of the event loop, not for a time. */
const turnsMost = 2_000;

export function harness(): Harness {
  const owned: AsyncDisposable[] = [];
  const clocks: VirtualClock[] = [];
  const unhandled: unknown[] = [];
  const before = openSockets();
  const note = (error: unknown): void => {
    unhandled.push(error);
  };
  process.on("unhandledRejection", note);
  process.on("uncaughtException", note);
  return {
    own: (thing) => {
      owned.push(thing);
      return thing;
    },
    watch: (clock) => clocks.push(clock),
    unhandled,
    async [Symbol.asyncDispose]() {
      for (const thing of owned.reverse()) await thing[Symbol.asyncDispose]();
      for (const clock of clocks) await clock.settle();
      for (let turns = 0; turns < turnsMost && openSince(before).length > 0; turns += 1) await turn();
      await turn();
      process.off("unhandledRejection", note);
      process.off("uncaughtException", note);
      expect(unhandled, "rejections that nobody handled").toEqual([]);
      expect(openSince(before), "open sockets and servers").toEqual([]);
      for (const clock of clocks) expect(clock.pendingCount, "timers of the virtual clock").toBe(0);
    },
  };
}
