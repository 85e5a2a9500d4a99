/**
 * One port for everything: HTTP/2 without TLS, HTTP/1.1 and WebSocket upgrades told apart by their first bytes,
 * or TLS with ALPN. Node has a server for each; none of them listens here, they are handed the sockets.
 *
 * Source: design "Server: What a user writes"; the limits are those of "Quality: Security".
 */
import {
  createServer as createHttp1Server,
  type IncomingMessage,
  type Server as Http1Server,
} from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import {
  type AddressInfo,
  type Server as NetServer,
  type Socket,
  createServer as createNetServer,
} from "node:net";
import { type TLSSocket, createServer as createTlsServer } from "node:tls";
import type { Duplex } from "node:stream";
import type { Clock } from "../../runtime/base/clock.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import type { Log } from "../../runtime/base/log.ts";
import { sniff } from "./first-bytes.ts";
import { type Http1Connections, watchHttp1Connections } from "./http1-connections.ts";
import { type Http2Sessions, watchHttp2Sessions } from "./http2-sessions.ts";
import type { NodeListener } from "./node-listener.ts";

export interface ListenOptions {
  /** 0: any free port. Default 0. */
  readonly port?: number;
  /** Default: every address of this machine. */
  readonly host?: string;
  /** Speaks TLS alone: HTTP/2 and HTTP/1.1 by ALPN. PEM texts. */
  readonly tls?: { readonly key: string | Buffer; readonly cert: string | Buffer };
}

/** Where a server listens. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** What a client of this machine connects to. */
  readonly url: string;
}

export interface ListenParts {
  readonly request: NodeListener;
  /** Takes a WebSocket upgrade; undefined: there are none, and they are refused. */
  readonly upgrade: ((request: IncomingMessage, socket: Duplex, head: Buffer) => void) | undefined;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: Log;
}

/** An open port. */
export interface Listener {
  readonly address: ListenAddress;
  readonly connectionCount: number;
  /** Accepts nothing new; connections end when their last answer is out, each told so after a wait of its own. */
  drain(waitMs: () => number): void;
  /** Resolves when no connection is open. */
  emptied(): Promise<void>;
  /** Ends every connection now. Resolves when the port is free. */
  close(): Promise<void>;
}

/**
 * Opens the port.
 *
 * @throws Error saying what is wrong with the port or the address, with Node's error as its cause.
 */
export async function listen(options: ListenOptions, parts: ListenParts): Promise<Listener> {
  const http1 = createHttp1(parts);
  const http2 = createHttp2(parts);
  const sessions = watchHttp2Sessions(http2, parts);
  const connections = watchHttp1Connections(http1, parts.clock);
  const sockets = new Set<Socket>();
  /** Those that have not said a word. */
  const silent = new Set<Socket>();
  let emptied: (() => void)[] = [];
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("close", () => {
      sockets.delete(socket);
      if (sockets.size > 0) return;
      for (const resolve of emptied) resolve();
      emptied = [];
    });
    socket.on("error", () => undefined); // its "close" follows; without a listener the process ends
    socket.setNoDelay(true);
  };
  const hand = (socket: Socket, protocol: "http1" | "http2"): void => {
    (protocol === "http2" ? http2 : http1).emit("connection", socket);
  };
  const net = options.tls === undefined ? createNetServer() : createTls(options.tls, parts, hand);
  net.on("connection", accept);
  if (options.tls === undefined) {
    const wait = { clock: parts.clock, waitMs: parts.limits.headersWaitMs };
    net.on("connection", (socket: Socket) => {
      silent.add(socket);
      socket.on("close", () => silent.delete(socket));
      sniff(socket, wait, (protocol) => {
        silent.delete(socket);
        hand(socket, protocol);
      });
    });
  }
  const address = await opened(net, options);
  // Starts Node's checks of slow HTTP/1.1 requests, which otherwise begin when that server itself listens.
  http1.emit("listening");
  return {
    address,
    get connectionCount() {
      return sockets.size;
    },
    emptied: () => (sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => emptied.push(resolve))),
    drain(waitMs) {
      net.close(() => undefined);
      sessions.drain(waitMs);
      connections.drain(waitMs());
      for (const socket of silent) socket.destroy();
    },
    close: () => close(net, connections, sessions, sockets),
  };
}

function createHttp1(parts: ListenParts): Http1Server {
  const { limits } = parts;
  const server = createHttp1Server({
    maxHeaderSize: limits.headerBytesMost,
    headersTimeout: Math.min(limits.headersWaitMs, limits.bodyWaitMs),
    requestTimeout: limits.bodyWaitMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: Math.min(checkEveryMs, limits.headersWaitMs / 2),
  });
  // Node drops what is above this without a word; one more lets the listener see it and refuse.
  server.maxHeadersCount = limits.headerCountMost + 8;
  server.on("request", parts.request);
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => refuseBadRequest(error, socket));
  server.on("upgrade", (request, socket, head) => {
    socket.on("error", () => undefined);
    if (parts.upgrade !== undefined) parts.upgrade(request, socket, head);
    else socket.end("HTTP/1.1 501 Not Implemented\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
  });
  return server;
}

/** How often Node looks for requests that are too slow. */
const checkEveryMs = 5_000;

/** Answers in HTTP/1.1 what its parser gave up. */
function refuseBadRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const line =
    error.code === "HPE_HEADER_OVERFLOW"
      ? "431 Request Header Fields Too Large"
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? "408 Request Timeout"
        : "400 Bad Request";
  socket.end(`HTTP/1.1 ${line}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`, () => socket.destroy());
}

function createHttp2(parts: ListenParts): ReturnType<typeof createHttp2Server> {
  const { limits } = parts;
  const server = createHttp2Server({
    settings: {
      maxConcurrentStreams: limits.streamsPerConnectionMost,
      maxHeaderListSize: limits.headerBytesMost,
    },
    // Node counts :method, :path, :scheme and :authority too.
    maxHeaderListPairs: limits.headerCountMost + 4,
  });
  server.on("request", parts.request);
  return server;
}

function createTls(
  tls: { readonly key: string | Buffer; readonly cert: string | Buffer },
  parts: ListenParts,
  hand: (socket: Socket, protocol: "http1" | "http2") => void,
): NetServer {
  const server = createTlsServer({
    key: tls.key,
    cert: tls.cert,
    ALPNProtocols: ["h2", "http/1.1"],
    minVersion: "TLSv1.2",
    handshakeTimeout: parts.limits.headersWaitMs,
  });
  server.on("secureConnection", (socket: TLSSocket) => {
    socket.on("error", () => undefined);
    hand(socket, socket.alpnProtocol === "h2" ? "http2" : "http1");
  });
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  return server;
}

function opened(net: NetServer, options: ListenOptions): Promise<ListenAddress> {
  const { port = 0, host } = options;
  return new Promise((resolve, reject) => {
    net.once("error", (cause: NodeJS.ErrnoException) => {
      reject(new Error(`holdfast: cannot listen on port ${port}: ${mend(cause, host)}`, { cause }));
    });
    net.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
      net.removeAllListeners("error");
      net.on("error", () => undefined); // a connection that could not be accepted is not ours to report
      const bound = net.address() as AddressInfo;
      const anyAddress = bound.address === "::" || bound.address === "0.0.0.0";
      const name = anyAddress ? "localhost" : bound.family === "IPv6" ? `[${bound.address}]` : bound.address;
      const scheme = options.tls === undefined ? "http" : "https";
      resolve({ host: bound.address, port: bound.port, url: `${scheme}://${name}:${bound.port}` });
    });
  });
}

function mend(error: NodeJS.ErrnoException, host: string | undefined): string {
  if (error.code === "EADDRINUSE") return "another program listens there. Stop it, or take another port.";
  if (error.code === "EACCES") return "this user may not. Take a port above 1023, or run behind a proxy.";
  if (error.code === "EADDRNOTAVAIL") return `this machine has no address "${host ?? ""}".`;
  return error.message;
}

async function close(
  net: NetServer,
  http1: Http1Connections,
  sessions: Http2Sessions,
  sockets: ReadonlySet<Socket>,
): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    if (net.listening) net.close(() => resolve());
    else if (sockets.size === 0) resolve();
    else net.once("close", resolve);
  });
  sessions.destroy();
  http1.destroy();
  for (const socket of sockets) socket.destroy();
  await closed;
}
