/** socket.io over WebSocket: acknowledgements as calls, rooms, and its recovery of a connection's state. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server, type Socket } from "socket.io";
import { io, type Socket as ClientSocket } from "socket.io-client";
import {
  changePage,
  type Connected,
  firstPage,
  type Note,
  type PageContent,
  type Peer,
  pouredText,
  type Served,
} from "../peer.ts";

type Ack<T> = (said: T) => void;

async function serve(recovers: boolean): Promise<Served> {
  const http = createServer();
  const server = new Server(http, {
    transports: ["websocket"],
    perMessageDeflate: false,
    ...(recovers ? { connectionStateRecovery: {} } : {}),
  });
  const page = firstPage();
  server.on("connection", (socket) => {
    socket.on("ask", ({ text, n }: Note, reply: Ack<Note>) => reply({ text, n: n + 1 }));
    socket.on("pour", () => pour(socket));
    socket.on("follow", (done: Ack<boolean>) => {
      void socket.join("tail");
      done(true);
    });
    socket.on("watch", (done: Ack<PageContent>) => {
      void socket.join("page");
      done(page);
    });
    socket.on("topic", (name: string, done: Ack<boolean>) => {
      void socket.join(name);
      // What the client has seen last is what is recovered from: without any message nothing is.
      if (recovers && name === "topic-0") server.to(name).emit("news", 1);
      done(true);
    });
  });
  await once(http.listen(0, "127.0.0.1"), "listening");
  return {
    port: (http.address() as AddressInfo).port,
    publish: (note) => server.to("tail").emit("note", note),
    rewrite(text) {
      page.text = text;
      server.to("page").emit("page", page);
    },
    change(change) {
      changePage(page, change);
      server.to("page").emit("page", page);
    },
  };
}

/** 64 in one turn, then when the connection has taken them; without a turn in between the server hears nothing. */
function pour(socket: Socket): void {
  let n = 0;
  const more = (): void => {
    if (!socket.connected) return;
    for (let i = 0; i < 64; i += 1) socket.emit("item", { text: pouredText, n: (n += 1) });
    socket.conn.once("drain", () => setImmediate(more));
  };
  more();
}

async function connect(port: number): Promise<Connected> {
  const socket = io(`http://127.0.0.1:${port}`, {
    transports: ["websocket"],
    forceNew: true,
    reconnectionDelay: 1,
    reconnectionDelayMax: 1,
    randomizationFactor: 0,
  });
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  return {
    ask: (note) => new Promise((resolve) => socket.emit("ask", note, resolve)),
    async pour(got) {
      await new Promise<void>((resolve) => {
        socket.on("item", () => {
          if (got(1)) return;
          socket.removeAllListeners("item");
          socket.disconnect();
          resolve();
        });
        socket.emit("pour");
      });
    },
    async follow(heard) {
      await new Promise((resolve) => socket.emit("follow", resolve));
      socket.on("note", ({ n }: Note) => heard(n > 0 ? 1 : 0));
    },
    async watch(heard) {
      await new Promise((resolve) => socket.emit("watch", resolve));
      socket.on("page", () => heard());
    },
    hold: (count, live) => hold(socket, count, live),
  };
}

/** Joins as many rooms; after a drop the server still knows them, or each is joined again. */
async function hold(socket: ClientSocket, count: number, live: () => void): Promise<object> {
  const join = async (): Promise<void> => {
    const joins = Array.from(
      { length: count },
      (_, at) => new Promise((resolve) => socket.emit("topic", `topic-${at}`, resolve)),
    );
    await Promise.all(joins);
    live();
  };
  socket.on("connect", () => {
    if (socket.recovered) live();
    else void join();
  });
  await join();
  return {};
}

export const peers: readonly Peer[] = [
  { name: "socket.io", serve: () => serve(false), connect },
  { name: "socket.io, recovered", serve: () => serve(true), connect },
];
