/**
 * Node's requests to Connect's handlers. It stands in place of connect-node's adapter, which throws out of the
 * listener, and so ends the process, when a request names no host or an impossible one, and whose way to stop
 * reading a body closes an HTTP/1.1 connection before the answer is out.
 */
import {
  Code,
  ConnectError,
  type ContextValues,
  createConnectRouter,
  createContextValues,
} from "@connectrpc/connect";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import type { ConnectRouter } from "@connectrpc/connect";
import type {
  UniversalHandler,
  UniversalServerRequest,
  UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import type { Clock } from "../../runtime/base/clock.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import type { Log } from "../../runtime/base/log.ts";
import { addressKey, type Entered } from "./exchange.ts";
import type { FollowRoute } from "./follow-route.ts";
import type { NodeListener, NodeRequest, NodeResponse } from "./node-listener.ts";
import { StalledWrites } from "./stalled-writes.ts";
import type { UnaryRoute } from "./unary-route.ts";

export interface NodeRequestParts {
  readonly routes: (router: ConnectRouter) => void;
  readonly fallback: NodeListener;
  /** Answers `LinkService.Follow` without Connect's handlers; undefined: they answer it. */
  readonly follow?: FollowRoute;
  /** Answers what is nothing special without them; undefined: they answer all. */
  readonly unary?: Pick<UnaryRoute<Entered>, "takes" | "answer">;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: Log;
}

/** A listener for `request` of Node's HTTP/1.1 and HTTP/2 servers. */
export function createNodeListener(parts: NodeRequestParts): NodeListener {
  const { clock, limits, log } = parts;
  const stalled = new StalledWrites({ clock, waitMs: limits.bodyWaitMs, log });
  const router = createConnectRouter();
  parts.routes(router);
  const handlers = new Map<string, UniversalHandler>(
    router.handlers.map((handler) => [handler.requestPath, handler]),
  );
  return (request, response) => {
    if (request.rawHeaders.length / 2 > parts.limits.headerCountMost + pseudoHeaderCount) {
      refuse(request, response, 431, `more than ${parts.limits.headerCountMost} header lines`);
      return;
    }
    const handler = handlers.get(pathOf(request));
    if (handler === undefined) {
      parts.fallback(request, response);
      return;
    }
    const handle = (body?: AsyncIterable<Uint8Array>): void => {
      let universal: UniversalServerRequest;
      try {
        universal = universalFrom(request, response, body);
      } catch {
        refuse(request, response, 400, "the request names no host, or one that cannot be");
        return;
      }
      readOutLater(request, response, parts);
      handler(universal)
        .then((answer) => send(stalled.watch(answer, response), response))
        .catch((error: unknown) => failed(error, handler, request, response, parts.log));
    };
    const { follow, unary } = parts;
    if (unary?.takes(request) === true) {
      unary.answer(request, response, {
        stalled,
        readOut: () => readOutLater(request, response, parts),
        failed: (error) => failed(error, handler, request, response, log),
      });
    } else if (follow?.takes(request) === true) follow.answer(request, response, stalled, handle);
    else handle();
  };
}

/** `:method`, `:path`, `:scheme` and `:authority` of HTTP/2 are no header lines. */
const pseudoHeaderCount = 4;

/** The response of HTTP/2 says that it is finished only when its stream is closed both ways, which is what this is for. */
function readOutLater(request: NodeRequest, response: NodeResponse, parts: NodeRequestParts): void {
  ("stream" in response ? response.stream : response).once("finish", () => readOut(request, parts));
}

/**
 * Reads and drops what is left of a body whose request is answered: a connection of HTTP/1.1 takes its next
 * request only then, and a client of HTTP/2 may wait to send the rest. Neither may go on for ever.
 */
function readOut(request: NodeRequest, parts: NodeRequestParts): void {
  if (request.readableEnded) return;
  request.resume();
  if (!("stream" in request)) return; // Node's own limit for a whole request ends it
  const { stream } = request;
  const timer = parts.clock.timer(parts.limits.bodyWaitMs, () => stream.close(), { background: true });
  stream.once("close", () => timer.cancel());
}

/** The path of a request, without its query. */
export function pathOf(request: NodeRequest): string {
  return (request.url ?? "").split("?", 1)[0] ?? "";
}

/** What the server wants to know of a request that Connect does not hand on. */
export function contextValuesOf(request: NodeRequest): ContextValues {
  return createContextValues().set(addressKey, request.socket.remoteAddress);
}

/** Writes an answer; one that cannot be written any more is nobody's error. */
export function send(answer: UniversalServerResponse, response: NodeResponse): Promise<void> {
  return universalResponseToNodeResponse(answer, response);
}

function universalFrom(
  request: NodeRequest,
  response: NodeResponse,
  body: AsyncIterable<Uint8Array> | undefined,
): UniversalServerRequest {
  const universal = universalRequestFromNodeRequest(request, response, undefined, contextValuesOf(request));
  // Stopping in the middle of a body must leave the connection whole for the answer.
  const own = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  return { ...universal, body: body ?? own };
}

/** Answers what is no rpc at all in plain text. */
export function refuse(request: NodeRequest, response: NodeResponse, status: number, text: string): void {
  const headers = { "content-type": "text/plain; charset=utf-8" };
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.end(`holdfast: ${text}.\n`);
  request.resume();
}

function failed(
  error: unknown,
  handler: UniversalHandler,
  request: NodeRequest,
  response: NodeResponse,
  log: Log,
): void {
  const { code, rawMessage } = ConnectError.from(error);
  if (code !== Code.Aborted && code !== Code.Canceled) {
    log.info("an answer could not be written", { method: handler.requestPath, error: rawMessage });
  }
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  refuse(request, response, 500, "the answer could not be written");
}
