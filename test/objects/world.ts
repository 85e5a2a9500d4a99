/**
 * Two hosts, of which one serves and the other holds: in one process the same one, over a wire two. What is tried in
 * every world must give the same in each, since a program cannot tell where its objects live.
 */
import { expect } from "vitest";
import type { Caller } from "../../runtime/base/handlers.ts";
import type { Log } from "../../runtime/base/log.ts";
import { createHost, type Host, type HostOptions } from "../../runtime/hold/host.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { type VirtualClock, virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { pipes } from "./pipes.ts";
import { type RemoteKind, remoteKind } from "./remote-world.ts";
import { type ServerKind, serverKind } from "./server-world.ts";

/** What a world is made with. */
export interface WorldOptions {
  readonly load?: NonNullable<HostOptions["load"]>;
  readonly readyTimeoutMs?: number;
  /** Who holds, as the provider sees it. */
  readonly caller?: Caller;
}

/** The link between the two hosts, where there is one. */
export interface WorldLink {
  /** Breaks it; nothing that was under way arrives. */
  drop(): Promise<void>;
  /** Makes a new one. */
  connect(): Promise<void>;
}

export interface ObjectWorld extends AsyncDisposable {
  readonly clock: VirtualClock;
  /** Serves. */
  readonly provider: Host;
  /** Holds. */
  readonly holder: Pick<Host, "hold" | "get" | "close">;
  /** Undefined in one process. */
  readonly link: WorldLink | undefined;
  /** What was logged as an error. */
  readonly errors: readonly string[];
  /** Lets arrive what is under way, without moving time. */
  settle(): Promise<void>;
}

export interface World {
  readonly name: string;
  create(options?: WorldOptions): Promise<ObjectWorld>;
}

/** Serves and holds in one process. */
const local: World = {
  name: "one process",
  async create(options = {}) {
    const clock = virtualClock();
    const { log, errors } = recordedLog();
    const host = createHost({ clock, random: seededRandom(7), log, ...options });
    return {
      clock,
      provider: host,
      holder: host,
      link: undefined,
      errors,
      settle: () => clock.settle(),
      async [Symbol.asyncDispose]() {
        const closed = host.close();
        // Handlers and factories that a test left hanging run into their limits.
        await clock.advance(120_000);
        await closed;
        expect(clock.pendingCount, "timers that are left").toBe(0);
      },
    };
  },
};

/** Two hosts over each kind of wire, with each codec. */
export const remoteWorlds: readonly RemoteKind[] = pipes.flatMap((pipe) => [
  remoteKind(pipe, "json"),
  remoteKind(pipe, "msgpack"),
]);

/** A server and a link, as programs have them. */
export const serverWorlds: readonly ServerKind[] = [
  serverKind("WebSocket", "json"),
  serverKind("WebSocket", "msgpack"),
  serverKind("Connect duplex", "msgpack"),
];

/** A world whose link a test can break. */
export interface LinkedWorld extends ObjectWorld {
  readonly link: WorldLink;
}

/** Every world in which there is a link. */
export const linkedWorlds: readonly { readonly name: string; create(): Promise<LinkedWorld> }[] = [
  ...remoteWorlds,
  ...serverWorlds,
];

/** Every world in which the suite and the races run. */
export const worlds: readonly World[] = [local, ...remoteWorlds, ...serverWorlds];

export function recordedLog(): { readonly log: Log; readonly errors: readonly string[] } {
  const errors: string[] = [];
  const log: Log = { info: () => undefined, warn: () => undefined, error: (text) => errors.push(text) };
  return { log, errors };
}
