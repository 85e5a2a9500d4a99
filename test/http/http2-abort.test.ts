import { spawn } from "node:child_process";
import { constants } from "node:http2";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../runtime/base/clock.ts";
import { http2Client } from "../../runtime/node/http2.ts";
import { faultyProxy } from "../../runtime/testing/faulty-proxy.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import {
  chunks,
  countedSignal,
  echo,
  http2Server,
  post,
  readOne,
  socketCount,
  text,
  until,
} from "./support.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const reason = new Error("enough");

describe("an aborted request", () => {
  it("leaves nothing behind when it ends while connecting", async () => {
    await using server = await http2Server(echo);
    await using proxy = await faultyProxy({ target: server });
    await proxy.welcome({ kind: "hang" });
    const clock = virtualClock();
    const before = socketCount();
    const client = http2Client({ origin: proxy.origin, connectWaitMs: 5_000, clock });
    const { controller, listenerCount } = countedSignal();
    const opened = proxy.next("opened");
    const end = client
      .send(post(proxy.origin, "a", { signal: controller.signal }))
      .catch((error: unknown) => error);
    await opened;
    controller.abort(reason);
    expect(await end).toBe(reason);
    proxy.cut();
    await until(() => socketCount() <= before);
    expect([clock.pendingCount, listenerCount()]).toEqual([0, 0]);
  });

  it("goes on for the others that wait for the same connection", async () => {
    await using server = await http2Server(echo);
    const client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock: systemClock });
    const { controller } = countedSignal();
    const first = client
      .send(post(server.origin, "a", { signal: controller.signal }))
      .catch((error: unknown) => error);
    const second = client.send(post(server.origin, "b"));
    controller.abort(reason);
    expect(await first).toBe(reason);
    expect(await text(await second)).toBe("echo b");
    expect(server.sessionCount).toBe(1);
    client.close();
  });

  it("resets its stream with CANCEL, before the answer and in the middle of it", async () => {
    const codes: (number | undefined)[] = [];
    let arrived = 0;
    await using server = await http2Server((stream, body) => {
      arrived++;
      stream.on("close", () => codes.push(stream.rstCode));
      if (body !== "answered") return;
      stream.respond({ ":status": 200 });
      stream.write("some");
    });
    const clock = virtualClock();
    const client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock });
    for (const body of ["unanswered", "answered"]) {
      const { controller, listenerCount } = countedSignal();
      const before = arrived;
      const sent = client.send(post(server.origin, body, { signal: controller.signal }));
      if (body === "answered") {
        const reader = (await sent).body[Symbol.asyncIterator]();
        await reader.next();
        const next = reader.next().catch((error: unknown) => error);
        controller.abort(reason);
        expect(await next).toBe(reason);
      } else {
        await until(() => arrived > before);
        controller.abort(reason);
        await expect(sent).rejects.toBe(reason);
      }
      await until(() => codes.length === arrived);
      await until(() => listenerCount() === 0 && clock.pendingCount === 0);
    }
    expect(codes).toEqual([constants.NGHTTP2_CANCEL, constants.NGHTTP2_CANCEL]);
    expect(server.sessionCount).toBe(1);
    client.close();
  });

  it("takes the early end of reading for a cancel, and leaves no listener after a normal end", async () => {
    let closedWith: number | undefined;
    await using server = await http2Server((stream, body) => {
      if (body === "whole") {
        echo(stream, body);
        return;
      }
      stream.on("close", () => (closedWith = stream.rstCode));
      stream.respond({ ":status": 200 });
      stream.write("some");
    });
    const client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock: systemClock });
    const { controller, listenerCount } = countedSignal();
    await readOne(await client.send(post(server.origin, "part", { signal: controller.signal })));
    await until(() => closedWith !== undefined);
    expect(closedWith).toBe(constants.NGHTTP2_CANCEL);
    await text(await client.send(post(server.origin, "whole", { signal: controller.signal })));
    await until(() => listenerCount() === 0);
    client.close();
  });

  it("rejects at once with the reason of a signal that has aborted, and sends nothing", async () => {
    await using server = await http2Server(echo);
    const client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock: systemClock });
    await expect(client.send(post(server.origin, "a", { signal: AbortSignal.abort(reason) }))).rejects.toBe(
      reason,
    );
    expect(server.sessionCount).toBe(0);
  });

  it("lets go of the source of its body", async () => {
    await using server = await http2Server(echo);
    const client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock: systemClock });
    const { controller } = countedSignal();
    let over = false;
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          yield new Uint8Array(1_000);
          await turn();
        }
      } finally {
        over = true;
      }
    };
    const sent = client.send(post(server.origin, "", { body: endless(), signal: controller.signal }));
    for (let round = 0; round < 20; round++) await turn();
    controller.abort(reason);
    await expect(sent).rejects.toBe(reason);
    await until(() => over);
    client.close();
  });

  it("gives an error of the body's own source on as it is", async () => {
    await using server = await http2Server(echo);
    const client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock: systemClock });
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      yield* chunks("a");
      throw reason;
    };
    await expect(client.send(post(server.origin, "", { body: broken() }))).rejects.toBe(reason);
    client.close();
  });

  it("leaves no rejection unhandled and nothing open, wherever it falls: 500 rounds", async () => {
    const random = seededRandom("cancel");
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    process.on("uncaughtException", note);
    const before = socketCount();
    {
      await using server = await http2Server((stream) => {
        stream.respond({ ":status": 200 });
        stream.write("one");
        setImmediate(() => {
          if (!stream.destroyed) stream.end("two");
        });
      });
      const clock = virtualClock();
      let client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock });
      let listeners = 0;
      for (let round = 0; round < 500; round++) {
        const { controller, listenerCount } = countedSignal();
        const run = (async () => {
          const answer = await client.send(post(server.origin, "x", { signal: controller.signal }));
          let read = 0;
          for await (const part of answer.body) {
            read += part.byteLength;
            if (read === 3 && random.chance(0.3)) break;
          }
        })().catch((error: unknown) => {
          if (error !== reason && (error as Error).name !== "ConnectionFault") unhandled.push(error);
        });
        for (let wait = random.int(8); wait > 0; wait--) await turn();
        if (random.chance(0.9)) controller.abort(reason);
        if (random.chance(0.1)) {
          client.close();
          client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock });
        }
        await run;
        await turn();
        listeners += listenerCount();
      }
      client.close();
      await turn();
      expect(listeners).toBe(0);
      expect(clock.pendingCount).toBe(0);
    }
    await until(() => socketCount() <= before);
    process.off("unhandledRejection", note);
    process.off("uncaughtException", note);
    expect(unhandled).toEqual([]);
  });
});

describe("the end of a client", () => {
  it("lets requests under way finish and takes no new one when it retires", async () => {
    let answer: (() => void) | undefined;
    await using server = await http2Server((stream, body) => {
      answer = () => echo(stream, body);
    });
    const client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock: systemClock });
    const slow = client.send(post(server.origin, "slow"));
    await until(() => answer !== undefined);
    client.retire();
    await expect(client.send(post(server.origin, "new"))).rejects.toMatchObject({ kind: "cut", sent: false });
    answer?.();
    expect(await text(await slow)).toBe("echo slow");
    await until(() => server.sessions.size === 0);
  });

  it("cuts requests under way and waiting ones when it closes", async () => {
    let arrived = false;
    await using server = await http2Server(() => (arrived = true), { maxConcurrentStreams: 1 });
    const before = socketCount();
    const client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock: systemClock });
    const running = client.send(post(server.origin, "a")).catch((error: unknown) => error);
    const waiting = client.send(post(server.origin, "b")).catch((error: unknown) => error);
    await until(() => arrived);
    client.close();
    expect(await running).toMatchObject({ kind: "cut", sent: true });
    expect(await waiting).toMatchObject({ kind: "cut", sent: false });
    await until(() => socketCount() <= before);
  });

  it("is not needed for a program to end: an idle connection keeps no process alive", async () => {
    await using server = await http2Server(echo);
    const program = `
      import { http2Client } from ${JSON.stringify(new URL("../../runtime/node/http2.ts", import.meta.url).href)};
      import { systemClock } from ${JSON.stringify(new URL("../../runtime/base/clock.ts", import.meta.url).href)};
      const origin = ${JSON.stringify(server.origin)};
      const client = http2Client({ origin, connectWaitMs: 5000, clock: systemClock });
      const answer = await client.send({ url: origin + "/a", method: "POST", header: new Headers() });
      for await (const part of answer.body) process.stdout.write(part);
    `;
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
      cwd: new URL("../..", import.meta.url),
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.on("data", (data: Buffer) => (said += data.toString()));
    const code = await new Promise((resolve) => child.on("exit", resolve));
    expect([code, said]).toEqual([0, "echo "]);
  });
});
