import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { callWorld } from "../../test/support/call-world.ts";
import { after, fault, hang } from "../../test/support/scripted-http.ts";
import { Tally } from "../../test/gen/test/v1/tally_holdfast.ts";

describe("a heartbeat", () => {
  it("ticks at once and then once a period, each time with a body made then", async () => {
    await using world = callWorld();
    let made = 0;
    const replies: unknown[] = [];
    const beat = world.link.beat(
      Tally.beat,
      () => {
        made += 1;
        return {};
      },
      (reply) => replies.push(reply),
    );
    await world.clock.advance(90_000);
    expect(world.http.requests.map(({ rpc, at }) => [rpc, at])).toEqual([
      ["Beat", 0],
      ["Beat", 30_000],
      ["Beat", 60_000],
      ["Beat", 90_000],
    ]);
    expect([made, replies.length]).toEqual([4, 4]);
    beat.stop();
    await world.clock.advance(90_000);
    expect(made).toBe(4);
  });

  it("tries once a tick: a fault sets the link down, and the next tick is the new try", async () => {
    await using world = callWorld();
    world.http.otherwise = () => world.answers.error(Code.Unavailable);
    const errors: Error[] = [];
    const beat = world.link.beat(Tally.beat, () => ({}), undefined, {
      onError: (error) => errors.push(error),
    });
    await world.clock.advance(29_999);
    expect(world.http.requests.length).toBe(1);
    expect(errors.length).toBe(1);
    expect(world.link.state.value.kind).toBe("down");
    world.http.otherwise = () => world.answers.ok();
    await world.clock.advance(1);
    expect(world.link.state.value.kind).toBe("up");
    beat.stop();
  });

  it("ends at a connection fault too, whether or not anything was sent", async () => {
    for (const step of [fault("cut", true), fault("connect-failed")]) {
      await using world = callWorld();
      world.http.next(step);
      const errors: Error[] = [];
      const beat = world.link.beat(Tally.beat, () => ({}), undefined, {
        onError: (error) => errors.push(error),
      });
      await world.clock.advance(29_999);
      expect(world.http.requests.length).toBe(1);
      expect(errors).toMatchObject([{ reason: "NO_REPLY" }]);
      beat.stop();
    }
  });

  it("never piles up: a tick that hangs ends with its period, and the next one begins with a new connection", async () => {
    await using world = callWorld();
    world.http.otherwise = () => hang();
    const beat = world.link.beat(Tally.beat, () => ({}));
    for (let periods = 1; periods <= 5; periods += 1) {
      await world.clock.advance(29_999);
      expect(world.http.underWayCount).toBe(1);
      await world.clock.advance(1);
    }
    await world.clock.advance(250);
    expect(world.http.requests.map(({ client }) => client)).toEqual([1, 2, 3, 4, 5, 6]);
    beat.stop();
  });

  it("gives up a connection on which a tick got no answer, and says that the link is down", async () => {
    await using world = callWorld();
    world.http.next(hang());
    const errors: Error[] = [];
    const beat = world.link.beat(Tally.beat, () => ({}), undefined, {
      onError: (error) => errors.push(error),
    });
    await world.clock.advance(29_999);
    expect(world.http.openedCount).toBe(1);
    await world.clock.advance(1);
    expect(errors).toMatchObject([{ outcome: "unknown" }]);
    expect(world.link.state.value.kind).toBe("down");
    await world.clock.advance(1_000);
    expect(world.link.state.value.kind).toBe("up");
    expect(world.http.retired).toEqual([1]);
    beat.stop();
  });

  it("keeps its period, however long an answer takes", async () => {
    await using world = callWorld();
    world.http.otherwise = () => after(10_000, world.answers.ok());
    const beat = world.link.beat(Tally.beat, () => ({}));
    await world.clock.advance(60_000);
    expect(world.http.requests.map(({ at }) => at)).toEqual([0, 30_000, 60_000]);
    beat.stop();
  });

  it("ticks within a second of a wake, and once", async () => {
    await using world = callWorld();
    const beat = world.link.beat(Tally.beat, () => ({}));
    await world.clock.advance(5_000);
    world.http.wake();
    world.http.wake();
    await world.clock.advance(1_000);
    expect(world.http.requests.length).toBe(2);
    await world.clock.sleepLaptop(7_200_000);
    await world.clock.advance(1_000);
    expect(world.http.requests.length).toBe(3);
    await world.clock.advance(28_000);
    expect(world.http.requests.length).toBe(3);
    beat.stop();
  });

  it("goes on after what the program throws in it, and shows that throw", async () => {
    const thrown: unknown[] = [];
    const note = (error: unknown): void => {
      thrown.push(error);
    };
    const before = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", note);
    const world = callWorld();
    let ticks = 0;
    const beat = world.link.beat(
      Tally.beat,
      () => {
        ticks += 1;
        return {};
      },
      () => {
        throw new Error("the program's own");
      },
    );
    await world.clock.advance(30_000);
    beat.stop();
    process.off("uncaughtException", note);
    expect(ticks).toBe(2);
    expect(thrown).toMatchObject([{ message: "the program's own" }, { message: "the program's own" }]);
    await world.link.close();
    await expect(world[Symbol.asyncDispose]()).rejects.toThrow("rejections that nobody handled");
    for (const listener of before) process.on("uncaughtException", listener);
  });

  it("pauses while the link is refused, goes on when it is not, and ends when it closes", async () => {
    await using world = callWorld();
    world.http.next(world.answers.reason("BUILD_REFUSED"));
    world.link.beat(Tally.beat, () => ({}));
    await world.clock.advance(70_000);
    expect(world.http.requests.length).toBe(1);
    world.link.signIn();
    await world.clock.advance(30_000);
    expect(world.http.requests.length).toBe(2);
    expect(world.link.state.value.kind).toBe("up");
    await world.link.close();
    expect(world.clock.pendingCount).toBe(0);
    world.link.beat(Tally.beat, () => ({}));
    await world.clock.advance(60_000);
    expect(world.http.requests.length).toBe(2);
  });

  it("stops with its signal, also with one that has aborted before", async () => {
    await using world = callWorld();
    const abort = new AbortController();
    world.link.beat(Tally.beat, () => ({}), undefined, { signal: abort.signal });
    await world.clock.advance(30_000);
    abort.abort();
    world.link.beat(Tally.beat, () => ({}), undefined, { signal: abort.signal });
    await world.clock.advance(90_000);
    expect(world.http.requests.length).toBe(2);
  });
});
