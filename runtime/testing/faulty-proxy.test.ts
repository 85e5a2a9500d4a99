import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { type FaultyProxy, faultyProxy } from "./faulty-proxy.ts";
import { virtualClock } from "./virtual-clock.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function until(holds: () => boolean): Promise<void> {
  for (let count = 0; !holds(); count++) {
    if (count > 20_000) throw new Error(`never happened: ${holds.toString()}`);
    await turn();
  }
}

/** A server that gives every byte back, and counts what it got. */
async function echoServer(): Promise<
  AsyncDisposable & { port: number; got: () => number; sockets: Set<Socket> }
> {
  let got = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    socket.on("data", (data) => (got += data.byteLength));
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return {
    port: (server.address() as AddressInfo).port,
    got: () => got,
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Client {
  readonly socket: Socket;
  text: string;
  segments: number;
  end: "open" | "ended" | "closed" | "ECONNREFUSED" | "ECONNRESET";
}

function client(proxy: FaultyProxy): Client {
  const socket = connect({ port: proxy.port, host: "127.0.0.1", noDelay: true });
  const made: Client = { socket, text: "", segments: 0, end: "open" };
  socket.on("data", (data: Buffer) => {
    made.text += data.toString();
    made.segments++;
  });
  socket.on("error", (error: Error & { code?: string }) => (made.end = error.code as Client["end"]));
  socket.on("end", () => (made.end = "ended"));
  return made;
}

describe("faultyProxy", () => {
  it("passes bytes both ways, and leaves nothing when it is closed", async () => {
    await using server = await echoServer();
    const proxy = await faultyProxy({ target: server });
    const one = client(proxy);
    one.socket.write("hello");
    await until(() => one.text === "hello");
    expect([proxy.requestBytes, proxy.replyBytes, proxy.openCount]).toEqual([5, 5, 1]);
    one.socket.end();
    await until(() => one.end === "ended" && proxy.openCount === 0);
    client(proxy);
    await proxy.next("opened");
    await proxy.close();
    await until(() => server.sockets.size === 0);
    expect(proxy.openCount).toBe(0);
  });

  it("refuses and accepts again at the same port; open connections stay", async () => {
    await using server = await echoServer();
    await using proxy = await faultyProxy({ target: server });
    const old = client(proxy);
    await proxy.next("opened");
    const { port } = proxy;
    await proxy.refuse();
    const refused = client(proxy);
    await until(() => refused.end === "ECONNREFUSED");
    old.socket.write("still");
    await until(() => old.text === "still");
    await proxy.accept();
    expect(proxy.port).toBe(port);
    const again = client(proxy);
    again.socket.write("back");
    await until(() => again.text === "back");
  });

  it.each([
    ["reset", "ECONNRESET"],
    ["end", "ended"],
  ] as const)("cuts all by %s", async (how, end) => {
    await using server = await echoServer();
    await using proxy = await faultyProxy({ target: server });
    const one = client(proxy);
    one.socket.write("x");
    await until(() => one.text === "x");
    proxy.cut(how);
    await until(() => one.end === end && server.sockets.size === 0);
  });

  it("cuts after so many bytes of a direction", async () => {
    await using server = await echoServer();
    await using proxy = await faultyProxy({ target: server });
    proxy.requests.cutAfterBytes = 3;
    const one = client(proxy);
    one.socket.write("hello");
    await until(() => one.end === "ECONNRESET");
    expect(proxy.requestBytes).toBe(3);
  });

  it("loses replies and says so, while requests arrive", async () => {
    await using server = await echoServer();
    await using proxy = await faultyProxy({ target: server });
    proxy.replies.lost = true;
    const one = client(proxy);
    const lost = proxy.next("replyLost");
    one.socket.write("hello");
    await lost;
    expect([server.got(), one.text]).toEqual([5, ""]);
    proxy.cut();
    await until(() => one.end === "ECONNRESET");
  });

  it("goes silent both ways, and hides the end of either side", async () => {
    await using server = await echoServer();
    await using proxy = await faultyProxy({ target: server });
    const one = client(proxy);
    one.socket.write("x");
    await until(() => one.text === "x");
    proxy.goSilent();
    const lost = proxy.next("requestLost");
    one.socket.write("y");
    await lost;
    for (const socket of server.sockets) socket.destroy();
    for (let count = 0; count < 20; count++) await turn();
    expect([server.got(), one.end]).toEqual([1, "open"]);
  });

  it("delays by the given clock, in order, without slowing what follows", async () => {
    await using server = await echoServer();
    const clock = virtualClock();
    await using proxy = await faultyProxy({ target: server, clock });
    proxy.replies.delayMs = 100;
    const one = client(proxy);
    for (const part of ["a", "b", "c"]) {
      const passed = proxy.next("requestBytes");
      one.socket.write(part);
      await passed;
    }
    await until(() => server.got() === 3 && clock.pendingCount === 1);
    for (let count = 0; count < 20; count++) await turn();
    await clock.advance(99);
    expect(one.text).toBe("");
    await clock.advance(1);
    await until(() => one.text === "abc");
  });

  it("stalls, then lets go what it held", async () => {
    await using server = await echoServer();
    await using proxy = await faultyProxy({ target: server });
    proxy.requests.stall();
    const one = client(proxy);
    one.socket.write("held");
    for (let count = 0; count < 20; count++) await turn();
    expect(server.got()).toBe(0);
    proxy.requests.release();
    await until(() => one.text === "held");
  });

  it("slices into single bytes, and limits the bandwidth by the clock", async () => {
    await using server = await echoServer();
    const clock = virtualClock();
    await using proxy = await faultyProxy({ target: server, clock });
    proxy.replies.sliceBytes = 1;
    proxy.replies.bytesPerSecond = 10;
    const one = client(proxy);
    one.socket.write("0123456789");
    for (let count = 1; count <= 10; count++) {
      await until(() => one.text.length === count && clock.pendingCount === 1);
      await clock.advance(100);
    }
    expect([one.text, one.segments, clock.monotonic()]).toEqual(["0123456789", 10, 1_000]);
  });

  it("hangs up, hangs, or answers itself where it is told to", async () => {
    await using server = await echoServer();
    await using proxy = await faultyProxy({ target: server });
    await proxy.welcome({ kind: "hang-up" });
    const first = client(proxy);
    await until(() => first.end !== "open");
    await proxy.welcome({ kind: "hang" });
    const second = client(proxy);
    second.socket.write("x");
    await proxy.next("opened");
    await proxy.welcome({ kind: "answer", bytes: "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n" });
    const third = client(proxy);
    third.socket.write("GET / HTTP/1.1\r\n\r\n");
    await until(() => third.end === "ended");
    expect(third.text).toContain("404");
    expect([second.end, server.got()]).toEqual(["open", 0]);
    await proxy.heal();
    const fourth = client(proxy);
    fourth.socket.write("well");
    await until(() => fourth.text === "well");
  });
});
