/**
 * Node as a platform: HTTP/2 on one shared connection, or HTTP/1.1 where the server has nothing newer.
 */
import { systemClock } from "../base/clock.ts";
import { systemRandom } from "../base/random.ts";
import { jsonCodec } from "../codec/json.ts";
import type { Platform } from "../link/platform.ts";
import { Outbox } from "../outbox/outbox.ts";
import { dataFolder } from "./data-folder.ts";
import type { TlsOptions } from "./dial.ts";
import { fileOutbox } from "./file-outbox.ts";
import { http1Client } from "./http1.ts";
import { http2Client } from "./http2.ts";
import { sleepWatch } from "./wake.ts";
import { nodeWires } from "./node-wires.ts";

/** What only links of Node have. */
export interface NodeLinkOptions {
  /**
   * `"2"` (default): HTTP/2; in cleartext for http: URLs, as every holdfast server speaks it. `"1.1"`: for
   * servers and proxies that know nothing else; each call under way then takes a connection.
   */
  readonly httpVersion?: "2" | "1.1";
  /** For https: URLs: authorities, a client's certificate. Default: the system's authorities. */
  readonly tls?: TlsOptions;
}

export const nodePlatform: Platform<NodeLinkOptions> = {
  clock: systemClock,
  random: systemRandom,
  openHttp: (options, { httpVersion, tls }) => {
    const all = tls === undefined ? options : { ...options, tls };
    return httpVersion === "1.1" ? http1Client(all) : http2Client(all);
  },
  outbox: {
    storeOf: ({ server, account, folder = dataFolder() }) =>
      fileOutbox({ folder, server, account, random: systemRandom }),
    open: (parts) => new Outbox(parts),
  },
  json: jsonCodec,
  wire: nodeWires,
  onWake: sleepWatch(systemClock),
};
