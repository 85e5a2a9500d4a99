/**
 * The rpcs of LinkService among the routes. Who calls them, their first packet says; so they pass no entrance, and
 * what they share with the other rpcs are the headers of an answer.
 *
 * Source: design "Wire: Services".
 */
import { type ConnectRouter, createConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import { LinkService } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Clock } from "../../runtime/base/clock.ts";
import { packetBytesMost } from "../../runtime/wire/wire.ts";
import { protocolOf } from "./answer-code.ts";
import { withAnswerHeaders } from "./answer-headers.ts";
import type { Cors } from "./cors.ts";

/** What answers them; those that are absent are not served. */
export type LinkRpcs = Partial<ServiceImpl<typeof LinkService>>;

export interface LinkRpcParts {
  readonly cors: Cors;
  /** The value of `holdfast-server`. */
  readonly serverHeader: string;
  readonly shutdown: AbortSignal;
  readonly clock: Clock;
}

/** A packet has a field's head around it. */
const packetHeadBytes = 16;

/** The handlers, for the router of any adapter. */
export function linkHandlers(rpcs: LinkRpcs, parts: LinkRpcParts): UniversalHandler[] {
  const most = packetBytesMost + packetHeadBytes;
  const router: ConnectRouter = createConnectRouter({
    readMaxBytes: most,
    writeMaxBytes: most,
    shutdownSignal: parts.shutdown,
  });
  router.service(LinkService, rpcs);
  const served = new Set(Object.keys(rpcs));
  return router.handlers
    .filter(({ method }) => served.has(method.localName))
    .map((handler) => withHeaders(handler, parts));
}

function withHeaders(handler: UniversalHandler, parts: LinkRpcParts): UniversalHandler {
  const { cors, serverHeader, clock } = parts;
  const handle = async (request: UniversalServerRequest) => {
    const preflight = cors.preflight(request.method, request.header);
    if (preflight !== undefined) return preflight;
    const nowMs = Math.floor(clock.now());
    const fields = { server: serverHeader, nowMs, mark: undefined, repeat: false, tag: undefined };
    const answered = withAnswerHeaders(await handler(request), protocolOf(request.header), fields, "stream");
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
