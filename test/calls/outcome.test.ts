import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { Progress } from "../../runtime/base/errors.ts";
import type { Outcome, Reason } from "../../runtime/base/reasons.ts";
import { callWorld, type CallWorld } from "../support/call-world.ts";
import { after, fault, hang, plainOk, type Step } from "../support/scripted-http.ts";
import { retryDetail } from "../../runtime/base/errors.ts";

interface End {
  readonly reason: Reason | undefined;
  readonly outcome: Outcome;
  readonly progress: Progress;
  readonly tries: number;
}

describe("an error says how far its call got (once-commands)", () => {
  const rows: Readonly<Record<string, readonly [(world: CallWorld) => void, End]>> = {
    "the server was never reached": [
      (world) => {
        world.http.otherwise = () => fault("connect-failed");
        world.http.probe = () => fault("connect-failed");
      },
      { reason: "BUDGET_ENDED", outcome: "not-run", progress: "waiting", tries: 1 },
    ],
    "it hung in its connect": [
      (world) => {
        world.http.otherwise = () => hang(false);
      },
      { reason: "BUDGET_ENDED", outcome: "not-run", progress: "waiting", tries: 1 },
    ],
    "it was sent and not answered": [
      (world) => {
        world.http.otherwise = () => hang();
      },
      { reason: "BUDGET_ENDED", outcome: "unknown", progress: "sent", tries: 1 },
    ],
    "it waited after server faults": [
      (world) => {
        world.http.otherwise = () => world.answers.error(Code.Unavailable);
      },
      { reason: "BUDGET_ENDED", outcome: "unknown", progress: "waiting", tries: 4 },
    ],
    "it waited after faults that were certainly before its run": [
      (world) => {
        world.http.otherwise = () => world.answers.reason("DRAINING", { mark: "later" });
      },
      { reason: "BUDGET_ENDED", outcome: "not-run", progress: "waiting", tries: 4 },
    ],
    "the server refused it and kept that": [
      (world) => {
        world.http.next(world.answers.error(Code.FailedPrecondition, { mark: "refused" }));
      },
      { reason: undefined, outcome: "refused", progress: "answered", tries: 1 },
    ],
    "it was stopped before the journal": [
      (world) => {
        world.http.next(world.answers.reason("TOO_LARGE", { mark: "none" }));
      },
      { reason: "TOO_LARGE", outcome: "not-run", progress: "answered", tries: 1 },
    ],
    "it was stopped before the journal, after a try that may have run": [
      (world) => {
        world.http.next(fault("cut"), world.answers.reason("TOO_LARGE", { mark: "none" }));
      },
      { reason: "TOO_LARGE", outcome: "unknown", progress: "answered", tries: 2 },
    ],
    "the journal will never know": [
      (world) => {
        world.http.next(world.answers.reason("CALL_FORGOTTEN", { mark: "unknown" }));
      },
      { reason: "CALL_FORGOTTEN", outcome: "unknown", progress: "answered", tries: 1 },
    ],
    "its reply was not kept": [
      (world) => {
        world.http.next(fault("cut"), world.answers.reason("ALREADY_RAN", { mark: "ran" }));
      },
      { reason: "ALREADY_RAN", outcome: "unknown", progress: "answered", tries: 2 },
    ],
    "the server is no holdfast server": [
      (world) => {
        world.http.next(plainOk());
      },
      { reason: "NOT_HOLDFAST", outcome: "unknown", progress: "answered", tries: 1 },
    ],
    "a plain server refused it": [
      (world) => {
        world.http.next(world.answers.error(Code.NotFound, { ours: false }));
      },
      { reason: "NOT_HOLDFAST", outcome: "unknown", progress: "answered", tries: 1 },
    ],
    "the server asks for a wait beyond the budget": [
      (world) => {
        const details = [retryDetail(60_000)];
        world.http.next(world.answers.reason("OVERLOADED", { mark: "later", details }));
      },
      { reason: "RETRY_LATER", outcome: "not-run", progress: "answered", tries: 1 },
    ],
    "the server asks for no new try": [
      (world) => {
        world.http.next(
          world.answers.reason("OVERLOADED", { mark: "later", header: { "holdfast-retry": "never" } }),
        );
      },
      { reason: "OVERLOADED", outcome: "not-run", progress: "answered", tries: 1 },
    ],
  };
  it.each(Object.entries(rows))("%s", async (_, [arrange, end]) => {
    const timeoutMs = 2_000;
    await using world = callWorld({ timing: { firstWaitMs: 250 } });
    arrange(world);
    const error = await world.failure(world.client.add({}, { timeoutMs }), timeoutMs);
    expect({ ...end, tries: error.tries }).toEqual({
      reason: error.reason,
      outcome: error.outcome,
      progress: error.progress,
      tries: error.tries,
    });
    if (end.tries < 4) expect(error.tries).toBe(end.tries);
    expect(error.callId).toMatch(/^[A-Za-z0-9_-]{22}$/);
  });

  it("gives the last fault as the cause, also when the budget ends in a later wait", async () => {
    await using world = callWorld();
    world.http.otherwise = () => fault("cut");
    world.http.probe = () => fault("connect-refused");
    const error = await world.failure(world.client.add({}, { timeoutMs: 3_000 }));
    expect(error.cause).toMatchObject({ kind: "cut" });
    expect(error.message).toContain("no reply from board.test for 3 s");
    expect(error.message).toContain("it may have run");
  });

  it("does not give the news that the link is back as the reason of a failure", async () => {
    await using world = callWorld();
    world.http.next(fault("connect-failed"));
    await world.settled(world.client.read({}));
    expect(world.link.line()).toMatch(/^back after/);
    world.http.otherwise = () => hang();
    const error = await world.failure(world.client.read({}, { timeoutMs: 1_000 }));
    expect(error.message).toContain("the call's budget ended without an answer");
  });

  it("tells a wait for a token from a call that was sent", async () => {
    await using world = callWorld({ token: () => new Promise(() => undefined) });
    const error = await world.failure(world.client.add({}, { timeoutMs: 1_000 }));
    expect(error).toMatchObject({ outcome: "not-run", progress: "signing-in", tries: 0 });
  });

  it("tells an abort before anything was sent from one after", async () => {
    await using world = callWorld();
    world.http.otherwise = () => hang();
    const before = await world.failure(world.client.add({}, { signal: AbortSignal.abort("mine") }));
    expect(before).toMatchObject({ reason: "ABORTED", outcome: "not-run", tries: 0, cause: "mine" });
    const controller = new AbortController();
    const call = world.client.add({}, { signal: controller.signal });
    await world.clock.advance(100);
    controller.abort("now");
    const error = await world.failure(call);
    expect(error).toMatchObject({ reason: "ABORTED", outcome: "unknown", progress: "sent", cause: "now" });
    expect(world.clock.monotonic()).toBe(100);
    expect(world.http.underWayCount).toBe(0);
  });

  it("ends with the server's own error: code, text, details and headers", async () => {
    await using world = callWorld();
    const details = [{ type: "test.v1.Why", value: new Uint8Array([1]) }];
    const header = { "x-why": "because" };
    world.http.next(
      world.answers.error(Code.OutOfRange, { mark: "refused", message: "too many", details, header }),
    );
    const error = await world.failure(world.client.add({}));
    expect(error).toBeInstanceOf(ConnectError);
    expect(error).toMatchObject({ code: Code.OutOfRange, rawMessage: "too many", reason: undefined });
    expect(error.metadata.get("x-why")).toBe("because");
    expect(error.details).toMatchObject([{ type: "test.v1.Why" }]);
  });
});

describe("a query", () => {
  it.each([
    Code.Internal,
    Code.Unknown,
    Code.DataLoss,
    Code.NotFound,
    Code.PermissionDenied,
    Code.Aborted,
    Code.Canceled,
  ])("is refused by code %i", async (code) => {
    await using world = callWorld();
    world.http.next(world.answers.error(code));
    const error = await world.failure(world.client.read({}));
    expect(error).toMatchObject({ code, outcome: "refused", progress: "answered", tries: 1 });
    expect(error.callId).toBeUndefined();
  });

  const again: Readonly<Record<string, (world: CallWorld) => Step>> = {
    unavailable: (world) => world.answers.error(Code.Unavailable),
    "resource exhausted": (world) => world.answers.error(Code.ResourceExhausted),
    "deadline exceeded": (world) => world.answers.error(Code.DeadlineExceeded),
    "aborted with a wait": (world) => world.answers.error(Code.Aborted, { details: [retryDetail(10)] }),
    "an HTML 404": (world) => world.answers.http(404, "text/html", "<h1>404</h1>"),
    "a JSON 404 that is no Connect error": (world) =>
      world.answers.http(404, "application/json", '{"error":"not found"}'),
    "JSON that is none": (world) => world.answers.http(400, "application/json", "{"),
    "a 200 page": (world) => world.answers.http(200, "text/html", "<form>"),
    "a 200 without a type": (world) => world.answers.http(200, undefined, ""),
    "a 502 of a proxy": (world) => world.answers.http(502, "text/html", "bad gateway"),
    "a 504 of a proxy": (world) => world.answers.http(504, undefined, ""),
    "a Connect error without our header, once it has been seen": (world) =>
      world.answers.error(Code.PermissionDenied, { ours: false }),
    "a success without our header, once it has been seen": () => plainOk(),
  };
  it.each(Object.entries(again))("is tried again after %s", async (_, step) => {
    await using world = callWorld();
    await world.settled(world.client.read({}));
    world.http.next(step(world), world.answers.ok({ total: 5n }));
    expect((await world.settled(world.client.read({}))).total).toBe(5n);
    expect(world.http.requests.length).toBe(3);
  });
});

describe("a once-command", () => {
  const codes = [Code.Internal, Code.Unknown, Code.DataLoss, Code.PermissionDenied, Code.NotFound];
  it.each(codes)("is tried again after an answer of code %i without a mark", async (code) => {
    await using world = callWorld();
    world.http.next(world.answers.error(code), world.answers.ok({ total: 1n }));
    expect((await world.settled(world.client.add({}))).total).toBe(1n);
  });

  it("is tried again after the mark `later`, whatever the code", async () => {
    await using world = callWorld();
    world.http.next(
      world.answers.error(Code.InvalidArgument, { mark: "later" }),
      world.answers.reason("IN_PROGRESS", { mark: "later" }),
    );
    await world.settled(world.client.add({}));
    expect(world.http.requests.length).toBe(3);
    expect(world.http.openedCount).toBe(1);
  });

  it("is tried again after a proxy's error, once the server has been seen, and after an edge's page before", async () => {
    await using world = callWorld();
    world.http.next(world.answers.http(404, "text/html", "<h1>"), world.answers.ok());
    await world.settled(world.client.add({}));
    world.http.next(world.answers.error(Code.NotFound, { ours: false }), world.answers.ok());
    await world.settled(world.client.add({}));
    expect(world.http.requests.length).toBe(4);
  });

  it("names the three causes when the server is none of ours, and sends nothing again", async () => {
    await using world = callWorld();
    world.http.next(plainOk());
    const error = await world.failure(world.client.add({}));
    expect(error.message).toMatch(/plain Connect server.*CORS.*proxy/s);
    expect(world.http.requests.length).toBe(1);
    expect(world.link.state.value.kind).toBe("idle");
  });
});

describe("an at-most-once command", () => {
  const once: Readonly<Record<string, (world: CallWorld) => Step>> = {
    "a cut": () => fault("cut"),
    "no reply": () => hang(),
    "unknown words": () => fault("unknown"),
    "a page": (world) => world.answers.http(200, "text/html", "<form>"),
    "a 503 of a proxy": (world) => world.answers.http(503, "text/html", ""),
    unavailable: (world) => world.answers.error(Code.Unavailable),
  };
  it.each(Object.entries(once))("ends at %s, outcome unknown", async (_, step) => {
    await using world = callWorld();
    world.http.next(step(world));
    const error = await world.failure(world.client.addAtMostOnce({}));
    expect(error).toMatchObject({ code: Code.Unavailable, outcome: "unknown", tries: 1 });
    await world.clock.advance(60_000);
    expect(world.http.requests.length).toBe(1);
  });

  const never: Readonly<Record<string, (world: CallWorld) => Step>> = {
    "a refused connect": () => fault("connect-refused"),
    "a failed connect": () => fault("connect-failed"),
    "a refused stream": () => fault("refused-stream", false),
    "a connect that hangs": () => hang(false),
    "OVERLOADED, which comes before the run": (world) =>
      world.answers.reason("OVERLOADED", { mark: "later" }),
  };
  it.each(Object.entries(never))("is tried again after %s", async (_, step) => {
    await using world = callWorld();
    world.http.next(step(world));
    await world.settled(world.client.addAtMostOnce({}));
    expect(world.http.requests.length).toBe(2);
    const ids = world.http.requests.map(({ header }) => header.get("holdfast-call")?.slice(0, 24));
    expect(ids[0]).toBe(ids[1]);
  });
});

describe("a link to a plain server", () => {
  it("sends commands at most once and without an ID, and repeats queries", async () => {
    await using world = callWorld({ server: "plain" });
    world.http.next(fault("cut"), plainOk());
    await world.settled(world.client.read({}));
    world.http.next(plainOk());
    await world.settled(world.client.add({}));
    expect(world.http.requests.at(-1)?.header.has("holdfast-call")).toBe(false);
    world.http.next(fault("cut"));
    const error = await world.failure(world.client.add({}));
    expect(error).toMatchObject({ reason: "NO_REPLY", outcome: "unknown", callId: undefined });
    world.http.next(world.answers.error(Code.NotFound, { ours: false }));
    expect(await world.failure(world.client.add({}))).toMatchObject({
      code: Code.NotFound,
      outcome: "refused",
    });
    expect(world.link.state.value.kind).toBe("up");
  });
});

describe("waits after server faults", () => {
  it("double from 250 ms to 5 s, less up to half, and no count of tries ends a call early", async () => {
    await using world = callWorld();
    world.http.otherwise = () => world.answers.error(Code.Unavailable);
    await world.failure(world.client.read({}, { timeoutMs: 60_000 }));
    const waits = world.http.requests.slice(1).map(({ at }, index) => at - world.http.requests[index]!.at);
    const most = [250, 500, 1_000, 2_000, 4_000];
    expect(waits.length).toBeGreaterThan(12);
    waits.forEach((wait, at) => {
      expect(wait).toBeGreaterThanOrEqual((most[at] ?? 5_000) / 2);
      expect(wait).toBeLessThanOrEqual(most[at] ?? 5_000);
    });
  });

  it("start at 1 s after an answer that says too much", async () => {
    for (const step of ["ours", "proxy"] as const) {
      await using world = callWorld();
      world.http.next(
        step === "ours"
          ? world.answers.error(Code.ResourceExhausted)
          : world.answers.http(429, "text/html", "slow down"),
      );
      await world.settled(world.client.read({}));
      expect(world.clock.monotonic()).toBeGreaterThanOrEqual(500);
      expect(world.clock.monotonic()).toBeLessThanOrEqual(1_000);
    }
  });

  it.each([
    ["RetryInfo", 4_000, {}, [retryDetail(4_000)]],
    ["retry-after", 4_000, { "retry-after": "4" }, []],
    ["gRPC's pushback", 4_000, { "grpc-retry-pushback-ms": "4000" }, []],
    ["the longest of several", 6_000, { "retry-after": "2" }, [retryDetail(6_000)]],
  ])("are as long as %s asks for", async (_, waitMs, header, details) => {
    await using world = callWorld();
    world.http.next(world.answers.error(Code.Unavailable, { header, details }));
    await world.settled(world.client.read({}));
    expect(world.clock.monotonic()).toBe(waitMs);
  });

  it("are their own when the hint is shorter, or a date", async () => {
    await using world = callWorld();
    world.http.next(world.answers.error(Code.Unavailable, { header: { "retry-after": "0" } }));
    await world.settled(world.client.read({}));
    expect(world.clock.monotonic()).toBeGreaterThanOrEqual(125);
    world.http.next(
      world.answers.error(Code.Unavailable, { header: { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" } }),
    );
    await world.settled(world.client.read({}), 1_000);
  });

  it.each([
    { "grpc-retry-pushback-ms": "-1" },
    { "grpc-retry-pushback-ms": "soon" },
    { "holdfast-retry": "never" },
  ])("do not come after %o", async (header) => {
    await using world = callWorld();
    world.http.next(world.answers.error(Code.Unavailable, { header }));
    const error = await world.failure(world.client.read({}), 0);
    expect(error.code).toBe(Code.Unavailable);
  });

  it("keep the tries of a whole link to 20 and one a second under a full outage of the server", async () => {
    await using world = callWorld();
    world.http.otherwise = () => after(1, world.answers.error(Code.Unavailable));
    const calls = Array.from({ length: 100 }, () => world.client.read({}, { timeoutMs: 30_000 }));
    await world.settled(Promise.allSettled(calls));
    const repeats = world.http.requests.slice(100).map(({ at }) => at);
    for (let from = 0; from < 30_000; from += 1_000) {
      expect(repeats.filter((at) => at >= from && at < from + 10_000).length).toBeLessThanOrEqual(30);
    }
    expect(repeats.length).toBeGreaterThan(40);
  });

  it("are not lengthened by calls that ended before their turn came", async () => {
    await using world = callWorld();
    world.http.otherwise = () => world.answers.error(Code.Unavailable);
    const calls = Array.from({ length: 200 }, () => world.client.read({}, { timeoutMs: 2_000 }));
    await world.settled(Promise.allSettled(calls));
    world.http.next(world.answers.error(Code.Unavailable));
    world.http.otherwise = () => world.answers.ok();
    const start = world.clock.monotonic();
    await world.settled(world.client.read({}));
    expect(world.clock.monotonic() - start).toBeLessThanOrEqual(3_000);
  });
});
