import { constants } from "node:http2";
import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../runtime/base/clock.ts";
import { http2Client } from "../../runtime/node/http2.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { echo, http2Server, listen, post, socketCount, text, until } from "./support.ts";

const options = { connectWaitMs: 5_000, clock: systemClock };
const uncaught: unknown[] = [];
const note = (error: unknown): void => void uncaught.push(error);

beforeEach(() => {
  uncaught.length = 0;
  process.on("uncaughtException", note);
  process.on("unhandledRejection", note);
});
afterEach(() => {
  process.off("uncaughtException", note);
  process.off("unhandledRejection", note);
  expect(uncaught).toEqual([]);
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("GOAWAY", () => {
  it("fails no request that races it, runs none twice, and leaves no connection behind: 1,000 rounds", async () => {
    const random = seededRandom("goaway");
    const ran = new Map<string, number>();
    await using server = await http2Server((stream, body) => {
      ran.set(body, (ran.get(body) ?? 0) + 1);
      echo(stream, body);
    });
    const client = http2Client({ ...options, origin: server.origin });
    const before = socketCount();
    let sent = 0;
    for (let round = 0; round < 1_000; round++) {
      // One GOAWAY at a time: a request that two connections refuse is given back, by design.
      await until(() => [...server.sessions].every((session) => !session.closed));
      const calls = Array.from({ length: random.int(4) + 1 }, async () => {
        const name = `${sent++}`;
        if (random.chance(0.5)) await turn();
        return [name, await text(await client.send(post(server.origin, name)))];
      });
      for (let wait = random.int(4); wait > 0; wait--) await turn();
      for (const session of server.sessions) session.close();
      for (const [name, reply] of await Promise.all(calls)) expect(reply).toBe(`echo ${name}`);
    }
    expect(ran.size).toBe(sent);
    expect([...ran.values()].every((count) => count === 1)).toBe(true);
    client.retire();
    await until(() => socketCount() <= before && server.sessions.size === 0);
  }, 120_000);

  it("lets open streams of the old connection go on while new ones use a new connection", async () => {
    const hanging: (() => void)[] = [];
    await using server = await http2Server((stream, body) => {
      if (body === "long") hanging.push(() => echo(stream, body));
      else echo(stream, body);
    });
    const client = http2Client({ ...options, origin: server.origin });
    const long = client.send(post(server.origin, "long"));
    await until(() => hanging.length === 1);
    for (const session of server.sessions) session.goaway();
    for (const session of server.sessions) session.close();
    await turn();
    expect(await text(await client.send(post(server.origin, "new")))).toBe("echo new");
    expect(server.sessionCount).toBe(2);
    hanging[0]?.();
    expect(await text(await long)).toBe("echo long");
    await until(() => server.sessions.size === 1);
    client.close();
  });

  it("is harmless on a connection without requests, and its socket goes within a second", async () => {
    await using server = await http2Server(echo);
    for (const code of [constants.NGHTTP2_NO_ERROR, constants.NGHTTP2_INTERNAL_ERROR]) {
      const clock = virtualClock();
      const client = http2Client({ connectWaitMs: 5_000, clock, origin: server.origin });
      await text(await client.send(post(server.origin, "a")));
      const before = socketCount();
      for (const session of server.sessions) session.goaway(code);
      await until(() => clock.pendingCount > 0 || socketCount() < before);
      await clock.advance(1_000);
      await until(() => socketCount() < before);
      expect(await text(await client.send(post(server.origin, "b")))).toBe("echo b");
      client.close();
    }
  });

  it("sends again what lies above its last stream, and only that", async () => {
    const ran: string[] = [];
    let refuse = true;
    await using server = await http2Server((stream, body) => {
      ran.push(body);
      const { session } = stream;
      if (refuse && body === "a") {
        // Only "a" was begun, says the server; "b" is on its way.
        refuse = false;
        session?.goaway(constants.NGHTTP2_NO_ERROR, stream.id ?? 1);
        setImmediate(() => echo(stream, body));
      } else if (stream.session?.closed === false) echo(stream, body);
    });
    const client = http2Client({ ...options, origin: server.origin });
    const replies = await Promise.all(
      ["a", "b"].map(async (name) => text(await client.send(post(server.origin, name)))),
    );
    expect(replies).toEqual(["echo a", "echo b"]);
    expect(ran.filter((name) => name === "a")).toEqual(["a"]);
    client.close();
  });

  it("sends a refused stream again once, at once, and then gives the refusal on", async () => {
    let count = 0;
    let refusals = 1;
    await using server = await http2Server((stream, body) => {
      count++;
      if (refusals-- > 0) stream.close(constants.NGHTTP2_REFUSED_STREAM);
      else echo(stream, body);
    });
    const client = http2Client({ ...options, origin: server.origin });
    expect(await text(await client.send(post(server.origin, "a")))).toBe("echo a");
    expect(count).toBe(2);
    refusals = 2;
    await expect(client.send(post(server.origin, "b"))).rejects.toMatchObject({
      kind: "refused-stream",
      sent: false,
    });
    expect(count).toBe(4);
    client.close();
  });

  it.each([
    ["CANCEL", constants.NGHTTP2_CANCEL],
    ["INTERNAL_ERROR", constants.NGHTTP2_INTERNAL_ERROR],
    ["ENHANCE_YOUR_CALM", constants.NGHTTP2_ENHANCE_YOUR_CALM],
    ["PROTOCOL_ERROR", constants.NGHTTP2_PROTOCOL_ERROR],
    ["HTTP_1_1_REQUIRED", constants.NGHTTP2_HTTP_1_1_REQUIRED],
  ])("does not send again what was reset with %s: it may have run", async (name, code) => {
    let count = 0;
    await using server = await http2Server((stream) => {
      count++;
      stream.close(code);
    });
    const client = http2Client({ ...options, origin: server.origin });
    await expect(client.send(post(server.origin, "a"))).rejects.toMatchObject({
      kind: "cut",
      sent: true,
      message: expect.stringContaining(name),
    });
    expect(count).toBe(1);
    client.close();
  });

  it("takes a reset after the answer began for a cut, also with REFUSED_STREAM", async () => {
    const frames = [
      "000000040000000000", // settings
      "00000101040000000188", // headers: 200
      "00000100000000000178", // one byte
      "00000403000000000100000007", // the reset
    ];
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.write(Buffer.from(frames[0] ?? "", "hex"));
      let seen = 0;
      socket.on("data", (data) => {
        const before = seen;
        seen += data.byteLength;
        if (before <= 100 && seen > 100) socket.write(Buffer.from(frames.slice(1).join(""), "hex"));
      });
    });
    const origin = `http://127.0.0.1:${await listen(server)}`;
    const client = http2Client({ ...options, origin });
    const answer = await client.send(post(origin, "a".repeat(100)));
    await expect(text(answer)).rejects.toMatchObject({ kind: "cut", sent: true });
    client.close();
    server.close();
  });
});
