import { createServer as createHttp1Server } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../runtime/base/clock.ts";
import { http2Client } from "../../runtime/node/http2.ts";
import { faultyProxy } from "../../runtime/testing/faulty-proxy.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { chunks, countedSignal, echo, http2Server, listen, post, text, until } from "./support.ts";

const options = { connectWaitMs: 5_000, clock: systemClock };

describe("the HTTP/2 client", () => {
  it("sends all requests over one connection that opens once", async () => {
    await using server = await http2Server(echo);
    const client = http2Client({ ...options, origin: server.origin });
    const all = await Promise.all(
      Array.from({ length: 50 }, async (_, at) => text(await client.send(post(server.origin, `${at}`)))),
    );
    expect(all[49]).toBe("echo 49");
    expect(server.sessionCount).toBe(1);
    client.close();
  });

  it("gives status, headers, body and trailers", async () => {
    await using server = await http2Server((stream) => {
      stream.respond({ ":status": 418, "x-one": "1" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "x-last": "z" }));
      stream.end("tea");
    });
    const client = http2Client({ ...options, origin: server.origin });
    const answer = await client.send(post(server.origin, ""));
    expect([answer.status, answer.header.get("x-one")]).toEqual([418, "1"]);
    expect(await text(answer)).toBe("tea");
    expect(answer.trailer.get("x-last")).toBe("z");
    client.close();
  });

  it("tells that a request was sent once, and only when a connection stands", async () => {
    await using server = await http2Server(echo);
    const client = http2Client({ ...options, origin: server.origin });
    let sentCount = 0;
    await text(await client.send(post(server.origin, "a", { onSent: () => sentCount++ })));
    expect(sentCount).toBe(1);
    client.close();
    const nobody = http2Client({ ...options, origin: "http://127.0.0.1:1" });
    await expect(
      nobody.send(post("http://127.0.0.1:1", "a", { onSent: () => sentCount++ })),
    ).rejects.toMatchObject({ kind: "connect-refused", sent: false });
    expect(sentCount).toBe(1);
  });

  it("keeps to the number of streams that the server allows", async () => {
    let open = 0;
    let most = 0;
    await using server = await http2Server(
      (stream, body) => {
        most = Math.max(most, ++open);
        setImmediate(() => {
          open--;
          echo(stream, body);
        });
      },
      { maxConcurrentStreams: 3 },
    );
    const client = http2Client({ ...options, origin: server.origin });
    await Promise.all(
      Array.from({ length: 40 }, async (_, at) => text(await client.send(post(server.origin, `${at}`)))),
    );
    expect(most).toBeLessThanOrEqual(3);
    expect(server.sessionCount).toBe(1);
    client.close();
  });

  it("stops the sender when nobody reads, and the source of a body when the server does not", async () => {
    let written = 0;
    await using server = await http2Server((stream) => {
      stream.respond({ ":status": 200 });
      const more = (): void => {
        while (written < 64 * 1024 * 1024) {
          written += 65_536;
          if (!stream.write(Buffer.alloc(65_536))) {
            stream.once("drain", more);
            return;
          }
        }
        stream.end();
      };
      more();
    });
    const client = http2Client({ ...options, origin: server.origin });
    const answer = await client.send(post(server.origin, ""));
    const reader = answer.body[Symbol.asyncIterator]();
    await reader.next();
    let before = -1;
    await until(() => {
      const still = before === written;
      before = written;
      return still && written > 0;
    });
    expect(written).toBeLessThan(2 * 1024 * 1024);
    await reader.return?.();
    client.close();
  });

  it("takes a server that speaks only HTTP/1.1 for a failed connect, and says what to do", async () => {
    const server = createHttp1Server((_, response) => response.end("hello"));
    const origin = `http://127.0.0.1:${await listen(server)}`;
    const client = http2Client({ ...options, origin });
    await expect(client.send(post(origin, "a"))).rejects.toMatchObject({
      kind: "connect-failed",
      sent: false,
      message: expect.stringContaining('httpVersion: "1.1"'),
    });
    client.close();
    server.close();
  });

  it("ends one connect for all that wait for it when the time is over", async () => {
    await using server = await http2Server(echo);
    await using proxy = await faultyProxy({ target: server });
    await proxy.welcome({ kind: "hang" });
    const clock = virtualClock();
    const client = http2Client({ origin: proxy.origin, connectWaitMs: 5_000, clock });
    const opened = proxy.next("opened");
    const ends = [1, 2, 3].map((at) =>
      client.send(post(proxy.origin, `${at}`)).catch((error: unknown) => error),
    );
    await opened;
    await clock.advance(5_000);
    for (const fault of await Promise.all(ends)) {
      expect(fault).toMatchObject({ kind: "connect-timeout", sent: false });
    }
    expect(proxy.openedCount).toBe(1);
    expect(clock.pendingCount).toBe(0);
    client.close();
  });

  it("counts a server that takes connections and hangs up as a failed connect", async () => {
    await using server = await http2Server(echo);
    await using proxy = await faultyProxy({ target: server });
    await proxy.welcome({ kind: "hang-up" });
    const client = http2Client({ ...options, origin: proxy.origin });
    await expect(client.send(post(proxy.origin, "a"))).rejects.toMatchObject({
      kind: "connect-failed",
      sent: false,
    });
    await proxy.heal();
    expect(await text(await client.send(post(proxy.origin, "b")))).toBe("echo b");
    client.close();
  });

  it("ends requests under way as cut when the connection is reset, and connects anew for the next", async () => {
    await using server = await http2Server((stream, body) => {
      if (body !== "hang") echo(stream, body);
    });
    await using proxy = await faultyProxy({ target: server });
    const client = http2Client({ ...options, origin: proxy.origin });
    for (const how of ["reset", "end"] as const) {
      await text(await client.send(post(proxy.origin, "warm")));
      const passed = proxy.next("requestBytes");
      const hanging = client.send(post(proxy.origin, "hang")).catch((error: unknown) => error);
      await passed;
      proxy.cut(how);
      expect(await hanging).toMatchObject({ kind: "cut", sent: true });
    }
    expect(await text(await client.send(post(proxy.origin, "again")))).toBe("echo again");
    client.close();
  });

  it("never takes an answer that was cut in the middle for a whole one", async () => {
    await using server = await http2Server((stream) => {
      stream.respond({ ":status": 200 });
      stream.write("first");
    });
    await using proxy = await faultyProxy({ target: server });
    for (const how of ["reset", "end"] as const) {
      const client = http2Client({ ...options, origin: proxy.origin });
      const answer = await client.send(post(proxy.origin, ""));
      const reader = answer.body[Symbol.asyncIterator]();
      expect((await reader.next()).done).toBe(false);
      proxy.cut(how);
      await expect(reader.next()).rejects.toMatchObject({ kind: "cut", sent: true });
      client.close();
    }
  });

  it("reads an answer that came whole also when the connection ends before it is read", async () => {
    await using server = await http2Server((stream) => {
      stream.respond({ ":status": 200 });
      stream.end("whole");
    });
    const client = http2Client({ ...options, origin: server.origin });
    const answer = await client.send(post(server.origin, ""));
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    client.close();
    expect(await text(answer)).toBe("whole");
  });

  it("refuses a header that could smuggle in another, and a URL of another server", async () => {
    await using server = await http2Server(echo);
    const client = http2Client({ ...options, origin: server.origin });
    expect(() => new Headers({ a: "b\r\nc: d" })).toThrow(TypeError);
    const sly = new Headers({ "x-a": "b" });
    Object.defineProperty(sly, Symbol.iterator, { value: () => [["x-a", "b\r\nx-c: d"]][Symbol.iterator]() });
    await expect(client.send(post(server.origin, "", { header: sly }))).rejects.toThrow(
      /x-a.*control character/,
    );
    const te = new Headers({ te: "gzip" }); // HTTP/2 forbids it
    await expect(client.send(post(server.origin, "", { header: te }))).rejects.toThrow(TypeError);
    await expect(client.send(post("http://example.com", ""))).rejects.toThrow(/another|cannot go over/);
    expect(server.sessionCount).toBe(1);
    expect(await text(await client.send(post(server.origin, "fine")))).toBe("echo fine");
    client.close();
  });

  it("lives through bytes that are no HTTP/2, and through frames that break its rules", async () => {
    const frames = [
      Buffer.from("000000010400000001", "hex"), // headers on a stream that nobody opened
      Buffer.from("00000503000000000100000000", "hex"), // a reset of a wrong length
      Buffer.from("ffffff0000000000010000", "hex"), // a frame larger than allowed
      Buffer.from("0000080700000000000000000000000000", "hex"), // GOAWAY for everything
      Buffer.from("HTTP/1.1 200 OK\r\n\r\nhello"),
    ];
    const settings = Buffer.from("000000040000000000", "hex");
    for (const bytes of frames) {
      const server = createTcpServer((socket) => {
        socket.on("error", () => undefined);
        socket.write(settings);
        let seen = 0;
        socket.on("data", (data) => {
          seen += data.byteLength;
          if (seen > 60) socket.write(bytes);
        });
      });
      const origin = `http://127.0.0.1:${await listen(server)}`;
      const clock = virtualClock();
      const client = http2Client({ origin, connectWaitMs: 5_000, clock });
      const end = client.send(post(origin, "hello".repeat(20))).then(
        () => "answer",
        (error: unknown) => (error as { name: string }).name,
      );
      for (let round = 0; round < 40; round++) {
        await new Promise((resolve) => setImmediate(resolve));
        await clock.advance(1_000);
      }
      expect(await end).toBe("ConnectionFault");
      client.close();
      server.close();
    }
  });

  it("sends a streamed body chunk by chunk, and ends its source when the answer is over", async () => {
    await using server = await http2Server(echo);
    const client = http2Client({ ...options, origin: server.origin });
    const answer = await client.send(post(server.origin, "", { body: chunks("a", "b", "c") }));
    expect(await text(answer)).toBe("echo abc");
    client.close();
  });

  it("tells what is at an address", async () => {
    await using server = await http2Server((stream) =>
      stream.respond({ ":status": 404, "x-here": "1" }, { endStream: true }),
    );
    const client = http2Client({ ...options, origin: server.origin });
    const headers = await client.reach(`${server.origin}/`, countedSignal().controller.signal);
    expect(headers?.get("x-here")).toBe("1");
    client.close();
  });
});

describe("an edge that answers in place of the server", () => {
  it("gives its answer on as it is, for the link to judge", async () => {
    await using server = await http2Server(echo);
    await using proxy = await faultyProxy({ target: server });
    await proxy.welcome({
      kind: "answer-http2",
      status: 404,
      headers: { "content-type": "text/html" },
      body: "<h1>No such app</h1>",
    });
    const client = http2Client({ ...options, origin: proxy.origin });
    const answer = await client.send(post(proxy.origin, "a"));
    expect([answer.status, answer.header.get("content-type")]).toEqual([404, "text/html"]);
    expect(await text(answer)).toContain("No such app");
    client.close();
  });

  it("is no HTTP/2 when it is a sign-in page over HTTP/1.1", async () => {
    await using server = await http2Server(echo);
    await using proxy = await faultyProxy({ target: server });
    await proxy.welcome({ kind: "answer", bytes: "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi" });
    const client = http2Client({ ...options, origin: proxy.origin });
    await expect(client.send(post(proxy.origin, "a"))).rejects.toMatchObject({
      kind: "connect-failed",
      sent: false,
    });
    client.close();
  });
});
