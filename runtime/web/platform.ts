/** The browser as a platform: fetch, and the events that tell that the network may be back. */
import { systemClock } from "../base/clock.ts";
import { systemRandom } from "../base/random.ts";
import type { Platform } from "../link/platform.ts";
import { fetchClient } from "./fetch-client.ts";
import { onWake } from "./wake.ts";

/** What only links over fetch have. */
export interface WebLinkOptions {
  /** What sends. Default: the program's own `fetch`, looked up at each request. */
  readonly fetch?: typeof fetch;
  /** Whether cookies go with a request. Default: fetch's own, "same-origin". */
  readonly credentials?: RequestCredentials;
  /**
   * What opens the WebSocket that the link's streams share. Default: the program's own, unless `fetch` is given. False:
   * each stream has a connection of its own, by fetch. Without effect where the link has `interceptors` or a
   * `transport`, which cannot be around a WebSocket: its streams go by fetch.
   */
  readonly webSocket?: typeof WebSocket | false;
}

export const webPlatform: Platform<WebLinkOptions> = {
  clock: systemClock,
  random: systemRandom,
  openHttp: ({ origin }, own) =>
    fetchClient({
      origin,
      ...(own.fetch === undefined ? {} : { fetch: own.fetch }),
      ...(own.credentials === undefined ? {} : { credentials: own.credentials }),
    }),
  webSocket: ({ webSocket, fetch }) =>
    (webSocket ?? (fetch === undefined && globalThis.WebSocket)) || undefined,
  onWake,
};
