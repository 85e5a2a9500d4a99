/**
 * Connect's own transport over an HTTP client, for what streams: only programs with streams are loaded with it.
 */
import type { Transport } from "@connectrpc/connect";
import { createTransport } from "@connectrpc/connect/protocol-connect";
import type { HttpClient } from "../base/http-client.ts";
import { type HttpTransportOptions, type HttpTry, watchedSend } from "./http-transport.ts";

/** Connect's own limits: what a server answers is bounded by the server, and by the memory of the client. */
const bytesMost = 0xffffffff;

/** A transport for one stream over one client. */
export function httpStreamTry(client: HttpClient, options: HttpTransportOptions): HttpTry<Transport> {
  const { send, progress, head } = watchedSend(client, true);
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
  return { transport, progress, head };
}
