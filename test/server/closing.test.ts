/** Closing: nothing new is taken, what runs may finish, everybody is told when to come back, nothing is left. */
import { once } from "node:events";
import * as http from "node:http";
import * as http2 from "node:http2";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { spreadMsOf } from "../../server/close.ts";
import { TallyService } from "../gen/test/v1/tally_pb.ts";
import { startTally } from "../support/tally-server.ts";

const add = "/test.v1.TallyService/Add";

test.each([
  [0, 1_000],
  [1_000, 1_000],
  [4_000, 4_000],
  [50_000, 10_000],
])("the clients of %i connections come back over %i ms", (connectionCount, spreadMs) => {
  expect(spreadMsOf(connectionCount)).toBe(spreadMs);
});

test("what runs finishes, new work is refused with a time to come back, and connections go", async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  let begun: () => void = () => undefined;
  const running = new Promise<void>((resolve) => (begun = resolve));
  const tally = await startTally({
    handlers: {
      add: async () => {
        begun();
        await held;
        return { total: 7n };
      },
    },
  });
  const agent = new http.Agent({ keepAlive: true });
  const early = request(tally.address.port, agent);
  await running;
  const busy = http2.connect(tally.address.url);
  await once(busy, "remoteSettings");
  const gone = once(busy, "close").catch(() => undefined);
  const closing = tally.server.close({ within: 10_000 });
  const refused = await over2(busy);
  expect(refused).toMatchObject({ status: 503, mark: "later" });
  expect(refused.retryAfter).toBeGreaterThanOrEqual(0);
  expect(refused.text).toContain("the server is closing");
  release();
  expect(await early).toMatchObject({ status: 200, text: '{"total":"7"}' });
  await closing;
  await gone;
  agent.destroy();
});

test("a resumable stream ends normally, before the calls that run", async () => {
  const tally = await startTally({
    handlers: {
      async *follow(_request, { signal }) {
        yield { number: 1n };
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    },
  });
  const client = createClient(
    TallyService,
    createConnectTransport({ baseUrl: tally.address.url, httpVersion: "2" }),
  );
  const items: bigint[] = [];
  let closing: Promise<void> | undefined;
  for await (const { number } of client.follow({})) {
    items.push(number);
    closing = tally.server.close({ within: 10_000 });
  }
  expect(items).toEqual([1n]);
  await closing;
});

test("a handler that does not end gets its time, then its signal, and then the server is closed", async () => {
  const clock = virtualClock();
  let signal: AbortSignal | undefined;
  const tally = await startTally({
    clock,
    handlers: {
      add: (_request, ctx) => {
        ({ signal } = ctx);
        return new Promise(() => undefined);
      },
    },
  });
  const headers = { "holdfast-call": "a-call-that-never-ends" };
  const cut = request(tally.address.port, undefined, headers).catch((error: unknown) => error);
  await expect.poll(() => signal).toBeDefined();
  let closed = false;
  const closing = tally.server.close().then(() => (closed = true));
  await clock.advance(24_999);
  expect(signal?.aborted).toBe(false);
  await clock.advance(2);
  expect(signal?.aborted).toBe(true);
  expect(closed).toBe(false);
  await clock.advance(5_000);
  await closing;
  await cut;
});

test("after closing no socket, no listener and no timer is left", async () => {
  const before = count(process.getActiveResourcesInfo());
  const clock = virtualClock();
  const tally = await startTally({ clock, signals: true });
  const peer = http2.connect(tally.address.url);
  await once(peer, "remoteSettings");
  const agent = new http.Agent({ keepAlive: true });
  await request(tally.address.port, agent);
  const silent = http.request({ port: tally.address.port }); // never sent
  silent.on("error", () => undefined);
  await tally.server.close({ within: 0 });
  await once(peer, "close").catch(() => undefined);
  agent.destroy();
  silent.destroy();
  await expect.poll(() => count(process.getActiveResourcesInfo())).toEqual(before);
  expect(clock.pendingCount).toBe(0);
  expect(process.listenerCount("SIGTERM")).toBe(0);
  await expect(tally.server.listen()).rejects.toThrow("this server is closed");
});

test("closing twice is closing once, and a server that nobody listened to closes at once", async () => {
  const tally = await startTally();
  await Promise.all([tally.server.close(), tally.server.close()]);
  await tally.server.close();
  await expect(tally.server.close({ within: -1 })).rejects.toThrow("within");
});

test("SIGTERM closes a server that asked for it", async () => {
  const tally = await startTally({ signals: true });
  process.emit("SIGTERM");
  await expect
    .poll(() =>
      fetch(tally.address.url).then(
        () => "open",
        () => "closed",
      ),
    )
    .toBe("closed");
  await tally.server.close();
});

function count(resources: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of resources) if (/TCP|Server/.test(name)) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function request(
  port: number,
  agent?: http.Agent,
  headers: Record<string, string> = {},
): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = http.request({
      port,
      host: "127.0.0.1",
      method: "POST",
      path: add,
      headers: { "content-type": "application/json", ...headers },
      ...(agent === undefined ? {} : { agent }),
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      let text = "";
      response.on("data", (piece: Buffer) => (text += piece.toString()));
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    sent.end("{}");
  });
}

async function over2(
  session: http2.ClientHttp2Session,
): Promise<{ status: unknown; mark: unknown; retryAfter: number; text: string }> {
  const stream = session.request({ ":method": "POST", ":path": add, "content-type": "application/json" });
  stream.end("{}");
  const [headers] = (await once(stream, "response")) as [http2.IncomingHttpHeaders];
  let text = "";
  for await (const piece of stream) text += String(piece);
  return {
    status: (headers as Record<string, unknown>)[":status"],
    mark: headers["holdfast-settled"],
    retryAfter: Number(headers["retry-after"]),
    text,
  };
}
