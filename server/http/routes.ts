/**
 * The server's rpcs as handlers of any Connect adapter.
 *
 * Connect reads, parses and limits a request before an interceptor sees it, and answers some requests with no
 * interceptor at all. Two things must come earlier: signing in and admission, before the body is read; and two
 * must be on every answer: our headers and a command's mark. So the rpcs are registered on a router of our own,
 * and what the adapter's router gets are its handlers, wrapped. An error of ours is answered by giving Connect
 * a body that fails with it, which makes Connect write it in the request's protocol.
 *
 * Source: design "Server: What a user writes"; the marks are those of "What counts as the server's answer".
 */
import type { Message } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext, Interceptor } from "@connectrpc/connect";
import {
  Code,
  ConnectError,
  createConnectRouter,
  createContextKey,
  createContextValues,
} from "@connectrpc/connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import type {
  UniversalHandler,
  UniversalServerRequest,
  UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import type { Clock } from "../../runtime/base/clock.ts";
import type { MethodDefinition, UnaryDefinition } from "../../runtime/base/definition.ts";
import { serverError } from "../../runtime/base/server-reasons.ts";
import type { Stop } from "../../runtime/base/late-signal.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import type { Log } from "../../runtime/base/log.ts";
import type { Mark } from "../../runtime/base/reasons.ts";
import { type AnswerCode, answerCode, protocolOf } from "./answer-code.ts";
import { withAnswerHeaders } from "./answer-headers.ts";
import { markOfCode, markOfError } from "./answer-mark.ts";
import type { Cors } from "./cors.ts";
import { type Entered, type Exchange, type UnaryAnswer, addressKey } from "./exchange.ts";
import { withEarlyHead } from "./early-head.ts";
import { type LinkRpcs, linkHandlers } from "./link-rpcs.ts";
import type { HeaderLookup } from "./request-head.ts";
import { bodyWithin, failingBody, isByteStream } from "./request-body.ts";
import { lowerTimeout, timeoutMsOf } from "./timeout-header.ts";

/** A request as the entrance sees it. */
export interface Arrival {
  readonly definition: MethodDefinition;
  readonly header: HeaderLookup;
  /** All headers, made when somebody looks at them. */
  readonly allHeaders: Headers;
  readonly address: string | undefined;
  /** Ms of the monotonic clock at which the client stops waiting; undefined: never. */
  readonly deadline: number | undefined;
  /** The server's wall time in ms at which the request's headers came. */
  readonly atMs: number;
  /** Aborts when the client is gone. */
  readonly stop: Stop;
}

/** What the routes need of the rest of the server. */
export interface RouteParts<E extends Entered> {
  readonly definitions: () => Iterable<MethodDefinition>;
  /** Lets a request in before its body is read. Rejects with the error that stops it. */
  enter(arrival: Arrival): Promise<E>;
  /** Never rejects. From here on the turn of the request is the dispatcher's. */
  unary(
    definition: UnaryDefinition,
    request: Message,
    context: Pick<HandlerContext, "signal" | "requestHeader" | "responseHeader" | "responseTrailer"> & {
      /** Tells the same as `signal` for less. */
      readonly stop?: Stop;
    },
    entered: E,
  ): Promise<UnaryAnswer>;
  /**
   * Runs a streaming handler: what it returns is what Connect expects of that kind of rpc. It may say that the stream
   * is open before its first item is there, and sets no headers after that.
   */
  stream(
    definition: MethodDefinition,
    request: unknown,
    context: HandlerContext,
    entered: E,
    opened: () => void,
  ): AsyncIterable<Message> | Promise<Message>;
  /** The rpcs of wires, which let their clients in by themselves. */
  readonly link: LinkRpcs;
  readonly limits: Limits;
  readonly cors: Cors;
  /** The value of `holdfast-server`. */
  readonly serverHeader: string;
  readonly interceptors: readonly Interceptor[];
  /** Aborts the signals of queries and streams: the last seconds of a drain. */
  readonly shutdown: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

/** What any Connect adapter takes as its routes. */
export function createRoutes<E extends Entered>(parts: RouteParts<E>): (router: ConnectRouter) => void {
  const key = createContextKey<Exchange<E> | undefined>(undefined, { description: "holdfast: the exchange" });
  const markParsed: Interceptor = (next) => (request) => {
    const exchange = request.contextValues.get(key);
    if (exchange?.progress === "arrived") exchange.progress = "parsed";
    return next(request);
  };
  return (router) => {
    const definitions = [...parts.definitions()];
    const own = createConnectRouter({
      readMaxBytes: parts.limits.requestBytesMost,
      writeMaxBytes: parts.limits.replyBytesMost,
      acceptCompression: [compressionGzip, compressionBrotli],
      interceptors: [markParsed, ...parts.interceptors],
      shutdownSignal: parts.shutdown,
    });
    for (const definition of definitions)
      register(own, definition, parts, (context) => context.values.get(key));
    for (const [index, handler] of own.handlers.entries()) {
      const definition = definitions[index];
      if (definition === undefined) continue;
      router.handlers.push(wrap(handler, definition, parts, key));
    }
    router.handlers.push(...linkHandlers(parts.link, parts));
  };
}

function register<E extends Entered>(
  router: ConnectRouter,
  definition: MethodDefinition,
  parts: RouteParts<E>,
  exchangeOf: (context: HandlerContext) => Exchange<E> | undefined,
): void {
  const enteredOf = (context: HandlerContext): { exchange: Exchange<E>; entered: E } => {
    const exchange = exchangeOf(context);
    if (exchange?.stop !== undefined) throw exchange.stop;
    if (exchange?.entered === undefined) {
      throw new ConnectError("an interceptor dropped the context values of the request", Code.Internal);
    }
    exchange.progress = "dispatched";
    return { exchange, entered: exchange.entered };
  };
  if (definition.kind === "stream" || definition.kind === "plain") {
    const implementation = (request: unknown, context: HandlerContext): unknown =>
      parts.stream(definition, request, context, enteredOf(context).entered, () =>
        exchangeOf(context)?.opened?.(context),
      );
    // Which of Connect's four shapes it has is the schema's business: implement.ts ties handlers to it.
    router.rpc(definition.method, implementation as never);
    return;
  }
  router.rpc(definition.method, async (request, context) => {
    const { exchange, entered } = enteredOf(context);
    const answer = await parts.unary(definition, request, context, entered);
    exchange.answer = answer;
    if ("error" in answer.result) throw answer.result.error;
    return answer.result.reply;
  });
}

function wrap<E extends Entered>(
  handler: UniversalHandler,
  definition: MethodDefinition,
  parts: RouteParts<E>,
  key: ReturnType<typeof createContextKey<Exchange<E> | undefined>>,
): UniversalHandler {
  const handle = async (request: UniversalServerRequest): Promise<UniversalServerResponse> => {
    const preflight = parts.cors.preflight(request.method, request.header);
    if (preflight !== undefined) return preflight;
    const pass = (exchange: Exchange<E>): Promise<UniversalServerResponse> => {
      const contextValues = request.contextValues ?? createContextValues();
      contextValues.set(key, exchange);
      const its = { ...prepared(request, definition, parts, exchange.stop), contextValues };
      if (definition.method.methodKind !== "server_streaming") return handler(its);
      return withEarlyHead((opened) => {
        exchange.opened = opened;
        return handler(its);
      }, protocolOf(request.header));
    };
    const exchange = await enter(request, definition, parts);
    try {
      const response = await pass(exchange);
      return await finish(response, request, definition, exchange, parts, pass);
    } finally {
      // The dispatcher gives back the turn of what it was handed, when the handler has ended.
      if (exchange.progress !== "dispatched") exchange.entered?.leave();
    }
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

async function enter<E extends Entered>(
  request: UniversalServerRequest,
  definition: MethodDefinition,
  parts: RouteParts<E>,
): Promise<Exchange<E>> {
  const timeoutMs = timeoutMsOf(request.header);
  const begun = { progress: "arrived" as const, answer: undefined };
  try {
    const promised = Number(request.header.get("content-length") ?? 0);
    if (promised > parts.limits.requestBytesMost + envelopeBytes) throw tooLarge(parts.limits);
    const entered = await parts.enter({
      definition,
      header: request.header,
      allHeaders: request.header,
      address: request.contextValues?.get(addressKey),
      deadline: timeoutMs === undefined ? undefined : parts.clock.monotonic() + timeoutMs,
      atMs: parts.clock.now(),
      stop: request.signal,
    });
    return { ...begun, entered, stop: undefined };
  } catch (error) {
    return { ...begun, entered: undefined, stop: ConnectError.from(error, Code.Internal) };
  }
}

/** What a message has around it in gRPC and in Connect's streams. */
const envelopeBytes = 5;

/** The error of a request that is too large. */
export function tooLarge(limits: Limits): ConnectError {
  return serverError("TOO_LARGE", `the request is larger than ${limits.requestBytesMost} bytes`);
}

function prepared<E extends Entered>(
  request: UniversalServerRequest,
  definition: MethodDefinition,
  parts: RouteParts<E>,
  stop: ConnectError | undefined,
): UniversalServerRequest {
  const header = new Headers(request.header);
  lowerTimeout(header);
  // Connect reserves as many bytes as this promises; a thousand idle requests would reserve gigabytes.
  header.delete("content-length");
  if (stop !== undefined) return { ...request, header, body: failingBody(stop) };
  // A client that streams may pause for as long as it likes.
  const single =
    definition.method.methodKind === "unary" || definition.method.methodKind === "server_streaming";
  if (!single || !isByteStream(request.body)) return { ...request, header };
  return { ...request, header, body: bodyWithin(request.body, parts.clock, parts.limits.bodyWaitMs) };
}

async function finish<E extends Entered>(
  made: UniversalServerResponse,
  request: UniversalServerRequest,
  definition: MethodDefinition,
  exchange: Exchange<E>,
  parts: RouteParts<E>,
  pass: (exchange: Exchange<E>) => Promise<UniversalServerResponse>,
): Promise<UniversalServerResponse> {
  const protocol = protocolOf(request.header);
  const unary = definition.method.methodKind === "unary";
  let { code, response } = unary ? await answerCode(made, protocol) : { code: "ok" as const, response: made };
  const insteadOf = instead(code, definition, exchange, parts);
  if (insteadOf !== undefined) {
    const stopped = { ...exchange, stop: insteadOf };
    ({ code, response } = await answerCode(await pass(stopped), protocol));
  }
  const command = definition.kind === "command";
  const fields = {
    server: parts.serverHeader,
    nowMs: Math.floor(parts.clock.now()),
    mark: command ? markOf(code, exchange) : undefined,
    repeat: exchange.answer?.repeat ?? false,
    tag: command ? exchange.entered?.tag : undefined,
  };
  const kind = unary ? (code === "ok" ? "reply" : "error") : "stream";
  const answered = withAnswerHeaders(response, protocol, fields, kind);
  if (answered.header !== undefined) parts.cors.allow(request.header, answered.header);
  return answered;
}

/** The clearer error that takes the place of one that Connect made by itself. */
function instead<E extends Entered>(
  code: AnswerCode,
  definition: MethodDefinition,
  exchange: Exchange<E>,
  parts: RouteParts<E>,
): ConnectError | undefined {
  if (code === "ok" || code === "not-rpc" || exchange.stop !== undefined) return undefined;
  if (code === Code.ResourceExhausted && exchange.progress === "arrived") return tooLarge(parts.limits);
  return unwritten(definition, exchange.answer, parts.log);
}

/** What takes the place of a reply that cannot be written: its effect stands, and a new try would only meet the same. */
export function unwritten(
  definition: MethodDefinition,
  answer: UnaryAnswer | undefined,
  log: Log,
): ConnectError | undefined {
  if (answer?.mark !== "ran" || !("reply" in answer.result)) return undefined;
  log.error("the reply of a command could not be written", { method: definition.method.toString() });
  return serverError("ALREADY_RAN", "the command ran, and its reply could not be written");
}

function markOf<E extends Entered>(code: AnswerCode, exchange: Exchange<E>): Mark {
  if (exchange.answer?.mark !== undefined) return exchange.answer.mark;
  if (exchange.stop !== undefined) return markOfError(exchange.stop);
  if (code === "ok") return "ran"; // an interceptor's own answer
  return markOfCode(code, exchange.progress === "parsed");
}
