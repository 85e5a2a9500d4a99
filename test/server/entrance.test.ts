/** What stands before the body of every request: sign-in, build, origin, and the turn. */
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, describe, expect, test } from "vitest";
import type { Log } from "../../runtime/base/log.ts";
import type { ServerOptions } from "../../server/index.ts";
import { post, told } from "../support/raw-calls.ts";
import { startTally, type TallyServer } from "../support/tally-server.ts";

const started: TallyServer[] = [];
afterEach(async () => {
  for (const one of started.splice(0)) await one.server.close({ within: 0 });
});

async function start(options: Parameters<typeof startTally>[0]): Promise<TallyServer> {
  const tally = await startTally(options);
  started.push(tally);
  return tally;
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

describe("sign-in", () => {
  const authenticate: ServerOptions["authenticate"] = ({ token }) => {
    if (token === undefined) return undefined;
    if (token === "down") throw new ConnectError("the directory is down", Code.Unavailable);
    if (token === "banned") throw new ConnectError("banned", Code.PermissionDenied);
    if (token === "ended") return { by: "ada", until: 1 };
    if (token !== "ada" && token !== "bob") throw new Error(`a secret: ${token}`);
    return { by: token, grants: ["editor"] };
  };

  test.each([
    ["who is known", "ada", 200, "ran"],
    ["a refused token", "eve", 401, "none"],
    ["a sign-in that has ended", "ended", 401, "none"],
    ["somebody known who may not", "banned", 403, "none"],
    ["a sign-in that cannot be looked at", "down", 503, "later"],
  ])("%s", async (_what, token, status, mark) => {
    const tally = await start({ authenticate });
    const answer = await told(await post(tally.address, "Add", {}, bearer(token)));
    expect(answer).toMatchObject({ status, mark });
    expect(answer.text).not.toContain("secret");
    expect(tally.count.runs).toBe(status === 200 ? 1 : 0);
  });

  test("the handler is told who it is; without a token it is nobody", async () => {
    const seen: unknown[] = [];
    const tally = await start({
      authenticate,
      handlers: {
        nudge: (_, { caller }) => {
          seen.push(caller);
          return {};
        },
      },
    });
    await post(tally.address, "Nudge", {}, bearer("ada"));
    await post(tally.address, "Nudge", {});
    expect(seen).toEqual([
      { by: "ada", grants: ["editor"] },
      { by: undefined, grants: [] },
    ]);
  });

  test("one caller's call ID says nothing to another, and a tag that changed stops the call", async () => {
    const tally = await start({ authenticate });
    const id = { "holdfast-call": "the-same-id-of-two-callers" };
    const first = await post(tally.address, "Add", { amount: "1" }, { ...id, ...bearer("ada") });
    const tag = first.headers.get("holdfast-caller") ?? "";
    await post(tally.address, "Add", { amount: "1" }, { ...id, ...bearer("bob") });
    expect(tally.count.runs).toBe(2);
    const changed = await post(
      tally.address,
      "Add",
      { amount: "1" },
      { ...id, ...bearer("bob"), "holdfast-for": tag },
    );
    expect(await told(changed)).toMatchObject({ status: 400, mark: "unknown", code: "failed_precondition" });
    expect(tally.count.runs).toBe(2);
  });

  test("an anonymous link's secret keeps its calls apart, and is in no log", async () => {
    const lines: string[] = [];
    const line = (...parts: unknown[]): unknown => lines.push(JSON.stringify(parts));
    const log: Log = { info: line, warn: line, error: line };
    const tally = await start({ log });
    for (const anon of ["secret-of-link-one", "secret-of-link-two"]) {
      await post(tally.address, "Add", {}, { "holdfast-anon": anon, "holdfast-call": "id-of-an-anonymous" });
    }
    expect(tally.count.runs).toBe(2);
    expect(lines.join("")).not.toContain("secret-of-link");
  });
});

test("a build that is not accepted is refused by name before anything runs; one without a build is served", async () => {
  const tally = await start({ build: { id: "2.0.0", accepts: ({ major }) => major === 2 } });
  const call = (headers: Record<string, string>): Promise<Awaited<ReturnType<typeof told>>> =>
    post(tally.address, "Add", {}, headers).then(told);
  expect(await call({ "holdfast-build": "1.9.3" })).toMatchObject({
    status: 400,
    mark: "none",
    code: "failed_precondition",
  });
  expect(await call({ "holdfast-build": "1.9.3" })).toMatchObject({ server: '1;build="2.0.0"' });
  expect(await call({ "holdfast-build": "2.4.0-beta" })).toMatchObject({ status: 200 });
  expect(await call({})).toMatchObject({ status: 200 });
  expect(tally.count.runs).toBe(2);
});

test("a page of an allowed origin can call, and read what the server says", async () => {
  const origin = "https://board.example.com";
  const tally = await start({ cors: { origins: [origin] } });
  const preflight = await fetch(`${tally.address.url}/test.v1.TallyService/Add`, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": "POST" },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-origin")).toBe(origin);
  for (const method of ["Add", "Nothing"]) {
    const answer = await post(tally.address, method, {}, { origin });
    expect(answer.headers.get("access-control-expose-headers")).toContain("holdfast-settled");
  }
});

describe("admission", () => {
  function held(): { read: () => Promise<Record<string, never>>; release: () => void; begun: () => number } {
    const waiting: (() => void)[] = [];
    let begun = 0;
    return {
      read: () =>
        new Promise((resolve) => {
          begun += 1;
          waiting.push(() => resolve({}));
        }),
      release: () => waiting.splice(0).forEach((resolve) => resolve()),
      begun: () => begun,
    };
  }
  const limits = { runningPerCallerMost: 1, waitingPerCallerMost: 1 };

  test("one too many is sent away with a time to come back; a heartbeat and a repeat are not", async () => {
    const work = held();
    const tally = await start({ limits, handlers: { read: work.read, add: () => work.read() } });
    const id = (tries: number): Record<string, string> => ({
      "holdfast-call": `"call-id-of-one-command";l="lane-of-one-command";s=1;u=0;t=${tries};a=0`,
    });
    const first = post(tally.address, "Add", {}, id(1));
    await expect.poll(() => work.begun()).toBe(1);
    const waiting = post(tally.address, "Read", {});
    const shed = await until(
      async () => told(await post(tally.address, "Read", {})),
      ({ status }) => status === 429,
    );
    expect(shed.code).toBe("resource_exhausted");
    const command = await post(tally.address, "Add", {});
    expect(Number(command.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await told(command)).toMatchObject({ status: 429, mark: "later" });
    expect((await post(tally.address, "Beat", {})).status).toBe(200);
    const repeat = post(tally.address, "Add", {}, id(2));
    expect(work.begun()).toBe(1);
    work.release();
    expect((await first).status).toBe(200);
    expect(await told(await repeat)).toMatchObject({ status: 200, mark: "ran" });
    await expect.poll(() => work.begun()).toBe(2);
    work.release();
    expect((await waiting).status).toBe(200);
  });

  test("a call whose deadline passes while it waits is answered, and never runs", async () => {
    const work = held();
    const tally = await start({ limits, handlers: { read: work.read } });
    const first = post(tally.address, "Read", {});
    await expect.poll(() => work.begun()).toBe(1);
    const late = await post(tally.address, "Read", {}, { "connect-timeout-ms": "50" });
    expect(late.status).toBe(504);
    work.release();
    await first;
    expect(work.begun()).toBe(1);
  });

  test("a command's place is held until its handler ends, not until its client goes", async () => {
    const work = held();
    const tally = await start({ limits, handlers: { read: work.read, add: () => work.read() } });
    const headers = { "holdfast-call": "call-id-that-is-cut-off", "connect-timeout-ms": "100" };
    const cut = await told(await post(tally.address, "Add", {}, headers));
    expect(cut.mark).toBe("later");
    const next = post(tally.address, "Read", {});
    const shed = await until(
      async () => told(await post(tally.address, "Read", {})),
      ({ status }) => status === 429,
    );
    expect([work.begun(), shed.status]).toEqual([1, 429]);
    work.release();
    await expect.poll(() => work.begun()).toBe(2);
    work.release();
    expect((await next).status).toBe(200);
  });

  /** Asks again until the answer is the one that must come. Requests that wait instead are answered later. */
  async function until<T>(ask: () => Promise<T>, right: (value: T) => boolean): Promise<T> {
    for (;;) {
      const asked = ask();
      const value = await Promise.race([
        asked,
        new Promise<undefined>((resolve) => setTimeout(resolve, 200, undefined)),
      ]);
      if (value !== undefined && right(value)) return value;
    }
  }
});
