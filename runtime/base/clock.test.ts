import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { sleep, systemClock } from "./clock.ts";

const systemMostMs = 2 ** 31 - 1;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a timer of the system's clock", () => {
  it.each([0, -1, Number.NEGATIVE_INFINITY])("of %s ms fires after this turn and not in it", (delayMs) => {
    const fired = vi.fn();
    systemClock.timer(delayMs, fired);
    expect(fired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(0);
    expect(fired).toHaveBeenCalledTimes(1);
  });

  it("of NaN ms is a fault of the program, said at once", () => {
    expect(() => systemClock.timer(Number.NaN, () => undefined)).toThrow(RangeError);
  });

  it.each([systemMostMs, systemMostMs + 1, 3 * systemMostMs + 7])("of %s ms fires then, once", (delayMs) => {
    const fired = vi.fn();
    systemClock.timer(delayMs, fired);
    vi.advanceTimersByTime(delayMs - 1);
    expect(fired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fired).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(4 * systemMostMs);
    expect(fired).toHaveBeenCalledTimes(1);
  });

  it("that lasts longer than the system's can still be cancelled after their end", () => {
    const fired = vi.fn();
    const timer = systemClock.timer(2 * systemMostMs, fired);
    vi.advanceTimersByTime(systemMostMs + 5);
    timer.cancel();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(4 * systemMostMs);
    expect(fired).not.toHaveBeenCalled();
  });

  it("of an infinite delay never comes and holds nothing", () => {
    const fired = vi.fn();
    const timer = systemClock.timer(Number.POSITIVE_INFINITY, fired);
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(4 * systemMostMs);
    timer.cancel();
    expect(fired).not.toHaveBeenCalled();
  });

  it("does nothing when it is cancelled after it fired", () => {
    const fired = vi.fn();
    const timer = systemClock.timer(10, fired);
    vi.advanceTimersByTime(10);
    timer.cancel();
    expect(fired).toHaveBeenCalledTimes(1);
  });

  it("is measured by the clock that never jumps", () => {
    const fired = vi.fn();
    systemClock.timer(1_000, fired);
    vi.setSystemTime(systemClock.now() - 86_400_000);
    vi.advanceTimersByTime(1_000);
    expect(fired).toHaveBeenCalledTimes(1);
  });
});

describe("a background timer", () => {
  it.each([1_000, 2 * systemMostMs])("of %s ms keeps no process alive, others do", (delayMs) => {
    vi.useRealTimers();
    const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const background = systemClock.timer(delayMs, () => undefined, { background: true });
    expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length).toBe(before);
    const other = systemClock.timer(delayMs, () => undefined);
    expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length).toBe(before + 1);
    background.cancel();
    other.cancel();
  });
});

describe("a sleep", () => {
  it("ends after its time, or when the signal aborts, and never rejects", async () => {
    const abort = new AbortController();
    const timed = sleep(systemClock, 1_000);
    const aborted = sleep(systemClock, 1_000, abort.signal);
    abort.abort(new Error("enough"));
    await aborted;
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1_000);
    await timed;
    await sleep(systemClock, 1_000, abort.signal);
    expect(vi.getTimerCount()).toBe(0);
  });
});
