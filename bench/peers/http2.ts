/** Raw node:http2: one stream for each call, JSON in its body. */
import { once } from "node:events";
import { connect as connectHttp2, createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import type { Connected, Note, Peer, Served } from "../peer.ts";

async function serve(): Promise<Served> {
  const server = createServer({ settings: { maxConcurrentStreams: 20_000 } });
  server.on("stream", (stream: ServerHttp2Stream) => {
    let body = "";
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => (body += chunk));
    stream.on("end", () => {
      const { text, n } = JSON.parse(body) as Note;
      stream.respond({ ":status": 200, "content-type": "application/json" });
      stream.end(JSON.stringify({ text, n: n + 1 }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port };
}

async function connect(port: number): Promise<Connected> {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  await once(session, "connect");
  return {
    ask: (note) =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ":method": "POST", ":path": "/ask" });
        let body = "";
        stream.setEncoding("utf8");
        stream.on("data", (chunk: string) => (body += chunk));
        stream.on("end", () => resolve(JSON.parse(body) as Note));
        stream.on("error", reject);
        stream.end(JSON.stringify(note));
      }),
  };
}

export const peers: readonly Peer[] = [{ name: "node:http2", serve, connect }];
