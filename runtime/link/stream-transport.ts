/**
 * Streaming calls of the Connect protocol. Connect's own transport pipes each piece of an answer through five async
 * iterables, which costs more than all else that a small message takes; what goes over the network is the same.
 *
 * Only programs with streams are loaded with it.
 */
import { create, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import {
  createContextValues,
  type StreamRequest,
  type StreamResponse,
  type Transport,
} from "@connectrpc/connect";
import { validateResponseWithCompression } from "@connectrpc/connect/protocol-connect";
import type { HttpClient } from "../base/http-client.ts";
import type { Codec } from "../codec/codec.ts";
import { around, connectHeaders } from "./connect-request.ts";
import { EnvelopedMessages, envelopeOf } from "./envelopes.ts";
import { type HttpTransportOptions, type HttpTry, type WatchedSend, watchedSend } from "./http-transport.ts";

export interface StreamTransportOptions extends HttpTransportOptions {
  /** Called for the head of an answer and for each piece of its body, before it is read. */
  readonly onByte?: () => void;
}

/** A transport for one stream over one client. */
export function httpStreamTry(
  client: HttpClient,
  options: StreamTransportOptions,
): HttpTry<Pick<Transport, "stream">> {
  const { send, progress, head } = watchedSend(client, true);
  return { transport: streamTransport(send, options), progress, head };
}

type Next = (request: StreamRequest) => Promise<StreamResponse>;

function streamTransport(
  send: WatchedSend["send"],
  { baseUrl, json, interceptors, onByte }: StreamTransportOptions,
): Pick<Transport, "stream"> {
  const next: Next = (request) => exchange(send, request, json, onByte);
  return {
    async stream(method, signal, _timeoutMs, header, input, contextValues = createContextValues()) {
      const request = {
        stream: true,
        service: method.parent,
        method,
        requestMethod: "POST",
        url: `${baseUrl}/${method.parent.typeName}/${method.name}`,
        signal: signal ?? new AbortController().signal,
        header: connectHeaders(
          header,
          json === undefined ? "application/connect+proto" : "application/connect+json",
        ),
        contextValues,
        message: wholeMessages(method.input, input),
      } as const;
      const sendAll = around(interceptors, next);
      return (await sendAll(request)) as StreamResponse<(typeof method)["input"], (typeof method)["output"]>;
    },
  };
}

async function* wholeMessages<Desc extends DescMessage>(
  desc: Desc,
  input: AsyncIterable<MessageInitShape<Desc>>,
): AsyncGenerator<MessageShape<Desc>> {
  for await (const message of input) yield create(desc, message);
}

async function* envelopes<Desc extends DescMessage>(
  desc: Desc,
  messages: AsyncIterable<MessageShape<Desc>>,
  json: Codec | undefined,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const message of messages) yield envelopeOf(desc, message, json);
}

async function exchange(
  send: WatchedSend["send"],
  request: StreamRequest,
  json: Codec | undefined,
  onByte: (() => void) | undefined,
): Promise<StreamResponse> {
  const { url, method, header, signal, service } = request;
  const body = envelopes(method.input, request.message, json);
  const answer = await send({ url, method: "POST", header, signal, body });
  onByte?.();
  // Connect's own words for what is no answer to a streaming call.
  validateResponseWithCompression(method.methodKind, [], json === undefined, answer.status, answer.header);
  const trailer = new Headers();
  const parts = { body: answer.body, header: answer.header, trailer, json, onByte };
  const message = new EnvelopedMessages(method.output, parts);
  return { stream: true, service, method, header: answer.header, message, trailer };
}
