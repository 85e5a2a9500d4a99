import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { SignInGone, type TokenRequest } from "../../runtime/call/sign-in.ts";
import { callWorld } from "../support/call-world.ts";
import { after, fault } from "../support/scripted-http.ts";

const bearer = (seen: { readonly header: Headers }): string | null => seen.header.get("authorization");

describe("the token of a link", () => {
  it("is asked for once and goes with every try, unless the call brings a header of its own", async () => {
    const asked: TokenRequest[] = [];
    await using world = callWorld({
      token: (request) => {
        asked.push(request);
        return "t1";
      },
    });
    await world.settled(Promise.all([world.client.read({}), world.client.add({}), world.client.nudge({})]));
    await world.settled(world.client.read({}, { headers: { authorization: "Basic own" } }));
    expect(world.http.requests.map(bearer)).toEqual(["Bearer t1", "Bearer t1", "Bearer t1", "Basic own"]);
    expect(asked).toEqual([{ rejected: undefined }]);
  });

  it("is asked for again once for all callers when the server rejects it, with the rejected one", async () => {
    const asked: TokenRequest[] = [];
    await using world = callWorld({
      token: (request) => {
        asked.push(request);
        return `t${asked.length}`;
      },
    });
    world.http.otherwise = (seen) =>
      bearer(seen) === "Bearer t1"
        ? world.answers.reason("SIGN_IN_REFUSED", { mark: "none" })
        : world.answers.ok();
    await world.settled(Promise.all(Array.from({ length: 10 }, () => world.client.add({}))));
    expect(asked).toEqual([{ rejected: undefined }, { rejected: "t1" }]);
    expect(world.http.requests.length).toBe(20);
  });

  it("is refreshed once per call: two tries, then a refusal, and the token and the link stay good", async () => {
    let asked = 0;
    await using world = callWorld({
      token: () => {
        asked += 1;
        return `t${asked}`;
      },
    });
    world.http.otherwise = (seen) =>
      seen.rpc === "Add" ? world.answers.error(Code.Unauthenticated, { mark: "none" }) : world.answers.ok();
    for (let round = 1; round <= 3; round += 1) {
      const error = await world.failure(world.client.add({}));
      expect(error).toMatchObject({ code: Code.Unauthenticated, outcome: "not-run", tries: 2 });
      expect(asked).toBe(1 + round);
    }
    await world.settled(world.client.read({}));
    expect(bearer(world.http.requests.at(-1)!)).toBe(`Bearer t${asked}`);
    expect(world.link.state.value.kind).toBe("up");
  });

  it("is not refreshed for a command that its handler refused so: that is kept, and final", async () => {
    let asked = 0;
    await using world = callWorld({
      token: () => {
        asked += 1;
        return "t";
      },
    });
    world.http.next(world.answers.error(Code.Unauthenticated, { mark: "refused" }));
    expect(await world.failure(world.client.add({}))).toMatchObject({ outcome: "refused", tries: 1 });
    expect(asked).toBe(1);
  });

  it("refuses at once when there is nobody to ask", async () => {
    await using world = callWorld();
    world.http.next(world.answers.error(Code.Unauthenticated));
    expect(await world.failure(world.client.read({}))).toMatchObject({ tries: 1, outcome: "refused" });
    expect(world.link.state.value.kind).toBe("up");
  });

  it("is asked for again after each reconnect", async () => {
    let asked = 0;
    await using world = callWorld({
      token: () => {
        asked += 1;
        return `t${asked}`;
      },
    });
    await world.settled(world.client.read({}));
    world.http.next(fault("cut"));
    await world.settled(world.client.read({}));
    expect(world.http.requests.map(bearer)).toEqual(["Bearer t1", "Bearer t1", "Bearer t2"]);
  });

  it("is waited for inside the call's budget while its source fails; that sets no link state", async () => {
    let good = false;
    const asked: number[] = [];
    await using world = callWorld({
      token: () => {
        asked.push(world.clock.monotonic());
        if (!good) throw new Error("the identity provider is down");
        return "t";
      },
    });
    const error = await world.failure(world.client.add({}, { timeoutMs: 5_000 }));
    expect(error).toMatchObject({ reason: "BUDGET_ENDED", outcome: "not-run", progress: "signing-in" });
    expect(world.clock.monotonic()).toBe(5_000);
    expect(asked.length).toBeGreaterThan(2);
    expect(asked.length).toBeLessThan(7);
    good = true;
    await world.settled(world.client.add({}));
    expect(world.states.map(({ kind }) => kind)).toEqual(["idle", "up"]);
  });

  it("comes from the new person when it was asked for the old one and signIn was called meanwhile", async () => {
    const give: ((token: string) => void)[] = [];
    await using world = callWorld({ token: () => new Promise((resolve) => give.push(resolve)) });
    const call = world.client.add({});
    await world.clock.advance();
    world.link.signIn();
    give[0]!("old");
    await world.clock.advance();
    expect(world.http.requests).toEqual([]);
    give[1]!("new");
    await world.settled(call);
    await world.settled(world.client.read({}));
    expect(world.http.requests.map(bearer)).toEqual(["Bearer new", "Bearer new"]);
  });

  it("goes on with a fresh one after an outage in which it could not be had", async () => {
    let reachable = true;
    let asked = 0;
    await using world = callWorld({
      token: () => {
        if (!reachable) throw new Error("unreachable");
        asked += 1;
        return `t${asked}`;
      },
    });
    await world.settled(world.client.read({}));
    reachable = false;
    world.http.otherwise = () => fault("cut");
    world.http.probe = () => fault("connect-failed");
    const call = world.client.add({}, { timeoutMs: 120_000 });
    await world.clock.advance(90_000);
    reachable = true;
    world.http.probe = () => world.answers.ok();
    world.http.otherwise = (seen) =>
      bearer(seen) === "Bearer t1" ? world.answers.reason("SIGN_IN_REFUSED") : world.answers.ok();
    await world.settled(call);
    expect(asked).toBe(2);
  });
});

describe("a sign-in that is gone", () => {
  it("refuses the link: waiting and new calls end; a new sign-in leads to one try, and its answer to up", async () => {
    let gone = false;
    await using world = callWorld({
      token: () => {
        if (gone) throw new SignInGone("signed out");
        return "t";
      },
    });
    await world.settled(world.client.read({}));
    world.http.next(
      after(1_000, world.answers.ok()),
      world.answers.reason("SIGN_IN_REFUSED", { mark: "none" }),
    );
    const waits = world.client.add({}).catch((error: unknown) => error);
    await world.clock.advance(10);
    gone = true;
    const error = await world.failure(world.client.add({}));
    expect(error).toMatchObject({ reason: "SIGN_IN_GONE", outcome: "not-run", progress: "signing-in" });
    expect(await waits).toMatchObject({ reason: "SIGN_IN_GONE", outcome: "unknown" });
    expect(await world.failure(world.client.read({}), 0)).toMatchObject({ reason: "SIGN_IN_GONE", tries: 0 });
    expect(world.link.state.value).toMatchObject({ kind: "refused", reason: "SIGN_IN_GONE" });
    expect(world.link.line()).toBe("board.test refuses this sign-in");
    gone = false;
    world.link.signIn();
    expect(world.link.state.value.kind).toBe("refused");
    await world.settled(world.client.add({}));
    expect(world.states.map(({ kind }) => kind)).toEqual(["idle", "up", "refused", "up"]);
  });

  it("stays refused while the new sign-in is gone too", async () => {
    await using world = callWorld({
      token: () => {
        throw new SignInGone("signed out");
      },
    });
    await world.failure(world.client.read({}));
    world.link.signIn();
    await world.failure(world.client.read({}));
    expect(world.link.state.value.kind).toBe("refused");
    expect(world.http.requests).toEqual([]);
  });
});

describe("a build that the server refuses", () => {
  it("refuses the link with the server's words, in which every call ends", async () => {
    await using world = callWorld({ build: "1.2.3" });
    world.http.next(after(500, world.answers.ok()), world.answers.reason("BUILD_REFUSED", { mark: "none" }));
    const other = world.client.add({}).catch((error: unknown) => error);
    await world.clock.advance(1);
    expect(await world.failure(world.client.read({}))).toMatchObject({ reason: "BUILD_REFUSED" });
    expect(await other).toMatchObject({ reason: "BUILD_REFUSED", outcome: "unknown" });
    expect(await world.failure(world.client.read({}), 0)).toMatchObject({
      reason: "BUILD_REFUSED",
      tries: 0,
    });
    expect(world.link.line()).toContain(
      "board.test refuses this build: the server does not accept this build",
    );
    expect(world.http.requests[0]?.header.get("holdfast-build")).toBe("1.2.3");
    await world.clock.advance(600_000);
    expect(world.http.requests.length).toBe(2);
  });
});
