/**
 * The rpcs of LinkService as handlers of any Connect adapter. Hello signs in here and not the headers, so no
 * entrance stands before them; all else is as with the user's own rpcs.
 */
import type { ConnectRouter } from "@connectrpc/connect";
import { createConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { LinkService, type Packet } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Clock } from "../../runtime/base/clock.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import { packetBytesMost } from "../../runtime/wire/wire.ts";
import { protocolOf } from "./answer-code.ts";
import { withAnswerHeaders } from "./answer-headers.ts";
import type { Cors } from "./cors.ts";
import { addressKey } from "./exchange.ts";
import { bodyWithin, isByteStream } from "./request-body.ts";

/** What comes with a request of LinkService. */
export interface LinkRequest {
  readonly header: Headers;
  /** The address of the connection; undefined where the adapter does not say. */
  readonly address: string | undefined;
  /** Aborts when the client is gone, or the server ends. */
  readonly signal: AbortSignal;
}

export interface LinkRouteParts {
  follow(packet: Packet, request: LinkRequest): AsyncIterable<Packet>;
  readonly cors: Cors;
  /** The value of `holdfast-server`. */
  readonly serverHeader: string;
  readonly limits: Pick<Limits, "requestBytesMost" | "bodyWaitMs">;
  /** Aborts in the last seconds of a drain. */
  readonly shutdown: AbortSignal;
  readonly clock: Clock;
}

/** What a packet has around it in a message. */
const frameBytes = 16;

/** What any Connect adapter takes as its routes, beside the user's. */
export function createLinkRoutes(parts: LinkRouteParts): (router: ConnectRouter) => void {
  return (router) => {
    const own = createConnectRouter({
      readMaxBytes: parts.limits.requestBytesMost,
      writeMaxBytes: packetBytesMost + frameBytes,
      // One packet goes to thousands: compressed for each, it would cost more than all else.
      acceptCompression: [],
      shutdownSignal: parts.shutdown,
    });
    own.rpc(LinkService.method.follow, (packet, context) =>
      parts.follow(packet, {
        header: context.requestHeader,
        address: context.values.get(addressKey),
        signal: context.signal,
      }),
    );
    for (const handler of own.handlers) router.handlers.push(wrap(handler, parts));
  };
}

function wrap(handler: UniversalHandler, parts: LinkRouteParts): UniversalHandler {
  const handle: (...args: Parameters<UniversalHandler>) => ReturnType<UniversalHandler> = async (request) => {
    const { cors, clock, limits, serverHeader } = parts;
    const preflight = cors.preflight(request.method, request.header);
    if (preflight !== undefined) return preflight;
    const single = handler.method.methodKind === "server_streaming" && isByteStream(request.body);
    const body = single
      ? bodyWithin(request.body as AsyncIterable<Uint8Array>, clock, limits.bodyWaitMs)
      : request.body;
    const header = new Headers(request.header);
    header.delete("content-length"); // Connect reserves as many bytes as this promises
    const response = await handler({ ...request, header, body });
    const nowMs = Math.floor(clock.now());
    const fields = { server: serverHeader, nowMs, mark: undefined, repeat: false, tag: undefined };
    const answered = withAnswerHeaders(response, protocolOf(request.header), fields, "stream");
    if (answered.header !== undefined) cors.allow(request.header, answered.header);
    return answered;
  };
  const { service, method, requestPath, supportedContentType, protocolNames, allowedMethods } = handler;
  return Object.assign(handle, {
    service,
    method,
    requestPath,
    supportedContentType,
    protocolNames,
    allowedMethods,
  });
}
