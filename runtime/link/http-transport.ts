/**
 * Connect's transport over the link's HTTP client, made anew for each try: that costs two closures, and lets
 * the try know how far it got without a word between the layers.
 */
import type { Interceptor, Transport } from "@connectrpc/connect";
import type { UniversalClientRequest, UniversalClientResponse } from "@connectrpc/connect/protocol";
import { createTransport } from "@connectrpc/connect/protocol-connect";
import type { HttpClient } from "../base/http-client.ts";
import { connectAnswer } from "../call/answer.ts";
import { headerNames } from "../call/headers.ts";
import type { HttpProgress } from "../call/outcome.ts";

export interface HttpTransportOptions {
  readonly baseUrl: string;
  readonly format: "binary" | "json";
  readonly interceptors: readonly Interceptor[];
}

/** Connect's own limits: what a server answers is bounded by the server, and by the memory of the client. */
const bytesMost = 0xffffffff;

export interface HttpTry {
  readonly transport: Transport;
  readonly progress: () => HttpProgress;
  /** The head of the answer, from when it is there. */
  readonly head: () => Headers | undefined;
}

/** A transport for one try over one client. */
export function httpTry(client: HttpClient, options: HttpTransportOptions): HttpTry {
  let progress: HttpProgress = "idle";
  let head: Headers | undefined;
  const send = async (request: UniversalClientRequest): Promise<UniversalClientResponse> => {
    progress = "connecting";
    const onSent = (): void => {
      if (progress === "connecting") progress = "sent";
    };
    const streaming = (request.header.get("content-type") ?? "").startsWith("application/connect+");
    const response = await client.send({ ...request, onSent });
    head = response.header;
    const answer = await connectAnswer(response, streaming);
    progress = answer.header.has(headerNames.server) ? "ours" : "answered";
    return answer;
  };
  const transport = createTransport({
    httpClient: send,
    baseUrl: options.baseUrl,
    useBinaryFormat: options.format === "binary",
    interceptors: [...options.interceptors],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: bytesMost,
    readMaxBytes: bytesMost,
    writeMaxBytes: bytesMost,
  });
  return { transport, progress: () => progress, head: () => head };
}
