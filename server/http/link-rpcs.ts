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
import type { Limits } from "../../runtime/base/limits.ts";
import { packetBytesMost } from "../../runtime/wire/wire.ts";
import { protocolOf } from "./answer-code.ts";
import { withAnswerHeaders } from "./answer-headers.ts";
import type { Cors } from "./cors.ts";
import { bodyWithin, isByteStream } from "./request-body.ts";

/** What answers them; those that are absent are not served. */
export type LinkRpcs = Partial<ServiceImpl<typeof LinkService>>;

export interface LinkRpcParts {
  readonly cors: Cors;
  /** The value of `holdfast-server`. */
  readonly serverHeader: string;
  readonly shutdown: AbortSignal;
  readonly limits: Pick<Limits, "bodyWaitMs">;
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
    // One packet of a stream goes to thousands: compressed for each, it would cost more than all else.
    acceptCompression: [],
    shutdownSignal: parts.shutdown,
  });
  router.service(LinkService, rpcs);
  const served = new Set(Object.keys(rpcs));
  return router.handlers
    .filter(({ method }) => served.has(method.localName))
    .map((handler) => withHeaders(handler, parts));
}

/** The request with what the user's rpcs have too: no promise of a length, and a body that comes in time. */
function prepared(
  request: UniversalServerRequest,
  { method }: UniversalHandler,
  { clock, limits }: LinkRpcParts,
): UniversalServerRequest {
  const header = new Headers(request.header);
  // Connect reserves as many bytes as this promises.
  header.delete("content-length");
  if (method.methodKind !== "server_streaming" || !isByteStream(request.body)) return { ...request, header };
  return { ...request, header, body: bodyWithin(request.body, clock, limits.bodyWaitMs) };
}

function withHeaders(handler: UniversalHandler, parts: LinkRpcParts): UniversalHandler {
  const { cors, serverHeader, clock } = parts;
  const handle = async (request: UniversalServerRequest) => {
    const preflight = cors.preflight(request.method, request.header);
    if (preflight !== undefined) return preflight;
    const nowMs = Math.floor(clock.now());
    const fields = { server: serverHeader, nowMs, mark: undefined, repeat: false, tag: undefined };
    const answered = withAnswerHeaders(
      await handler(prepared(request, handler, parts)),
      protocolOf(request.header),
      fields,
      "stream",
    );
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
