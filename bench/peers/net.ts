/** Raw TCP: lines of JSON, those of a turn of the event loop in one write. */
import { once } from "node:events";
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from "node:net";
import { type Connected, type Peer, pouredText, type Served } from "../peer.ts";

interface Said {
  readonly id: number;
  readonly text: string;
  readonly n: number;
}

/** Writes the lines of a turn at once. */
function writer(socket: Socket): (one: unknown) => void {
  let waiting = "";
  return (one) => {
    const isFirst = waiting === "";
    waiting += `${JSON.stringify(one)}\n`;
    if (!isFirst) return;
    queueMicrotask(() => {
      socket.write(waiting);
      waiting = "";
    });
  };
}

function eachLine(socket: Socket, got: (line: string) => void): void {
  let rest = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) got(line);
  });
}

function pour(socket: Socket): void {
  let n = 0;
  const more = (): void => {
    let lines = "";
    for (let i = 0; i < 64; i += 1) lines += `${JSON.stringify({ text: pouredText, n: (n += 1) })}\n`;
    if (socket.destroyed) return;
    if (socket.write(lines)) setImmediate(more);
    else socket.once("drain", more);
  };
  more();
}

async function serve(): Promise<Served> {
  const server = createServer((socket) => {
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    const answer = writer(socket);
    const handler = async ({ id, text, n }: Said): Promise<Said> => ({ id, text, n: n + 1 });
    eachLine(socket, (line) => {
      if (line === "pour") pour(socket);
      else void handler(JSON.parse(line) as Said).then(answer);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port };
}

async function connect(port: number): Promise<Connected> {
  const socket = connectTcp(port, "127.0.0.1");
  await once(socket, "connect");
  socket.setNoDelay(true);
  const waiting = new Map<number, (said: Said) => void>();
  let onItem: ((said: Said) => void) | undefined;
  eachLine(socket, (line) => {
    const said = JSON.parse(line) as Said;
    if (onItem !== undefined) {
      onItem(said);
      return;
    }
    const resolve = waiting.get(said.id);
    waiting.delete(said.id);
    resolve?.(said);
  });
  const send = writer(socket);
  let id = 0;
  return {
    ask: ({ text, n }) =>
      new Promise((resolve) => {
        id += 1;
        waiting.set(id, resolve);
        send({ id, text, n });
      }),
    async pour(got) {
      socket.write("pour\n");
      await new Promise<void>((resolve) => {
        onItem = () => {
          if (got(1)) return;
          onItem = () => undefined;
          socket.destroy();
          resolve();
        };
      });
    },
  };
}

export const peers: readonly Peer[] = [{ name: "net, batched", serve, connect }];
