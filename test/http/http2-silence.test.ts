import { constants } from "node:http2";
import { describe, expect, it } from "vitest";
import { http2Client } from "../../runtime/node/http2.ts";
import { faultyProxy } from "../../runtime/testing/faulty-proxy.ts";
import { virtualClock, type VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { echo, http2Server, post, text, until } from "./support.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets real sockets carry what is under way, between steps of virtual time. */
async function pass(clock: VirtualClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    await clock.advance(Math.min(500, left));
    for (let round = 0; round < 6; round++) await turn();
  }
}

describe("a peer that goes silent", () => {
  it("is found out 18 s after its last byte, and its requests are cut", async () => {
    await using server = await http2Server((stream, body) => {
      if (body !== "hang") echo(stream, body);
    });
    await using proxy = await faultyProxy({ target: server });
    const clock = virtualClock();
    const client = http2Client({ origin: proxy.origin, connectWaitMs: 5_000, clock });
    await text(await client.send(post(proxy.origin, "warm")));
    const passed = proxy.next("requestBytes");
    let end: unknown;
    void client.send(post(proxy.origin, "hang")).catch((error: unknown) => (end = error));
    await passed;
    proxy.goSilent();
    await pass(clock, 17_500);
    expect(end).toBeUndefined();
    await pass(clock, 1_000);
    expect(end).toMatchObject({ kind: "cut", sent: true, message: expect.stringContaining("no sign") });
    await proxy.heal();
    expect(await text(await client.send(post(proxy.origin, "back")))).toBe("echo back");
    client.close();
  });

  it("is left alone while it answers: a slow request is not cut", async () => {
    let answer: (() => void) | undefined;
    await using server = await http2Server((stream, body) => {
      answer = () => echo(stream, body);
    });
    const clock = virtualClock();
    const client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock });
    const slow = client.send(post(server.origin, "slow"));
    await until(() => answer !== undefined);
    await pass(clock, 120_000);
    answer?.();
    expect(await text(await slow)).toBe("echo slow");
    client.close();
    expect(clock.pendingCount).toBe(0);
  });

  it("is watched after GOAWAY too, and a quiet stream there is not cut while it answers", async () => {
    let answer: (() => void) | undefined;
    await using server = await http2Server((stream, body) => {
      answer = () => echo(stream, body);
    });
    const clock = virtualClock();
    const client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock });
    const slow = client.send(post(server.origin, "slow"));
    await until(() => answer !== undefined);
    for (const session of server.sessions) session.close();
    await pass(clock, 60_000);
    answer?.();
    expect(await text(await slow)).toBe("echo slow");
    client.close();
  });

  it("is asked half as often by a client that was told it pings too much", async () => {
    await using server = await http2Server((stream, body) => {
      if (body !== "hang") echo(stream, body);
    });
    await using proxy = await faultyProxy({ target: server });
    const clock = virtualClock();
    const client = http2Client({ origin: proxy.origin, connectWaitMs: 5_000, clock });
    await text(await client.send(post(proxy.origin, "a")));
    for (const session of server.sessions) {
      session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from("too_many_pings"));
    }
    await pass(clock, 2_000);
    await text(await client.send(post(proxy.origin, "b")));
    const passed = proxy.next("requestBytes");
    let end: unknown;
    void client.send(post(proxy.origin, "hang")).catch((error: unknown) => (end = error));
    await passed;
    proxy.goSilent();
    await pass(clock, 27_500);
    expect(end).toBeUndefined();
    await pass(clock, 1_000);
    expect(end).toMatchObject({ kind: "cut" });
    client.close();
  });

  it("costs no timer without requests", async () => {
    await using server = await http2Server(echo);
    const clock = virtualClock();
    const client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock });
    await text(await client.send(post(server.origin, "a")));
    await until(() => clock.pendingCount === 0);
    client.close();
  });

  it("is asked before it is used after 30 s without a byte, and replaced without an answer", async () => {
    await using server = await http2Server(echo);
    await using proxy = await faultyProxy({ target: server });
    const clock = virtualClock();
    const client = http2Client({ origin: proxy.origin, connectWaitMs: 5_000, clock });
    await text(await client.send(post(proxy.origin, "a")));
    await pass(clock, 31_000);
    expect(await text(await client.send(post(proxy.origin, "b")))).toBe("echo b");
    expect(proxy.openedCount).toBe(1);

    await pass(clock, 31_000);
    proxy.goSilent();
    const lost = proxy.next("requestLost");
    const third = client.send(post(proxy.origin, "c"));
    await lost;
    await clock.advance(2_499);
    expect(proxy.openedCount).toBe(1);
    proxy.requests.lost = false;
    proxy.replies.lost = false;
    await clock.advance(1);
    expect(await text(await third)).toBe("echo c");
    expect(proxy.openedCount).toBe(2);
    client.close();
  });

  it("is found out after a laptop's sleep by a question, not by the clock", async () => {
    let answer: (() => void) | undefined;
    await using server = await http2Server((stream, body) => {
      answer = () => echo(stream, body);
    });
    const clock = virtualClock();
    const client = http2Client({ origin: server.origin, connectWaitMs: 5_000, clock });
    const slow = client.send(post(server.origin, "slow"));
    await until(() => answer !== undefined);
    await clock.sleepLaptop(3_600_000);
    await pass(clock, 20_000);
    answer?.();
    expect(await text(await slow)).toBe("echo slow");
    client.close();
  });
});
