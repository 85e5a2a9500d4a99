/**
 * What a try goes over on the link's HTTP client, made anew for each: that costs two closures, and lets the try
 * know how far it got without a word between the layers.
 */
import type { Interceptor } from "@connectrpc/connect";
import type { UniversalClientResponse } from "@connectrpc/connect/protocol";
import type { HttpClient, HttpRequest } from "../base/http-client.ts";
import { connectAnswer } from "../call/answer.ts";
import type { UnaryTransport } from "../call/call-environment.ts";
import { headerNames } from "../call/headers.ts";
import type { HttpProgress } from "../call/outcome.ts";
import type { Codec } from "../codec/codec.ts";
import { unaryTransport } from "./unary-transport.ts";

export interface HttpTransportOptions {
  readonly baseUrl: string;
  /** What writes messages as JSON; undefined: they travel in the binary form. */
  readonly json: Codec | undefined;
  readonly interceptors: readonly Interceptor[];
}

/** A sender that notes how far its one request got. */
export interface WatchedSend {
  readonly send: (request: HttpRequest) => Promise<UniversalClientResponse>;
  readonly progress: () => HttpProgress;
  /** The head of the answer, from when it is there. */
  readonly head: () => Headers | undefined;
}

/** @typeParam Its - what kind of calls it makes. */
export interface HttpTry<Its = UnaryTransport> extends Omit<WatchedSend, "send"> {
  readonly transport: Its;
}

/** A transport for one try over one client. */
export function httpTry(client: HttpClient, options: HttpTransportOptions): HttpTry {
  const { send, progress, head } = watchedSend(client, false);
  return { transport: unaryTransport(send, options), progress, head };
}

/** Sends one request over a client, and sees to it that what is given back is an answer of the protocol. */
export function watchedSend(client: HttpClient, streaming: boolean): WatchedSend {
  let progress: HttpProgress = "idle";
  let head: Headers | undefined;
  const onSent = (): void => {
    if (progress === "connecting") progress = "sent";
  };
  return {
    async send(request) {
      progress = "connecting";
      const response = await client.send({ ...request, onSent });
      head = response.header;
      const answer = await connectAnswer(response, streaming);
      progress = answer.header.has(headerNames.server) ? "ours" : "answered";
      return answer;
    },
    progress: () => progress,
    head: () => head,
  };
}
