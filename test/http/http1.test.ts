import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../runtime/base/clock.ts";
import { http1Client } from "../../runtime/node/http1.ts";
import { faultyProxy } from "../../runtime/testing/faulty-proxy.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { countedSignal, echo, http2Server, listen, post, socketCount, text, until } from "./support.ts";

const options = { connectWaitMs: 5_000, clock: systemClock };
const reason = new Error("enough");

interface Http1Server extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly sockets: Set<Socket>;
  socketCount: number;
}

async function http1Server(handler: (response: ServerResponse, body: string) => void): Promise<Http1Server> {
  const server: Server = createServer((request: IncomingMessage, response) => {
    let body = "";
    request.on("error", () => undefined);
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => handler(response, body));
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    made.socketCount++;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const port = await listen(server);
  const made: Http1Server = {
    origin: `http://127.0.0.1:${port}`,
    port,
    sockets,
    socketCount: 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return made;
}

describe("the HTTP/1.1 client", () => {
  it("sends one request after the other over a kept connection", async () => {
    await using server = await http1Server((response, body) => response.end(`echo ${body}`));
    const client = http1Client({ ...options, origin: server.origin });
    for (const name of ["a", "b", "c"]) {
      expect(await text(await client.send(post(server.origin, name)))).toBe(`echo ${name}`);
    }
    expect(server.socketCount).toBe(1);
    client.retire();
    await until(() => server.sockets.size === 0);
  });

  it("says that nothing was sent when the connect fails, hangs, or the server hangs up before it", async () => {
    const refused = http1Client({ ...options, origin: "http://127.0.0.1:1" });
    let sent = 0;
    const onSent = (): void => {
      sent++;
    };
    await expect(refused.send(post("http://127.0.0.1:1", "a", { onSent }))).rejects.toMatchObject({
      kind: "connect-refused",
      sent: false,
    });

    await using server = await http1Server((response) => response.end());
    await using proxy = await faultyProxy({ target: server });
    await proxy.welcome({ kind: "hang" });
    const clock = virtualClock();
    const origin = proxy.origin.replace("http:", "https:"); // the handshake of TLS never comes
    const hanging = http1Client({ origin, connectWaitMs: 5_000, clock });
    const opened = proxy.next("opened");
    const end = hanging.send(post(origin, "a", { onSent })).catch((error: unknown) => error);
    await opened;
    await clock.advance(5_000);
    expect(await end).toMatchObject({ kind: "connect-timeout", sent: false });
    expect(sent).toBe(0);
    expect(clock.pendingCount).toBe(0);
  });

  it("takes a request on a kept connection that is reset for sent: it may have run", async () => {
    await using server = await http1Server((response, body) => {
      if (body !== "hang") response.end("x");
    });
    await using proxy = await faultyProxy({ target: server });
    const client = http1Client({ ...options, origin: proxy.origin });
    await text(await client.send(post(proxy.origin, "warm")));
    for (const how of ["reset", "end"] as const) {
      const passed = proxy.next("requestBytes");
      const end = client.send(post(proxy.origin, "hang")).catch((error: unknown) => error);
      await passed;
      proxy.cut(how);
      expect(await end).toMatchObject({ kind: "cut", sent: true });
    }
    client.close();
  });

  it("never takes an answer that was cut in the middle for a whole one", async () => {
    await using server = await http1Server((response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("some");
    });
    await using proxy = await faultyProxy({ target: server });
    const client = http1Client({ ...options, origin: proxy.origin });
    for (const how of ["reset", "end"] as const) {
      const answer = await client.send(post(proxy.origin, ""));
      const reader = answer.body[Symbol.asyncIterator]();
      await reader.next();
      proxy.cut(how);
      await expect(reader.next()).rejects.toMatchObject({ kind: "cut", sent: true });
    }
    client.close();
  });

  it("leaves nothing behind when it is aborted, before the answer and in the middle of it", async () => {
    let arrived = 0;
    await using server = await http1Server((response, body) => {
      arrived++;
      if (body === "answered") response.write("some");
    });
    const clock = virtualClock();
    const before = socketCount();
    const client = http1Client({ origin: server.origin, connectWaitMs: 5_000, clock });
    for (const body of ["unanswered", "answered"]) {
      const { controller, listenerCount } = countedSignal();
      const seen = arrived;
      const sent = client.send(post(server.origin, body, { signal: controller.signal }));
      if (body === "answered") {
        const reader = (await sent).body[Symbol.asyncIterator]();
        await reader.next();
        const next = reader.next().catch((error: unknown) => error);
        controller.abort(reason);
        expect(await next).toBe(reason);
      } else {
        await until(() => arrived > seen);
        controller.abort(reason);
        await expect(sent).rejects.toBe(reason);
      }
      await until(() => listenerCount() === 0 && clock.pendingCount === 0);
    }
    await until(() => server.sockets.size === 0 && socketCount() <= before);
  });

  it("says what is wrong when the server speaks only HTTP/2", async () => {
    await using server = await http2Server(echo);
    const client = http1Client({ ...options, origin: server.origin });
    await expect(client.send(post(server.origin, "a"))).rejects.toMatchObject({
      name: "ConnectionFault",
      kind: "not-our-answer",
      message: expect.stringContaining("HTTP/2"),
    });
    client.close();
  });

  it("cuts requests under way when it closes, and takes none after it retired", async () => {
    let arrived = false;
    await using server = await http1Server(() => (arrived = true));
    const client = http1Client({ ...options, origin: server.origin });
    const end = client.send(post(server.origin, "a")).catch((error: unknown) => error);
    await until(() => arrived);
    client.retire();
    await expect(client.send(post(server.origin, "b"))).rejects.toMatchObject({ kind: "cut", sent: false });
    client.close();
    expect(await end).toMatchObject({ kind: "cut", sent: true });
    await until(() => server.sockets.size === 0);
  });
});
