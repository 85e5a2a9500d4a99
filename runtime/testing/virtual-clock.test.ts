import { describe, expect, it } from "vitest";
import { sleep } from "../base/clock.ts";
import { virtualClock } from "./virtual-clock.ts";

describe("virtualClock", () => {
  it("fires timers in the order of their instants, then in the order they were set", async () => {
    const clock = virtualClock();
    const fired: string[] = [];
    clock.timer(20, () => fired.push("b"));
    clock.timer(10, () => fired.push("a"));
    clock.timer(20, () => fired.push("c"));
    clock.timer(21, () => fired.push("late"));
    await clock.advance(20);
    expect(fired).toEqual(["a", "b", "c"]);
    expect(clock.pendingCount).toBe(1);
    expect(clock.next).toBe(21);
  });

  it("lets promise chains run between timers, and fires what they set on the way", async () => {
    const clock = virtualClock();
    const seen: number[] = [];
    void (async () => {
      for (let round = 0; round < 3; round++) {
        await sleep(clock, 10);
        await Promise.resolve();
        seen.push(clock.monotonic());
      }
    })();
    await clock.advance(30);
    expect(seen).toEqual([10, 20, 30]);
    expect(clock.pendingCount).toBe(0);
  });

  it("shows each timer its own instant on both clocks", async () => {
    const clock = virtualClock(1_000);
    let seen: number[] = [];
    clock.timer(5, () => (seen = [clock.monotonic(), clock.now()]));
    await clock.advance(50);
    expect(seen).toEqual([5, 1_005]);
    expect([clock.monotonic(), clock.now()]).toEqual([50, 1_050]);
  });

  it("keeps monotonic time when the wall clock jumps", () => {
    const clock = virtualClock(10_000);
    clock.jumpWall(-5_000);
    expect([clock.now(), clock.monotonic()]).toEqual([5_000, 0]);
  });

  it("fires late timers at the wake, not on the way, when the laptop sleeps", async () => {
    const clock = virtualClock();
    const seen: number[] = [];
    clock.timer(10, () => seen.push(clock.monotonic()));
    clock.timer(20, () => seen.push(clock.monotonic()));
    await clock.sleepLaptop(1_000);
    expect(seen).toEqual([1_000, 1_000]);
  });

  it("forgets a cancelled timer, and one that never comes", async () => {
    const clock = virtualClock();
    const timer = clock.timer(5, () => expect.unreachable());
    clock.timer(Number.POSITIVE_INFINITY, () => expect.unreachable());
    timer.cancel();
    expect(clock.pendingCount).toBe(0);
    expect(await clock.advanceToNext()).toBe(false);
  });

  it("steps to the next timer however far it is", async () => {
    const clock = virtualClock();
    let fired = false;
    clock.timer(86_400_000 * 60, () => (fired = true));
    expect(await clock.advanceToNext()).toBe(true);
    expect(fired).toBe(true);
  });

  it("refuses to go back, and two advances at once", async () => {
    const clock = virtualClock();
    await expect(clock.advance(-1)).rejects.toThrow(RangeError);
    const first = clock.advance(1);
    await expect(clock.advance(1)).rejects.toThrow(/another advance/);
    await first;
  });
});
