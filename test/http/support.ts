/** Servers, requests and counts for the tests of the HTTP clients. */
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import type { UniversalClientResponse } from "@connectrpc/connect/protocol";
import type { HttpRequest } from "../../runtime/base/http-client.ts";

export interface TestServer extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  /** Sessions that are open now. */
  readonly sessions: Set<ServerHttp2Session>;
  sessionCount: number;
  readonly server: Http2Server;
}

export type StreamHandler = (stream: ServerHttp2Stream, body: string) => void;

export async function listen(server: Server | Http2Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return (server.address() as AddressInfo).port;
}

/** An HTTP/2 server without TLS; the handler gets a stream when its request is complete. */
export async function http2Server(
  handler: StreamHandler,
  settings: { maxConcurrentStreams?: number } = {},
): Promise<TestServer> {
  const server = createServer({ settings });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    made.sessionCount++;
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => undefined);
  });
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    let body = "";
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => (body += chunk));
    stream.on("end", () => {
      if (!stream.destroyed && !stream.aborted) handler(stream, body);
    });
  });
  const port = await listen(server);
  const made: TestServer = {
    origin: `http://127.0.0.1:${port}`,
    port,
    sessions,
    sessionCount: 0,
    server,
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return made;
}

export const echo: StreamHandler = (stream, body) => {
  stream.respond({ ":status": 200, "content-type": "text/plain" });
  stream.end(`echo ${body}`);
};

export async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield new TextEncoder().encode(text);
}

export function post(origin: string, text: string, more: Partial<HttpRequest> = {}): HttpRequest {
  return {
    url: `${origin}/call`,
    method: "POST",
    header: new Headers({ "content-type": "text/plain" }),
    body: chunks(text),
    ...more,
  };
}

export async function text(answer: UniversalClientResponse): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of answer.body) parts.push(part);
  return Buffer.concat(parts).toString();
}

/** Reads one chunk of a body and goes, as a loop with a break does. */
export async function readOne(answer: UniversalClientResponse): Promise<void> {
  const reader = answer.body[Symbol.asyncIterator]();
  await reader.next();
  await reader.return?.();
}

/** Real turns of the event loop until the condition holds: for what happens in other sockets. */
export async function until(holds: () => boolean, turnsMost = 20_000): Promise<void> {
  for (let turn = 0; !holds(); turn++) {
    if (turn > turnsMost) throw new Error(`never happened: ${holds.toString()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Sockets of this process that are open, listeners not among them. */
export function socketCount(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap" || name === "TLSWrap")
    .length;
}

/** Counts the listeners of an abort signal. */
export function countedSignal(): { controller: AbortController; listenerCount: () => number } {
  const controller = new AbortController();
  const { signal } = controller;
  const listeners = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners.add(args[1]);
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners.delete(args[1]);
    remove(...args);
  };
  return { controller, listenerCount: () => listeners.size };
}
