/** A real link over a simulated network, in a process of its own. */
import type { Random } from "../base/random.ts";
import { jsonCodec } from "../codec/json.ts";
import type { Link } from "../link/link.ts";
import type { LinkOptions } from "../link/link-options.ts";
import { wiresBy } from "../link/link-wire.ts";
import { createLinkOf } from "../link/registry.ts";
import { memoryOutbox } from "../outbox/memory-outbox.ts";
import { Outbox } from "../outbox/outbox.ts";
import { seededRandom } from "./seeded-random.ts";
import type { SimulatedNetwork } from "./simulated-network.ts";
import { type SimulatedProcess, simulatedProcess } from "./simulated-process.ts";

/** Calls go over HTTP unless `calls` says otherwise, so that a test sees each of them as a request. */
export interface TestLinkOptions extends Omit<LinkOptions, "clock" | "random" | "transport"> {
  /** Where the server is. Default: "http://server.test". */
  readonly url?: string;
  /** Default: a new one on the network's clock. A process that dies takes its link along. */
  readonly process?: SimulatedProcess;
  /** Default: from the seed 1. */
  readonly random?: Random;
  /** Whether its streams share one WebSocket, as in a browser. Default false: each has a connection of its own. */
  readonly sharedStreams?: boolean;
}

export interface TestLink {
  readonly link: Link;
  readonly process: SimulatedProcess;
  /** What a platform calls when the network may be back. */
  wake(): void;
}

/** Where a server of a test is that names no other place. */
export const testOrigin = "http://server.test";

/** Makes a link as a process of its own has it: two of them share nothing but what they are given. */
export function testLink(network: SimulatedNetwork, options: TestLinkOptions = {}): TestLink {
  const {
    url = testOrigin,
    process = simulatedProcess(network.clock, "client"),
    random = seededRandom(1),
    sharedStreams = false,
    ...rest
  } = options;
  const wakers = new Set<() => void>();
  const linkOf = createLinkOf<object>(
    {
      clock: process.clock,
      random,
      json: jsonCodec,
      openHttp: (http) => network.openHttp(process, http),
      outbox: { storeOf: () => memoryOutbox(), open: (parts) => new Outbox(parts) },
      wire: wiresBy(network.openWire(process)),
      webSocket: () => (sharedStreams ? network.webSocket(process) : undefined),
      onWake: (fn) => {
        wakers.add(fn);
        return () => wakers.delete(fn);
      },
    },
    [],
  );
  return {
    link: linkOf(url, { calls: "http", ...rest }),
    process,
    wake: () => process.run(() => [...wakers].forEach((fn) => fn())),
  };
}
