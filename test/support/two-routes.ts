/**
 * One server's routes twice, its own way and under Connect's adapter, and a raw way to ask both: for tests that a client
 * sees the same from each.
 */
import { createServer as createHttp1Server, request as http1Request } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";

export type HttpVersion = "HTTP/1.1" | "HTTP/2";

/** A request as it goes out. */
export interface Asked {
  readonly path: string;
  /** Default: POST. */
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** What a client sees of the answer. */
export interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Whether the body so far is enough, for an answer that stays open. */
export type Enough = (body: Buffer) => boolean;

export interface UnderConnect extends AsyncDisposable {
  readonly ports: Readonly<Record<HttpVersion, number>>;
}

/** Serves routes by Connect's own handlers, on a free port for each version of HTTP. */
export async function underConnect(routes: (router: ConnectRouter) => void): Promise<UnderConnect> {
  const servers = {
    "HTTP/1.1": createHttp1Server(connectNodeAdapter({ routes })),
    "HTTP/2": createHttp2Server(connectNodeAdapter({ routes })),
  };
  const all = Object.values(servers);
  await Promise.all(
    all.map((server) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
  );
  const portOf = (version: HttpVersion): number => (servers[version].address() as AddressInfo).port;
  return {
    ports: { "HTTP/1.1": portOf("HTTP/1.1"), "HTTP/2": portOf("HTTP/2") },
    [Symbol.asyncDispose]: async () => all.forEach((server) => server.close()),
  };
}

/** Sends a request; resolves with what was seen at the answer's end, or when it is enough. */
export function ask(version: HttpVersion, port: number, asked: Asked, enough?: Enough): Promise<Seen> {
  return version === "HTTP/2" ? over2(port, asked, enough) : over1(port, asked, enough);
}

function over1(
  port: number,
  { path, method = "POST", headers, body }: Asked,
  enough?: Enough,
): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const request = http1Request({ port, host: "127.0.0.1", path, method, headers, agent: false });
    request.on("error", reject);
    request.on("response", (response) => {
      const pieces: Buffer[] = [];
      const done = (): void => {
        resolve(seen(response.statusCode ?? 0, response.headers, Buffer.concat(pieces)));
        request.destroy();
      };
      response.on("data", (piece: Buffer) => {
        pieces.push(piece);
        if (enough?.(Buffer.concat(pieces)) === true) done();
      });
      response.on("end", done);
      response.on("error", () => undefined); // of the cut after it was enough
    });
    request.end(body);
  });
}

async function over2(
  port: number,
  { path, method = "POST", headers, body }: Asked,
  enough?: Enough,
): Promise<Seen> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  try {
    return await new Promise((resolve, reject) => {
      session.on("error", reject);
      const stream = session.request({ ":method": method, ":path": path, ...headers });
      let head: NodeJS.Dict<string | string[]> = {};
      const pieces: Buffer[] = [];
      const done = (): void => resolve(seen(Number(head[":status"]), head, Buffer.concat(pieces)));
      stream.on("error", reject);
      stream.on("response", (its) => (head = its as NodeJS.Dict<string | string[]>));
      stream.on("data", (piece: Buffer) => {
        pieces.push(piece);
        if (enough?.(Buffer.concat(pieces)) === true) done();
      });
      stream.on("end", done);
      stream.end(method === "GET" ? undefined : body);
    });
  } finally {
    session.destroy();
  }
}

/** Of the connection, and not of the answer. */
const notCompared = ["date", "connection", "keep-alive", "transfer-encoding"];

function seen(status: number, headers: NodeJS.Dict<string | string[]>, body: Buffer): Seen {
  const names = Object.keys(headers).filter((name) => !name.startsWith(":") && !notCompared.includes(name));
  return {
    status,
    headers: Object.fromEntries(names.sort().map((name) => [name, String(headers[name])])),
    body: body.toString("latin1"),
  };
}
