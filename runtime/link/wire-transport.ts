/**
 * A try over a wire, as the call loop has one over HTTP: Connect's interceptors go around it, what it gives and throws
 * carries the same headers, and so the same rules say what follows.
 *
 * A call that a wire does not take goes over HTTP: one with a sign-in of its own, or with a request that would hold
 * up all others on the wire.
 *
 * Source: design "Which way a call goes".
 */
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, isMessage } from "@bufbuild/protobuf";
import {
  type ConnectError,
  createContextValues,
  type Interceptor,
  type UnaryResponse,
} from "@connectrpc/connect";
import { createMethodUrl, runUnaryCall } from "@connectrpc/connect/protocol";
import type { Header, Payload, Result } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { ConnectionFault } from "../base/connection-fault.ts";
import { abortSignalOf, type Stop } from "../base/late-signal.ts";
import { onAbort } from "../base/signals.ts";
import type { TryConnection, UnaryTransport } from "../call/call-environment.ts";
import { headerNames, parseCallHeader } from "../call/headers.ts";
import { markOfLink } from "../call/link-fields.ts";
import type { HttpProgress } from "../call/outcome.ts";
import type { StampFields } from "../call/stamp.ts";
import type { Waiter } from "../wire/call-numbers.ts";
import { fromLinkError } from "../wire/link-error.ts";
import { messageIn, payloadBytes, payloadOf } from "../wire/packet.ts";
import type { WireCalls } from "./wire-calls.ts";

/** A larger request goes over HTTP: on the wire everything else would wait behind it. */
export const wireRequestBytesMost = 1_048_576;

export interface WireTryParts {
  readonly calls: WireCalls;
  /** As welcome said: the value of `holdfast-server`, and the caller's tag. */
  readonly server: string;
  readonly tag: string;
  /** What hello was said with. */
  readonly token: string | undefined;
  readonly link: string;
  readonly anonymous: string;
  readonly url: string;
  readonly interceptors: readonly Interceptor[];
  /** A try over HTTP in place of this one. Without interceptors: they have been around it. */
  readonly http: () => TryConnection;
  /** A try of this wire had a fault; see {@link TryConnection.fault}. */
  readonly fault: () => boolean;
}

/** A try that was sent before it had a connection of its own. */
export interface BegunWireTry {
  /** Its number on the wire. */
  readonly id: number;
  /** From here on `heir` hears how it ends, also when it has. */
  follow(heir: Waiter): void;
}

/** What such a try goes over: its transport sends nothing, and gives what comes of what was sent. */
export function begunWireTry(parts: WireTryParts, begun: BegunWireTry): TryConnection {
  return new WireTryConnection(parts, begun);
}

/** One try over a wire that is open. */
export function wireTry(parts: WireTryParts): TryConnection {
  return new WireTryConnection(parts);
}

class WireTryConnection implements TryConnection {
  readonly ownDeadline = false;
  readonly signedIn = true;
  readonly #parts: WireTryParts;
  readonly #begun: BegunWireTry | undefined;
  #progress: HttpProgress;
  #instead: TryConnection | undefined;

  constructor(parts: WireTryParts, begun?: BegunWireTry) {
    this.#parts = parts;
    this.#begun = begun;
    this.#progress = begun === undefined ? "idle" : "sent";
  }

  get transport(): UnaryTransport {
    return {
      unary: (method, signal, _timeoutMs, header, message, contextValues) =>
        this.#unary(method, signal, new Headers(header), message, contextValues),
    };
  }

  readonly http = (): HttpProgress | undefined =>
    this.#instead === undefined ? this.#progress : this.#instead.http();

  fault(): boolean {
    return this.#instead === undefined ? this.#parts.fault() : this.#instead.fault();
  }

  #overHttp(): TryConnection {
    this.#instead ??= this.#parts.http();
    return this.#instead;
  }

  #unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: Stop | undefined,
    header: Headers,
    message: MessageInitShape<I>,
    contextValues = createContextValues(),
  ): Promise<UnaryResponse<I, O>> {
    const { interceptors, url } = this.#parts;
    const begun = this.#begun;
    if (begun !== undefined) {
      return this.#answered(
        method,
        signal,
        () => begun.id,
        this.#parts.tag,
        (waiter) => begun.follow(waiter),
      );
    }
    const input = isMessage(message, method.input) ? message : create(method.input, message);
    if (interceptors.length === 0) return this.#send(method, signal, header, input, contextValues);
    return runUnaryCall<I, O>({
      interceptors: [...interceptors],
      ...(signal === undefined ? {} : { signal: abortSignalOf(signal) }),
      req: {
        stream: false,
        service: method.parent,
        method,
        requestMethod: "POST",
        url: createMethodUrl(url, method),
        header,
        contextValues,
        message: input,
      },
      next: (request) =>
        this.#send(method, request.signal, request.header, request.message, request.contextValues),
    });
  }

  #send<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: Stop | undefined,
    header: Headers,
    message: MessageShape<I>,
    contextValues: ReturnType<typeof createContextValues>,
  ): Promise<UnaryResponse<I, O>> {
    const { calls, link, anonymous, token } = this.#parts;
    const request = payloadOf(calls.end.codec, method.input, message);
    if (!this.#takes(header, request)) {
      if (token !== undefined && !header.has("authorization")) header.set("authorization", `Bearer ${token}`);
      return this.#overHttp().transport.unary(method, signal, undefined, header, message, contextValues);
    }
    const timeout = header.get("connect-timeout-ms");
    return this.#exchange(method, signal, {
      method,
      request,
      timeoutMs: timeout === null ? undefined : Number(timeout),
      stamp: stampOf(header, anonymous),
      link,
      headers: ownHeaders(header),
    });
  }

  #takes(header: Headers, request: Payload): boolean {
    if (!this.#parts.calls.end.open || header.has("cookie") || header.has("authorization")) return false;
    return payloadBytes(request) <= wireRequestBytesMost;
  }

  #exchange<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: Stop | undefined,
    one: Parameters<WireCalls["send"]>[0],
  ): Promise<UnaryResponse<I, O>> {
    const { calls, tag } = this.#parts;
    const send = (waiter: Waiter): number => {
      const id = calls.send(one, waiter);
      this.#progress = "sent";
      return id;
    };
    // A call of another anonymous link is not the wire's: an answer from before its caller was known names nobody.
    return this.#answered(method, signal, send, one.stamp?.anon === undefined ? tag : "");
  }

  /**
   * @param send - gives the number of the try, whose end `waiter` hears.
   * @param tag - the tag of the call's caller where an answer names none; "": nobody knows.
   * @param then - is called when the try can be cancelled.
   */
  #answered<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: Stop | undefined,
    send: (waiter: Waiter) => number,
    tag: string,
    then?: (waiter: Waiter) => void,
  ): Promise<UnaryResponse<I, O>> {
    const { calls } = this.#parts;
    return new Promise((resolve, reject) => {
      let forget: () => void = () => undefined;
      const waiter: Waiter = {
        result: (result) => {
          forget();
          this.#progress = "ours";
          try {
            resolve(this.#response(method, result, tag));
          } catch (error) {
            reject(error);
          }
        },
        lost: (fault: ConnectionFault) => {
          forget();
          reject(fault);
        },
      };
      const id = send(waiter);
      forget = onAbort(signal, (reason) => {
        calls.cancel(id);
        reject(reason);
      });
      then?.(waiter);
    });
  }

  #response<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    result: Result,
    tag: string,
  ): UnaryResponse<I, O> {
    const header = answerHeaders(result, this.#parts.server, tag);
    if (result.outcome.case !== "reply") throw errorOf(result, header);
    return {
      stream: false,
      service: method.parent,
      method,
      header,
      trailer: headersOf(result.trailers),
      message: messageIn(this.#parts.calls.end.codec, method.output, result.outcome.value),
    };
  }
}

/** The server's own error, with the headers that came beside it. */
function errorOf(result: Result, header: Headers): ConnectError {
  const error = fromLinkError(result.outcome.case === "error" ? result.outcome.value : undefined);
  header.forEach((value, name) => error.metadata.set(name, value));
  return error;
}

/** The headers that the same answer has over HTTP. */
function answerHeaders(result: Result, server: string, tag: string): Headers {
  const headers = headersOf(result.headers);
  headers.set(headerNames.server, server);
  const mark = markOfLink(result.mark);
  if (mark === undefined) return headers;
  headers.set(headerNames.settled, mark);
  const caller = result.caller === "" ? tag : result.caller;
  if (caller !== "") headers.set(headerNames.caller, caller);
  if (result.repeat) headers.set(headerNames.repeat, "1");
  return headers;
}

function headersOf(list: readonly Header[]): Headers {
  const headers = new Headers();
  for (const { name, value } of list) headers.append(name, value);
  return headers;
}

/** What hello has said already, or a field of the message says. */
const knownNames: ReadonlySet<string> = new Set([
  "connect-timeout-ms",
  headerNames.call,
  headerNames.for,
  headerNames.anon,
  headerNames.session,
  headerNames.build,
]);

function ownHeaders(headers: Headers): Header[] {
  const own: Header[] = [];
  headers.forEach((value, name) => {
    if (!knownNames.has(name)) own.push({ $typeName: "holdfast.link.v1.Header", name, value });
  });
  return own;
}

function stampOf(headers: Headers, anonymous: string): StampFields | undefined {
  const value = headers.get(headerNames.call);
  const call = value === null ? undefined : parseCallHeader(value);
  if (call?.lane === undefined) return undefined;
  const anon = headers.get(headerNames.anon) ?? undefined;
  return {
    ...call.lane,
    callId: call.id,
    expectedCaller: headers.get(headerNames.for) ?? undefined,
    anon: anon === anonymous ? undefined : anon,
  };
}
