/** What the process of a client under test is told. */
import type { Connected, Held, Note, Peer } from "../peer.ts";
import type { Operations } from "./remote.ts";
import { cpuUs, memory, type Memory, sharedNowMs } from "./usage.ts";

export interface CallsDone {
  readonly count: number;
  readonly seconds: number;
  readonly cpuUs: number;
  /** Of every eighth call. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Connections that are opened at once. */
const connectingMost = 20;

export type CallKind = "ask" | "enter";
export type WatchKind = "follow" | "watch";

export interface ClientOperations extends Operations {
  /** Where the server is. */
  readonly serverAt: (port: number) => void;
  /** Makes calls for a while, as many in flight. */
  readonly calls: (kind: CallKind, inFlight: number, seconds: number) => Promise<CallsDone>;
  /** Reads a stream for a while. */
  readonly pour: (seconds: number) => Promise<{ count: number; seconds: number; cpuUs: number }>;
  /** Adds watchers, as many on each connection. */
  readonly watchers: (kind: WatchKind, count: number, perConnection: number) => Promise<void>;
  /** When as many deliveries have come since the last time, and what they took here. */
  readonly heard: (count: number) => Promise<{ firstAtMs: number; lastAtMs: number; cpuUs: number }>;
  /** Subscribes; resolves when all are live. */
  readonly hold: (count: number) => Promise<void>;
  /** The same from more connections, each of which subscribes to all of it. */
  readonly holdAgain: (count: number, connectionCount: number) => Promise<void>;
  /** When all are live again. */
  readonly live: () => Promise<number>;
  /** Makes calls on what is held; gives when the last was answered, and whether they ran in their order. */
  readonly write: (count: number) => Promise<{ atMs: number; inOrder: boolean }>;
  readonly links: (count: number) => Promise<void>;
  readonly memory: () => Promise<Memory>;
}

export function clientSide(peer: Peer): ClientOperations {
  let port = 0;
  const connections: Connected[] = [];
  const connect = async (): Promise<Connected> => {
    const connected = await peer.connect(port);
    connections.push(connected);
    return connected;
  };
  const first = async (): Promise<Connected> => connections[0] ?? (await connect());
  const deliveries = new Deliveries();
  const liveness = new Liveness();
  let held: Held | undefined;
  return {
    serverAt(its) {
      port = its;
    },
    async calls(kind, inFlight, seconds) {
      const connected = await first();
      const call = (kind === "enter" ? connected.enter : undefined) ?? connected.ask;
      if (call === undefined) throw new Error(`${peer.name} makes no calls`);
      return callsFor(call, inFlight, seconds);
    },
    async pour(seconds) {
      return pourFor(await connect(), seconds); // some leave their stream by leaving the connection
    },
    async watchers(kind, count, perConnection) {
      const add = async (their: number): Promise<void> => {
        const connected = await connect();
        const watch = kind === "follow" ? connected.follow : connected.watch;
        if (watch === undefined) throw new Error(`${peer.name} has nothing to ${kind}`);
        await Promise.all(Array.from({ length: their }, () => watch(deliveries.heard)));
      };
      for (let left = count; left > 0; ) {
        const adding: Promise<void>[] = [];
        for (; left > 0 && adding.length < connectingMost; left -= perConnection)
          adding.push(add(Math.min(perConnection, left)));
        await Promise.all(adding);
      }
    },
    heard: (count) => deliveries.all(count),
    async hold(count) {
      const live = liveness.next();
      held = await (await first()).hold?.(count, liveness.live);
      await live;
    },
    async holdAgain(count, connectionCount) {
      for (let left = connectionCount; left > 0; left -= 1) {
        const connected = await connect();
        await connected.hold?.(count, () => undefined);
      }
    },
    live: () => liveness.next(),
    async write(count) {
      const write = held?.write;
      if (write === undefined) throw new Error(`${peer.name} keeps no calls`);
      const places = await Promise.all(Array.from({ length: count }, (_, at) => write(`${at}`)));
      const inOrder = places.every((place, at) => at === 0 || place > (places[at - 1] ?? 0));
      return { atMs: sharedNowMs(), inOrder };
    },
    async links(count) {
      for (let left = count; left > 0; left -= connectingMost)
        await Promise.all(Array.from({ length: Math.min(connectingMost, left) }, connect));
    },
    memory,
  };
}

async function callsFor(
  call: (note: Note) => Promise<Note>,
  inFlight: number,
  seconds: number,
): Promise<CallsDone> {
  const text = "sixteen letters!";
  const waitedMs: number[] = [];
  const startCpu = cpuUs();
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  let count = 0;
  const lane = async (): Promise<void> => {
    for (let nowMs = startMs; nowMs < endMs; ) {
      const n = (count += 1);
      const beforeMs = nowMs;
      const reply = await call({ text, n });
      if (reply.n !== n + 1) throw new Error(`the reply to ${n} was ${reply.n}`);
      nowMs = performance.now();
      if ((n & 7) === 0) waitedMs.push(nowMs - beforeMs);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const tookSeconds = (performance.now() - startMs) / 1_000;
  waitedMs.sort((a, b) => a - b);
  const at = (part: number): number => waitedMs[Math.floor(waitedMs.length * part)] ?? Number.NaN;
  return { count, seconds: tookSeconds, cpuUs: cpuUs() - startCpu, p50Ms: at(0.5), p99Ms: at(0.99) };
}

async function pourFor(
  connected: Connected,
  seconds: number,
): Promise<{ count: number; seconds: number; cpuUs: number }> {
  const startCpu = cpuUs();
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  let count = 0;
  let lookAt = 0;
  let nowMs = startMs;
  await connected.pour?.((more) => {
    count += more;
    if (count >= lookAt) {
      lookAt = count + 64; // the clock is not asked for each item
      nowMs = performance.now();
    }
    return nowMs < endMs;
  });
  return { count, seconds: (performance.now() - startMs) / 1_000, cpuUs: cpuUs() - startCpu };
}

/** Counts what comes to all watchers of this process. */
class Deliveries {
  #count = 0;
  #wanted = Number.POSITIVE_INFINITY;
  #firstAtMs = 0;
  #startCpu = cpuUs();
  #done: ((its: { firstAtMs: number; lastAtMs: number; cpuUs: number }) => void) | undefined;

  readonly heard = (count = 1): void => {
    if (this.#count === 0) this.#firstAtMs = sharedNowMs();
    this.#count += count;
    if (this.#count >= this.#wanted) this.#finish();
  };

  all(count: number): Promise<{ firstAtMs: number; lastAtMs: number; cpuUs: number }> {
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#wanted = count;
      this.#startCpu = cpuUs();
      if (this.#count >= count) this.#finish();
    });
  }

  #finish(): void {
    const lastAtMs = sharedNowMs();
    this.#done?.({ firstAtMs: this.#firstAtMs, lastAtMs, cpuUs: cpuUs() - this.#startCpu });
    this.#count = 0;
    this.#wanted = Number.POSITIVE_INFINITY;
  }
}

/** When all that is held is live. */
class Liveness {
  #waiting: ((atMs: number) => void) | undefined;

  readonly live = (): void => {
    this.#waiting?.(sharedNowMs());
    this.#waiting = undefined;
  };

  next(): Promise<number> {
    return new Promise((resolve) => (this.#waiting = resolve));
  }
}
