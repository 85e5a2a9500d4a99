import { expect, it } from "vitest";
import type { HoldfastError } from "../../runtime/base/errors.ts";
import { callWorld } from "../support/call-world.ts";
import { fault, hang } from "../support/scripted-http.ts";

it("ends every call of the link with LINK_CLOSED and the outcome that is true, and leaves no timer", async () => {
  await using world = callWorld();
  world.http.next(hang());
  const sent = world.client.add({});
  await world.clock.advance(10);
  const refused = world.failure(sent);
  await world.link.close();
  expect(await refused).toMatchObject({ reason: "LINK_CLOSED", outcome: "unknown", progress: "sent" });
  expect(await world.failure(world.client.add({}), 0)).toMatchObject({
    reason: "LINK_CLOSED",
    outcome: "not-run",
    tries: 0,
  });
  expect(world.clock.pendingCount).toBe(0);
  expect(world.http.closed).toEqual([1]);
  expect(world.http.wakeCount).toBe(0);
});

it("ends calls that wait at the gate, for a token, after a server fault, and for a place", async () => {
  for (const stage of ["gate", "token", "wait", "place"] as const) {
    await using world = callWorld({
      token: () => (stage === "token" ? new Promise(() => undefined) : "t"),
    });
    if (stage === "gate") world.http.otherwise = () => fault("cut");
    if (stage === "gate") world.http.probe = () => hang();
    if (stage === "wait") world.http.otherwise = () => world.answers.reason("DRAINING", { mark: "later" });
    if (stage === "place") world.http.otherwise = () => hang();
    const count = stage === "place" ? 2_100 : 20;
    const ends = Promise.allSettled(Array.from({ length: count }, () => world.client.add({})));
    await world.clock.advance(150);
    await world.link.close();
    const reasons = new Set(
      (await ends).map((end) => (end.status === "rejected" ? (end.reason as HoldfastError).reason : "")),
    );
    expect([...reasons], stage).toEqual(["LINK_CLOSED"]);
    expect(world.clock.pendingCount, stage).toBe(0);
    expect(world.http.underWayCount, stage).toBe(0);
  }
});

it("may be called twice, ends loops over the state, and lets the same URL have a new link", async () => {
  await using world = callWorld();
  const loop = (async () => {
    for await (const { kind } of world.link.state) expect(kind).toBe("idle");
  })();
  await world.link.close();
  await world.link.close();
  await loop;
  const again = world.another({});
  expect(again.link).not.toBe(world.link);
  await world.settled(again.client.read({}));
});

it("keeps the connections while another link of the server uses them", async () => {
  await using world = callWorld({ account: "a" });
  const other = world.another({ account: "b" });
  await world.settled(other.client.read({}));
  await world.link.close();
  await world.settled(other.client.read({}));
  expect(world.http.closed).toEqual([]);
  await other.link.close();
  expect(world.http.closed).toEqual([1]);
});

it("leaves nothing unhandled in 500 rounds of aborts, ends and closes at any moment", async () => {
  await using world = callWorld({ account: "0" });
  const { random } = world.http.platform;
  const steps = [
    () => world.answers.ok(),
    () => fault("cut"),
    () => hang(),
    () => world.answers.reason("OVERLOADED", { mark: "later" }),
  ];
  world.http.otherwise = () => steps[Math.floor(random.fraction() * steps.length)]!();
  world.http.probe = () => (random.fraction() < 0.5 ? fault("connect-failed") : world.answers.ok());
  for (let round = 1; round <= 500; round += 1) {
    const { link, client } = world.another({ account: `${round}` });
    const abort = new AbortController();
    const calls = [
      client.add({}, { signal: abort.signal }),
      client.read({}, { timeoutMs: 1 + random.fraction() * 500 }),
      client.addAtMostOnce({}),
    ];
    const ends = Promise.allSettled(calls);
    await world.clock.advance(random.fraction() * 400);
    if (random.fraction() < 0.7) abort.abort();
    if (random.fraction() < 0.5) await world.clock.advance(random.fraction() * 400);
    await link.close();
    await ends;
  }
  expect(world.harness.unhandled).toEqual([]);
});
