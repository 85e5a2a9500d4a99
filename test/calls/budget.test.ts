import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { callWorld } from "../support/call-world.ts";
import { after, fault, hang, plainOk, type Step } from "../support/scripted-http.ts";

const day = 24 * 3_600_000;

describe("the budget of a call", () => {
  it("refuses NaN as a TypeError, before anything is sent", async () => {
    await using world = callWorld();
    await expect(world.client.read({}, { timeoutMs: Number.NaN })).rejects.toThrow(TypeError);
    expect(world.http.requests).toEqual([]);
  });

  const rows: readonly [string, number | undefined, number][] = [
    ["none: the link's", undefined, 30_000],
    ["zero: the link's", 0, 30_000],
    ["negative: the link's", -5, 30_000],
    ["minus infinity: the link's", Number.NEGATIVE_INFINITY, 30_000],
    ["its own", 1_234, 1_234],
    ["a part of a ms", 0.5, 0.5],
    ["above what the system's timers take", 30 * day, 30 * day],
  ];
  it.each(rows)("%s", async (_, timeoutMs, budgetMs) => {
    await using world = callWorld({ timing: { tryWaitMs: 40 * day } });
    world.http.otherwise = () => hang();
    const options = timeoutMs === undefined ? {} : { timeoutMs };
    const error = await world.failure(world.client.read({}, options), budgetMs + 1);
    expect(error.reason).toBe("BUDGET_ENDED");
    expect(error.code).toBe(Code.DeadlineExceeded);
    expect(world.clock.monotonic()).toBe(budgetMs);
  });

  it("is the short one for a signal and for a call made with `short`, and a tick for a heartbeat", async () => {
    await using world = callWorld();
    world.http.otherwise = () => hang();
    const ends: number[] = [];
    const end = (): void => {
      ends.push(world.clock.monotonic());
    };
    const calls = [world.client.nudge({}), world.client.read({}, { short: true }), world.client.beat({})];
    await world.settled(Promise.all(calls.map((call) => call.catch(end))));
    expect(ends).toEqual([10_000, 10_000, 30_000]);
  });

  it("without an end waits for its server for as long as it takes, and tells it no deadline", async () => {
    await using world = callWorld();
    world.http.otherwise = () => fault("cut");
    world.http.probe = () => fault("connect-failed");
    const call = world.client.read({}, { timeoutMs: Number.POSITIVE_INFINITY });
    await world.clock.advance(3 * 3_600_000);
    world.http.otherwise = () => world.answers.ok({ total: 7n });
    world.http.probe = () => world.answers.ok();
    expect((await world.settled(call, 3_000)).total).toBe(7n);
    expect(world.http.requests.at(-1)?.header.get("connect-timeout-ms")).toBeNull();
  });

  it("goes to the server as what is left of it, never above what a timer takes", async () => {
    await using world = callWorld();
    world.http.next(after(400, world.answers.error(Code.Unavailable)));
    await world.settled(world.client.read({}, { timeoutMs: 5_000 }));
    await world.settled(world.client.read({}, { timeoutMs: 30 * day }));
    const told = world.http.requests.map(({ header }) => Number(header.get("connect-timeout-ms")));
    expect(told[0]).toBe(5_000);
    expect(told[1]).toBe(Math.ceil(5_000 - (world.http.requests[1]?.at ?? 0)));
    expect(told[2]).toBe(2 ** 31 - 1);
  });

  it("does not move with the wall clock", async () => {
    await using world = callWorld();
    world.http.otherwise = () => hang();
    const call = world.client.read({}, { timeoutMs: 5_000 });
    await world.clock.advance(1_000);
    world.clock.jumpWall(48 * 3_600_000);
    await world.clock.advance(1_000);
    world.clock.jumpWall(-96 * 3_600_000);
    await world.failure(call);
    expect(world.clock.monotonic()).toBe(5_000);
  });
});

describe("a call ends exactly with its budget", () => {
  const faults: readonly [string, (answers: ReturnType<typeof callWorld>["answers"]) => Step][] = [
    ["refused connects", () => fault("connect-refused")],
    ["failed connects", () => fault("connect-failed")],
    ["connects that hang", () => after(5_000, fault("connect-timeout"))],
    ["connects that never end", () => hang(false)],
    ["cuts", () => after(30, fault("cut"))],
    ["refused streams", () => fault("refused-stream", false)],
    ["no reply", () => hang()],
    ["unknown words", () => fault("unknown")],
    ["503 of a server", (answers) => answers.error(Code.Unavailable)],
    ["503 of a proxy", (answers) => answers.http(503, "text/html", "<h1>503</h1>")],
    ["429 of a proxy", (answers) => answers.http(429, "text/plain", "slow down")],
    ["404 of an edge", (answers) => answers.http(404, "text/html", "<h1>404</h1>")],
    ["a sign-in page", (answers) => answers.http(200, "text/html", "<form>")],
    ["IN_PROGRESS", (answers) => answers.reason("IN_PROGRESS", { mark: "later" })],
  ];
  for (const budgetMs of [700, 12_345]) {
    it.each(faults)(`of ${budgetMs} ms under %s`, async (_, step) => {
      await using world = callWorld();
      world.http.otherwise = () => step(world.answers);
      world.http.probe = () => step(world.answers);
      const error = await world.failure(world.client.add({}, { timeoutMs: budgetMs }), budgetMs + 1);
      expect(error.reason).toBe("BUDGET_ENDED");
      expect(world.clock.monotonic()).toBe(budgetMs);
      expect(error.tries).toBeGreaterThan(0);
    });
  }

  it("also when the answer would have come a moment later", async () => {
    await using world = callWorld();
    world.http.otherwise = () => after(1_001, world.answers.ok());
    const error = await world.failure(world.client.read({}, { timeoutMs: 1_000 }));
    expect(error).toMatchObject({ reason: "BUDGET_ENDED", outcome: "unknown", progress: "sent", tries: 1 });
    // A server that is slow for one call is not down for the others.
    expect(world.link.state.value.kind).toBe("idle");
    expect(world.http.retired).toEqual([]);
  });

  it("on a plain link too", async () => {
    await using world = callWorld({ server: "plain" });
    world.http.otherwise = () => after(20, plainOk());
    await world.settled(world.client.read({}));
    world.http.otherwise = () => hang();
    const start = world.clock.monotonic();
    await world.failure(world.client.read({}, { timeoutMs: 900 }));
    expect(world.clock.monotonic() - start).toBe(900);
  });
});

describe("a try", () => {
  it("lasts the try's time, then a new one goes over a new client", async () => {
    await using world = callWorld();
    world.http.next(hang());
    await world.settled(world.client.read({}));
    const [first, second] = world.http.requests;
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(10_000);
    expect(second!.at - first!.at).toBeLessThanOrEqual(10_250);
    expect([first!.client, second!.client]).toEqual([1, 2]);
  });

  it("takes the budget from the call's start, so that no reconnect renews it", async () => {
    await using world = callWorld({ timing: { tryWaitMs: 1_000, connectWaitMs: 500 } });
    world.http.otherwise = () => hang();
    await world.failure(world.client.add({}, { timeoutMs: 10_500 }));
    expect(world.clock.monotonic()).toBe(10_500);
    expect(world.http.requests.length).toBeGreaterThan(5);
  });
});
