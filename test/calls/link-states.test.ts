import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { LinkState } from "../../runtime/link/link-state.ts";
import { callWorld } from "../support/call-world.ts";
import { fault } from "../support/scripted-http.ts";

const loopback = "http://127.0.0.1:9";

describe("the state of a link", () => {
  it("is seen in order by a loop: idle, up, down, up", async () => {
    await using world = callWorld();
    const seen: LinkState["kind"][] = [];
    const loop = (async () => {
      for await (const { kind } of world.link.state) seen.push(kind);
    })();
    await world.settled(world.client.read({}));
    world.http.next(fault("cut"));
    await world.settled(world.client.read({}));
    await world.link.close();
    await loop;
    expect(seen).toEqual(["idle", "up", "down", "up"]);
  });

  it("is up after any answer, also a refusal", async () => {
    await using world = callWorld();
    world.http.next(world.answers.error(Code.PermissionDenied));
    await world.failure(world.client.read({}));
    expect(world.states.map(({ kind }) => kind)).toEqual(["idle", "up"]);
  });

  it("is down after a server fault too, with the instant of the next try", async () => {
    await using world = callWorld();
    world.http.next(
      world.answers.error(Code.Unavailable, { header: { "retry-after": "3" }, message: "busy" }),
    );
    const call = world.client.read({});
    await world.clock.advance(1_000);
    expect(world.link.line()).toBe("no reply from board.test for 1 s, next try in 2 s: busy");
    await world.settled(call);
    expect(world.link.line()).toBe("back after 3 s");
  });

  it("keeps since when it is down, and tells when the next probe is due", async () => {
    await using world = callWorld();
    world.http.otherwise = () => fault("connect-failed");
    world.http.probe = () => fault("connect-failed");
    const call = world.client.read({}, { timeoutMs: 20_000 });
    await world.clock.advance(12_000);
    const downs = world.states.filter((state) => state.kind === "down");
    expect(downs.length).toBeGreaterThan(5);
    expect(new Set(downs.map(({ since }) => since)).size).toBe(1);
    const wall = world.clock.now() - world.clock.monotonic();
    world.http.probes.slice(1).forEach(({ at }, index) => {
      // What was said after the probe before is when this one came.
      expect(downs[index + 1]?.nextTryAt).toBeCloseTo(wall + at, 3);
    });
    expect(world.link.line()).toMatch(
      /^no reply from board.test for 12 s, (next try in [012] s|trying now): scripted/,
    );
    await world.failure(call);
  });

  it("is never shown twice in a row with the same content", async () => {
    await using world = callWorld();
    for (let round = 0; round < 3; round += 1) await world.settled(world.client.read({}));
    expect(world.states.length).toBe(2);
  });

  it("is each account's own", async () => {
    await using world = callWorld({ account: "a" });
    const other = world.another({ account: "b" });
    await world.settled(world.client.read({}));
    expect(other.link.state.value.kind).toBe("idle");
  });
});

describe("a server of this machine that nobody has started", () => {
  it("ends a call at once and sets no state, also the next call", async () => {
    await using world = callWorld({}, { url: loopback });
    world.http.otherwise = () => fault("connect-refused");
    world.http.probe = () => fault("connect-refused");
    for (let round = 0; round < 3; round += 1) {
      const error = await world.failure(world.client.add({}), 0);
      expect(error).toMatchObject({ reason: "NO_SERVER", outcome: "not-run", progress: "waiting", tries: 1 });
    }
    expect(world.states).toEqual([{ kind: "idle" }]);
    expect(world.http.probes).toEqual([]);
  });

  it("is waited for by a call without an end", async () => {
    await using world = callWorld({}, { url: "http://localhost:9" });
    world.http.next(fault("connect-refused"));
    await world.settled(world.client.read({}, { timeoutMs: Number.POSITIVE_INFINITY }));
    expect(world.states.map(({ kind }) => kind)).toEqual(["idle", "down", "up"]);
  });

  it("is waited for once it has answered this process, and so is any other machine", async () => {
    await using world = callWorld({}, { url: loopback });
    await world.settled(world.client.read({}));
    world.http.next(fault("connect-refused"));
    await world.settled(world.client.read({}));
    await using remote = callWorld();
    remote.http.next(fault("connect-refused"));
    await remote.settled(remote.client.read({}));
  });
});
