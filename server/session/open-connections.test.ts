import { describe, expect, it } from "vitest";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { type ConnectionEnd, type OpenConnection, OpenConnections } from "./open-connections.ts";

function setUp() {
  const clock = virtualClock();
  const open = new OpenConnections(clock);
  const told: string[] = [];
  const add = (name: string, changes: Partial<OpenConnection> = {}) =>
    open.add({
      kind: "stream",
      by: "ada",
      space: "by ada",
      session: "s1",
      until: undefined,
      end: (why: ConnectionEnd) => told.push(`${name} ${why}`),
      ...changes,
    });
  const wire = (name: string, changes: Partial<OpenConnection> = {}) =>
    add(name, { kind: "wire", askReauth: (withinMs) => told.push(`${name} asked ${withinMs}`), ...changes });
  return { clock, open, told, add, wire };
}

describe("open connections", () => {
  it("end a stream when its sign-in ends, and not before", async () => {
    const { clock, told, add } = setUp();
    add("a", { until: clock.now() + 5_000 });
    add("b");
    await clock.advance(4_999);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual(["a signInEnded"]);
    expect(clock.pendingCount).toBe(0);
  });

  it("ask a wire for a new sign-in a minute before, and end it half a minute after", async () => {
    const { clock, told, wire } = setUp();
    wire("w", { until: clock.now() + 100_000 });
    await clock.advance(40_000);
    expect(told).toEqual(["w asked 90000"]);
    await clock.advance(89_999);
    expect(told).toHaveLength(1);
    await clock.advance(1);
    expect(told).toEqual(["w asked 90000", "w signInEnded"]);
  });

  it("ask a wire at once whose sign-in is nearly over", async () => {
    const { clock, told, wire } = setUp();
    wire("w", { until: clock.now() + 10_000 });
    await clock.advance();
    expect(told).toEqual(["w asked 40000"]);
  });

  it("go on with the time of a new sign-in, and ask again before its end", async () => {
    const { clock, told, wire } = setUp();
    const seat = wire("w", { until: clock.now() + 60_000 });
    await clock.advance(1_000);
    seat.renew(clock.now() + 120_000);
    await clock.advance(59_999);
    expect(told).toEqual(["w asked 90000"]);
    await clock.advance(1);
    expect(told).toEqual(["w asked 90000", "w asked 90000"]);
    seat.renew(undefined);
    await clock.advance(10 * 60_000);
    expect(told).toHaveLength(2);
  });

  it("ask again when half of a short sign-in is over, and not as soon as it is there", async () => {
    const { clock, told, wire } = setUp();
    const seat = wire("w", { until: clock.now() + 15_000 });
    await clock.advance();
    expect(told).toHaveLength(1);
    seat.renew(clock.now() + 15_000);
    await clock.advance(7_499);
    expect(told).toHaveLength(1);
    await clock.advance(1);
    expect(told).toEqual(["w asked 45000", "w asked 37500"]);
  });

  it("neither end early nor late when the wall clock jumps", async () => {
    const { clock, told, add } = setUp();
    add("a", { until: clock.now() + 5_000 });
    clock.jumpWall(7_200_000);
    await clock.advance(4_999);
    expect(told).toEqual([]);
    clock.jumpWall(-14_400_000);
    await clock.advance(1);
    expect(told).toEqual(["a signInEnded"]);
  });

  it("end all of a principal at once when it is revoked, and nobody else's", () => {
    const { open, told, add, wire } = setUp();
    add("a");
    wire("w", { session: undefined });
    add("ben's", { by: "ben", space: "by ben" });
    add("anonymous", { by: undefined, space: "anyone" });
    expect(open.revoke("ada")).toBe(2);
    expect(told).toEqual(["a revoked", "w revoked"]);
    expect(open.revoke("ada")).toBe(0);
  });

  it("end a gone session's alone: not those of another session, nor of another caller's with the same name", () => {
    const { open, told, add } = setUp();
    add("a");
    add("other", { session: "s2" });
    add("ben's", { by: "ben", space: "by ben" });
    expect(open.streamCount({ space: "by ada", name: "s1" })).toBe(1);
    open.endSession({ space: "by ada", name: "s1" });
    expect(told).toEqual(["a sessionGone"]);
    expect(open.streamCount({ space: "by ada", name: "s1" })).toBe(0);
    expect(open.streamCount({ space: "by ben", name: "s1" })).toBe(1);
  });

  it("forget one that has left, with its timer", async () => {
    const { clock, open, told, add } = setUp();
    const seat = add("a", { until: clock.now() + 5_000 });
    seat.leave();
    seat.leave();
    expect(clock.pendingCount).toBe(0);
    open.revoke("ada");
    await clock.advance(10_000);
    expect(told).toEqual([]);
  });
});
