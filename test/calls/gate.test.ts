import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { callWorld, type CallWorld, gapsOf } from "../support/call-world.ts";
import { after, fault, hang } from "../support/scripted-http.ts";

/** No server there: neither for calls nor for probes. */
function outage(world: CallWorld): void {
  world.http.otherwise = () => fault("connect-failed");
  world.http.probe = () => fault("connect-failed");
}

function healed(world: CallWorld): void {
  world.http.otherwise = () => world.answers.ok();
  world.http.probe = () => world.answers.ok();
}

describe("the gate of a link", () => {
  it("sends one probe at a time for all calls, which spend no try while they wait", async () => {
    await using world = callWorld();
    outage(world);
    const calls = Array.from({ length: 50 }, () => world.client.add({}));
    await world.clock.advance(10_000);
    expect(world.http.requests.length).toBe(50);
    expect(world.http.underWayCount).toBe(0);
    healed(world);
    await world.settled(Promise.all(calls), 4_000);
    expect(world.http.requests.length).toBe(100);
  });

  it("waits 250 ms, then twice as long, up to 2 s while a call waits, less a random part of up to half", async () => {
    await using world = callWorld();
    outage(world);
    const call = world.client.read({});
    await world.clock.advance(20_000);
    const [first = 0, second = 0, third = 0, fourth = 0, ...rest] = gapsOf([
      world.http.requests[0]!,
      ...world.http.probes,
    ]);
    for (const [gap, mostMs] of [
      [first, 250],
      [second, 500],
      [third, 1_000],
      [fourth, 2_000],
      ...rest.map((gap) => [gap, 2_000] as const),
    ] as const) {
      expect(gap).toBeGreaterThanOrEqual(mostMs / 2);
      expect(gap).toBeLessThanOrEqual(mostMs);
    }
    expect(rest.length).toBeGreaterThan(6);
    expect(new Set(rest).size).toBe(rest.length);
    healed(world);
    await world.settled(call, 2_000);
  });

  it("goes on by itself up to every 30 s when nobody waits, so that the state comes back", async () => {
    await using world = callWorld();
    outage(world);
    await world.failure(world.client.read({}, { timeoutMs: 3_000 }));
    await world.clock.advance(300_000);
    const gaps = gapsOf(world.http.probes).slice(-5);
    for (const gap of gaps) {
      expect(gap).toBeGreaterThanOrEqual(15_000);
      expect(gap).toBeLessThanOrEqual(30_000);
    }
    healed(world);
    await world.clock.advance(30_000);
    expect(world.link.state.value.kind).toBe("up");
  });

  it("probes at once for a new call after an idle gate", async () => {
    await using world = callWorld();
    outage(world);
    await world.failure(world.client.read({}, { timeoutMs: 3_000 }));
    await world.clock.advance(200_000);
    healed(world);
    const start = world.clock.monotonic();
    await world.settled(world.client.read({}));
    expect(world.clock.monotonic() - start).toBeLessThanOrEqual(1_000);
  });

  it("probes at once when the network may be back, but not more than once a second", async () => {
    await using world = callWorld();
    outage(world);
    await world.failure(world.client.read({}, { timeoutMs: 3_000 }));
    await world.clock.advance(200_000);
    const before = world.http.probes.length;
    const start = world.clock.monotonic();
    for (let wakes = 0; wakes < 100; wakes += 1) {
      world.http.wake();
      await world.clock.advance(100);
    }
    const since = world.http.probes.slice(before);
    expect(since[0]!.at - start).toBeLessThanOrEqual(1_000);
    expect(Math.min(...gapsOf(since))).toBeGreaterThanOrEqual(1_000);
    expect(since.length).toBeGreaterThanOrEqual(9);
  });

  it("keeps connects to one a second after the first two seconds, however many short calls come", async () => {
    await using world = callWorld();
    outage(world);
    const calls: Promise<unknown>[] = [];
    for (let count = 0; count < 300; count += 1) {
      calls.push(world.client.read({}, { timeoutMs: 150 }).catch(() => undefined));
      await world.clock.advance(100);
    }
    await world.settled(Promise.all(calls));
    const connects = [...world.http.requests, ...world.http.probes].map(({ at }) => at);
    for (let from = 2_000; from < 30_000; from += 500) {
      const count = connects.filter((at) => at >= from && at < from + 5_000).length;
      expect(count).toBeLessThanOrEqual(6);
    }
  });

  it("lets calls go in their order and in slices of 32 each 50 ms", async () => {
    await using world = callWorld();
    outage(world);
    const first = world.client.read({});
    await world.clock.advance(100);
    const calls = Array.from({ length: 99 }, (_, at) => world.client.read({ text: `${at}` }));
    await world.clock.advance(100);
    healed(world);
    await world.settled(Promise.all([first, ...calls]), 3_000);
    const went = world.http.requests.slice(1);
    const start = went[0]!.at;
    expect(went.map(({ at }) => at - start)).toEqual(
      Array.from({ length: 100 }, (_, at) => Math.floor(at / 32) * 50),
    );
    const texts = went.slice(1).map(({ body }) => Buffer.from(body).toString().slice(2));
    expect(texts).toEqual(Array.from({ length: 99 }, (_, at) => `${at}`));
  });

  it.each([
    ["failed connects", () => fault("connect-failed")],
    ["cuts", () => fault("cut")],
    ["no reply", () => hang()],
  ])("fails no call in an outage shorter than its budget: %s", async (_, step) => {
    await using world = callWorld();
    await world.settled(world.client.add({}));
    world.http.otherwise = step;
    world.http.probe = step;
    const calls = Array.from({ length: 200 }, () => world.client.add({}));
    await world.clock.advance(25_000);
    healed(world);
    await world.settled(Promise.all(calls), 5_001);
  });

  it("opens on trial for one call when a probe cannot tell who answers; growing waits if it fails", async () => {
    await using world = callWorld();
    // An edge that answers everything, calls with a page.
    world.http.probe = () => world.answers.http(404, "text/html", "<h1>404</h1>");
    world.http.otherwise = () => world.answers.http(404, "text/html", "<h1>404</h1>");
    const call = world.client.add({}, { timeoutMs: 60_000 });
    await world.clock.advance(25_000);
    const gaps = gapsOf(world.http.requests);
    expect(gaps[0]).toBeLessThanOrEqual(250);
    for (const gap of gaps.slice(4)) {
      expect(gap).toBeGreaterThanOrEqual(1_000);
      expect(gap).toBeLessThanOrEqual(2_000);
    }
    expect(Math.max(...gaps)).toBeGreaterThan(1_000);
    expect(world.states.map(({ kind }) => kind)).not.toContain("up");
    world.http.otherwise = () => world.answers.ok();
    await world.settled(call, 1_000 + 2_000);
  });

  it("holds a second call back while one is on trial", async () => {
    await using world = callWorld();
    world.http.probe = () => world.answers.http(404, "text/html", "");
    world.http.next(fault("cut"), after(500, world.answers.ok()));
    const first = world.client.read({ text: "first" });
    await world.clock.advance();
    const second = world.client.read({ text: "second" });
    await world.settled(first);
    await world.settled(second);
    const [, trial, next] = world.http.requests;
    expect(next!.at - trial!.at).toBe(500);
  });

  it("is not closed by a late fault of a client that the link has left already", async () => {
    await using world = callWorld();
    await world.settled(world.client.read({}));
    world.http.next(hang(), hang());
    const first = world.client.read({});
    await world.clock.advance(5_000);
    const second = world.client.read({});
    await world.settled(first);
    const { length } = world.states;
    const { value } = world.link.state;
    expect(value.kind).toBe("up");
    await world.settled(second);
    // The second call's try ends on the old client: it goes on at once, and nobody else hears of it.
    expect(world.http.requests.at(-1)?.at).toBe(15_000);
    expect(world.states.slice(length)).toEqual([]);
    expect(world.http.openedCount).toBe(2);
  });

  it("stays open under server faults: those are answers", async () => {
    await using world = callWorld();
    world.http.next(world.answers.error(Code.Unavailable));
    const call = world.client.read({});
    await world.clock.advance();
    await world.settled(world.client.read({ text: "other" }), 0);
    await world.settled(call);
    expect(world.http.probes).toEqual([]);
    expect(world.http.openedCount).toBe(1);
  });
});

describe("the HTTP client of a link", () => {
  it("is swapped once for all callers of one cut", async () => {
    await using world = callWorld();
    await world.settled(world.client.read({}));
    world.http.next(...Array.from({ length: 20 }, () => after(100, fault("cut"))));
    await world.settled(Promise.all(Array.from({ length: 20 }, () => world.client.add({}))));
    expect(world.http.openedCount).toBe(2);
    expect(world.http.retired).toEqual([1]);
  });

  it("is swapped once for all links of one server", async () => {
    await using world = callWorld({ account: "a" });
    const other = world.another({ account: "b" });
    await world.settled(Promise.all([world.client.read({}), other.client.read({})]));
    world.http.next(after(100, fault("cut")), after(200, fault("cut")));
    await world.settled(Promise.all([world.client.add({}), other.client.add({})]));
    expect(world.http.openedCount).toBe(2);
    // The other link learnt of no trouble that is still there.
    expect(other.link.state.value.kind).toBe("up");
  });

  it("takes no try once it is swapped out, also not one that waited for its token meanwhile", async () => {
    let give: (token: string) => void = () => undefined;
    const asked = { count: 0 };
    await using world = callWorld({
      token: () => {
        asked.count += 1;
        if (asked.count !== 2) return "token";
        return new Promise((resolve) => {
          give = resolve;
        });
      },
    });
    await world.settled(world.client.read({}));
    world.link.signIn();
    world.http.next(after(100, fault("cut")));
    const other = world.another({ account: "other" });
    const waits = world.client.add({});
    const cut = other.client.read({});
    await world.settled(cut);
    give("token");
    await world.settled(waits);
    expect(world.states.map(({ kind }) => kind)).toEqual(["idle", "up"]);
    expect(world.http.requests.at(-1)?.client).toBe(2);
  });
});
