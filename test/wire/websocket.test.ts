/** WebSockets on a server's port: who may open one, and what becomes of one that breaks the rules. */
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { mayOpen } from "../../server/http/origin-check.ts";
import { subprotocolOf, wirePath } from "../../runtime/wire/websocket.ts";
import type { ServerOptions } from "../../server/index.ts";
import { type Harness, harness } from "../support/harness.ts";
import { startTally, type TallyServer } from "../support/tally-server.ts";

let held: Harness;
let server: TallyServer;

async function start(options: ServerOptions = {}): Promise<void> {
  server = held.own(await startTally(options));
}

interface Answer {
  /** Undefined: it stands. */
  readonly status: number | undefined;
  readonly socket: WebSocket;
}

/** Asks for a WebSocket. */
function ask(
  options: { path?: string; protocols?: string[]; origin?: string; host?: string; url?: string } = {},
): Promise<Answer> {
  const { path = `/${wirePath}`, protocols = [subprotocolOf("json")], origin, host } = options;
  const url = (options.url ?? server.address.url).replace(/^http/, "ws");
  const headers = { ...(origin === undefined ? {} : { origin }), ...(host === undefined ? {} : { host }) };
  const socket = new WebSocket(`${url}${path}`, protocols, { headers });
  held.own({
    [Symbol.asyncDispose]: async () => {
      socket.terminate();
    },
  });
  return new Promise((resolve, reject) => {
    socket.on("open", () => resolve({ status: undefined, socket }));
    socket.on("unexpected-response", (_, response) => {
      response.resume();
      resolve({ status: response.statusCode, socket });
    });
    socket.on("error", reject);
  });
}

function closeOf(socket: WebSocket): Promise<{ code: number; text: string[] }> {
  const text: string[] = [];
  socket.on("message", (data: Buffer, binary) => text.push(binary ? "binary" : data.toString()));
  return new Promise((resolve) => socket.on("close", (code) => resolve({ code, text })));
}

beforeEach(() => {
  held = harness();
});
afterEach(() => held[Symbol.asyncDispose]());

describe("a page", () => {
  it.each<[origin: string | undefined, host: string, listed: string[], may: boolean]>([
    [undefined, "a.example", [], true], // no browser
    ["https://a.example", "a.example", [], true],
    ["http://a.example", "a.example", [], true],
    ["https://a.example", "A.EXAMPLE", [], true],
    ["https://a.example", "a.example:443", [], true],
    ["http://a.example:80", "a.example", [], true],
    ["http://a.example:8080", "a.example:8080", [], true],
    ["https://a.example:444", "a.example", [], false],
    ["http://a.example:8080", "a.example:8081", [], false],
    ["https://sub.a.example", "a.example", [], false],
    ["https://a.example.evil.example", "a.example", [], false],
    ["https://evil.example", "a.example", [], false],
    ["null", "a.example", [], false],
    ["null", "null", [], false],
    ["", "a.example", [], false],
    ["file://a.example", "a.example", [], false],
    ["https://b.example", "a.example", ["https://b.example"], true],
    ["https://B.example", "a.example", ["https://b.example"], false],
    ["http://b.example", "a.example", ["https://b.example"], false],
  ])("of %s may open a wire to %s with %j named: %o", (origin, host, listed, may) => {
    expect(mayOpen(origin, host, (page) => listed.includes(page))).toBe(may);
  });

  it("of another origin is refused before anything is said", async () => {
    await start({ cors: { origins: ["https://b.example"] } });
    expect((await ask({ origin: "https://evil.example" })).status).toBe(403);
    expect((await ask({ origin: "https://b.example" })).status).toBeUndefined();
    expect((await ask({ origin: server.address.url })).status).toBeUndefined();
    expect((await ask()).status).toBeUndefined();
  });
});

describe("a request for a WebSocket", () => {
  it.each([
    ["another path", { path: "/chat" }, 404],
    ["no subprotocol of ours", { protocols: ["chat"] }, 400],
    ["no subprotocol", { protocols: [] }, 400],
    ["a later version of ours", { protocols: ["holdfast.v2.json"] }, 400],
  ])("with %s is refused", async (_, options, status) => {
    await start();
    expect((await ask(options)).status).toBe(status);
  });

  it("takes the client's first subprotocol that is known here", async () => {
    await start();
    const { socket } = await ask({
      protocols: ["holdfast.v2.json", "holdfast.v1.msgpack", "holdfast.v1.json"],
    });
    expect(socket.protocol).toBe("holdfast.v1.msgpack");
    expect(socket.extensions).toBe("");
  });

  it("is served on an HTTP server of the program's own too", async () => {
    await start();
    const own = createHttpServer();
    own.on("upgrade", server.server.upgrade);
    await new Promise<void>((resolve) => own.listen(0, "127.0.0.1", resolve));
    const { port } = own.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const { socket, status } = await ask({ url, path: `/below/${wirePath}` });
    expect(status).toBeUndefined();
    const closed = closeOf(socket);
    socket.terminate();
    await closed;
    await new Promise((resolve) => own.close(resolve));
  });
});

describe("a WebSocket", () => {
  it("carries JSON as text", async () => {
    await start();
    const { socket } = await ask();
    const closed = closeOf(socket);
    socket.send('[{"call":{"id":1}}]');
    const { text } = await closed;
    expect(text).toHaveLength(1);
    expect(JSON.parse(text[0] ?? "")).toMatchObject([{ end: { error: { code: "invalid_argument" } } }]);
  });

  it("is closed at a frame above the limit of a packet", async () => {
    await start();
    const { socket } = await ask();
    const closed = closeOf(socket);
    socket.send(Buffer.alloc(5 * 1_048_576));
    expect((await closed).code).toBe(1009);
  });

  it("is closed at a packet in more pieces than it may have", async () => {
    await start();
    const { socket } = await ask();
    const closed = closeOf(socket);
    for (let piece = 0; piece < 200; piece += 1) socket.send("x", { fin: false });
    expect((await closed).code).toBe(1008);
  });

  it("that says nothing harms nobody: the server closes with it", async () => {
    await start();
    const { socket } = await ask();
    const closed = closeOf(socket);
    await server.server.close({ within: 0 });
    await closed;
  });
});
