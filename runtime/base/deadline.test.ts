import { describe, expect, it } from "vitest";
import { virtualClock } from "../testing/virtual-clock.ts";
import { chooseBudgetMs, deadlineAfter, timeoutHeaderMs } from "./deadline.ts";

const thirtyDaysMs = 30 * 24 * 3_600_000;

describe("a budget", () => {
  it("is the call's own, then its method's, then the link's", () => {
    expect(chooseBudgetMs(5, 6, 7)).toBe(5);
    expect(chooseBudgetMs(undefined, 6, 7)).toBe(6);
    expect(chooseBudgetMs(undefined, undefined, 7)).toBe(7);
  });

  it.each([0, -0, -1, Number.NEGATIVE_INFINITY])("of %s is none of the call's own, as in Connect", (own) => {
    expect(chooseBudgetMs(own, 6, 7)).toBe(6);
    expect(chooseBudgetMs(own, undefined, 7)).toBe(7);
  });

  it("of NaN is the program's mistake, and says so", () => {
    expect(() => chooseBudgetMs(Number.NaN, 6, 7)).toThrow(
      new TypeError("timeoutMs is NaN: give a number of ms, or leave it out for the method's budget"),
    );
  });

  it.each([0.5, thirtyDaysMs, Number.POSITIVE_INFINITY])("of %s ms is taken as it is", (own) => {
    expect(chooseBudgetMs(own, 6, 7)).toBe(own);
  });
});

describe("a deadline", () => {
  it("comes nearer as time goes by, and never leaves less than nothing", async () => {
    const clock = virtualClock();
    await clock.advance(500);
    const deadline = deadlineAfter(clock, 1_000);
    expect(deadline.at).toBe(1_500);
    await clock.advance(400);
    expect(deadline.leftMs()).toBe(600);
    await clock.advance(5_000);
    expect(deadline.leftMs()).toBe(0);
  });

  it("is not moved by a wall clock that jumps", () => {
    const clock = virtualClock();
    const deadline = deadlineAfter(clock, thirtyDaysMs);
    clock.jumpWall(-thirtyDaysMs);
    expect(deadline.leftMs()).toBe(thirtyDaysMs);
  });

  it("of a call without an end never comes", async () => {
    const clock = virtualClock();
    const deadline = deadlineAfter(clock, Number.POSITIVE_INFINITY);
    await clock.advance(thirtyDaysMs);
    expect(deadline.leftMs()).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("the time left in a header", () => {
  it.each([
    [0, 1],
    [-5, 1],
    [0.2, 1],
    [1, 1],
    [1.2, 2],
    [30_000, 30_000],
    [2 ** 31 - 1, 2 ** 31 - 1],
    [2 ** 31, 2 ** 31 - 1],
    [thirtyDaysMs, 2 ** 31 - 1],
    [Number.MAX_VALUE, 2 ** 31 - 1],
  ])("of %s ms is %s: whole, at least 1, at most what timers take", (leftMs, expected) => {
    expect(timeoutHeaderMs(leftMs)).toBe(expected);
  });

  it("is left out for a call without an end", () => {
    expect(timeoutHeaderMs(Number.POSITIVE_INFINITY)).toBeUndefined();
  });
});
