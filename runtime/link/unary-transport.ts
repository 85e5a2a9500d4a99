/**
 * Unary calls of the Connect protocol: one request with one whole body, one answer with one. Connect's own transport
 * is made for streams as well: it pipes each body through async iterables, and makes and aborts a signal of its own
 * for every call that succeeds. What goes over the network is the same.
 *
 * Source: decision "The unary path".
 */
import { create, type DescMessage, type DescMethodUnary, type MessageInitShape } from "@bufbuild/protobuf";
import {
  appendHeaders,
  createContextValues,
  type Interceptor,
  type UnaryRequest,
  type UnaryResponse,
} from "@connectrpc/connect";
import type { UniversalClientResponse } from "@connectrpc/connect/protocol";
import {
  errorFromJsonBytes,
  trailerDemux,
  validateResponseWithCompression,
} from "@connectrpc/connect/protocol-connect";
import type { HttpRequest } from "../base/http-client.ts";
import { abortSignalOf, LateSignal, type Stop } from "../base/late-signal.ts";
import { bytesOf, WholeBody } from "../base/whole-body.ts";
import type { UnaryTransport } from "../call/call-environment.ts";
import type { Codec } from "../codec/codec.ts";
import { around, connectHeaders } from "./connect-request.ts";
import { bytesOfMessage, messageOfBytes } from "./message-bytes.ts";

export interface UnaryTransportOptions {
  readonly baseUrl: string;
  /** What writes messages as JSON; undefined: they travel in the binary form. */
  readonly json: Codec | undefined;
  readonly interceptors: readonly Interceptor[];
}

/** Sends a request; what it gives is an answer of the protocol. */
export type SendUnary = (request: HttpRequest) => Promise<UniversalClientResponse>;

/** What makes a unary call. It keeps no time: a call's budget is told by its headers and kept by its signal. */
export function unaryTransport(send: SendUnary, options: UnaryTransportOptions): UnaryTransport {
  return {
    async unary<I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      stop: Stop = new LateSignal(),
      _timeoutMs: number | undefined,
      header: HeadersInit | undefined,
      message: MessageInitShape<I>,
      contextValues = createContextValues(),
    ): Promise<UnaryResponse<I, O>> {
      const request = {
        stream: false,
        service: method.parent,
        method,
        requestMethod: "POST",
        url: `${options.baseUrl}/${method.parent.typeName}/${method.name}`,
        // Few interceptors look at it.
        get signal() {
          return abortSignalOf(stop);
        },
        header: connectHeaders(header, contentType(options.json)),
        contextValues,
        message: create(method.input, message),
      } as const;
      const sendAll = around<Next>(options.interceptors, (its) =>
        exchange(send, its, its === request ? stop : its.signal, options.json),
      );
      return (await sendAll(request)) as UnaryResponse<I, O>;
    },
  };
}

/** Most answers have no trailers: they are not copied. */
function demuxed(header: Headers): [header: Headers, trailer: Headers] {
  for (const name of header.keys()) if (name.startsWith("trailer-")) return trailerDemux(header);
  return [header, new Headers()];
}

type Next = (request: UnaryRequest) => Promise<UnaryResponse>;

function contentType(json: Codec | undefined): string {
  return json === undefined ? "application/proto" : "application/json";
}

async function exchange(
  send: SendUnary,
  request: UnaryRequest,
  signal: Stop,
  json: Codec | undefined,
): Promise<UnaryResponse> {
  const { url, method, header, service } = request;
  const body = new WholeBody(bytesOfMessage(method.input, request.message, json));
  const response = await send({ url, method: "POST", header, signal, body });
  const { status, header: its } = response;
  const plain =
    status === 200 && its.get("content-type") === contentType(json) && !its.has("content-encoding");
  // Connect's own words for what is not.
  const error = plain
    ? undefined
    : validateResponseWithCompression("unary", [], json === undefined, status, its).unaryError;
  const bytes = await bytesOf(response.body);
  const [head, trailer] = demuxed(its);
  if (error !== undefined) throw errorFromJsonBytes(bytes, appendHeaders(head, trailer), error);
  const message = messageOfBytes(method.output, bytes, json);
  return { stream: false, service, method, header: head, trailer, message };
}
