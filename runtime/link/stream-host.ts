/**
 * What a link gives to its streams: its sign-in, gate and state, and connections of their own, which are never
 * those of its calls.
 *
 * Source: design "Streams: The client".
 */
import type { HttpClient } from "../base/http-client.ts";
import { headerNames } from "../call/headers.ts";
import type { OwnConnections, StreamEnvironment } from "../stream/stream-environment.ts";
import type { WebSocketMaker } from "../wire/websocket.ts";
import { codecOf } from "./link-codec.ts";
import type { LinkInside, LinkParts } from "./link-environment.ts";
import { probePath } from "./probe-path.ts";
import { httpStreamTry } from "./stream-transport.ts";

export function streamHost({ env, parts, baseUrl }: LinkInside): StreamEnvironment {
  const { options, connections } = parts;
  const { clock, random, log, timing, server, gate, signIn, identity, anonymous } = env;
  return {
    ...{ clock, random, log, timing, server, gate, signIn, identity, anonymous },
    link: env,
    url: baseUrl,
    webSocket: () => webSocketOf(parts),
    linkId: env.lane.id,
    session: identity[headerNames.session] ?? "",
    build: identity[headerNames.build],
    codec: codecOf(parts, options.codec ?? (options.format === "json" ? "json" : "msgpack")),
    get ending() {
      return env.ending;
    },
    get seen() {
      return env.seen;
    },
    newSlot: () => env.newSlot(),
    openOwn: () => {
      const { transport } = options;
      if (transport !== undefined) {
        return {
          begin: () => ({ transport, http: () => undefined }),
          reach: undefined,
          close: () => undefined,
        };
      }
      return ownConnections(connections.openOwn(), baseUrl, options.interceptors ?? []);
    },
    heard: (header, token) => env.heard(header, token),
    tryEnded: (end, nextTryInMs) => env.tryEnded(end, nextTryInMs),
    answered: () => env.answered(),
    signInGone: (error) => env.signInGone(error),
    onWake: (fn) => env.onWake(fn),
  };
}

/** What the program wants around its requests cannot be around a WebSocket. */
function webSocketOf({ options, platform }: LinkParts): WebSocketMaker | undefined {
  const { transport, interceptors = [] } = options;
  return transport === undefined && interceptors.length === 0 ? platform.webSocket?.(options) : undefined;
}

function ownConnections(
  client: HttpClient,
  baseUrl: string,
  interceptors: NonNullable<LinkParts["options"]["interceptors"]>,
): OwnConnections {
  return {
    begin(onByte) {
      // Packets in the binary form of the rpc, whatever is in them: in JSON they would be base64.
      const { transport, progress } = httpStreamTry(client, {
        baseUrl,
        json: undefined,
        interceptors,
        onByte,
      });
      return { transport, http: progress };
    },
    reach: (signal) => client.reach(`${baseUrl}/${probePath}`, signal),
    close: () => client.close(),
  };
}
