import { expect, it, vi } from "vitest";
import { silentLog } from "../../runtime/base/log.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { memoryStore } from "./memory-store.ts";
import { startPurge } from "./purge.ts";
import type { Store } from "./store.ts";

function setUp(results: (number | Error)[]) {
  const clock = virtualClock();
  const slices: number[] = [];
  const purge: Store["purge"] = async () => {
    slices.push(clock.monotonic());
    const result = results.shift() ?? 0;
    if (result instanceof Error) throw result;
    return result;
  };
  const store: Store = { ...memoryStore({ clock }), purge };
  const log = { ...silentLog, warn: vi.fn() };
  return { clock, slices, log, purging: startPurge(store, clock, log) };
}

it("goes on by slices while a slice is full, and then once a minute", async () => {
  const { clock, slices, purging } = setUp([500, 500, 499]);
  await clock.advance(130_000);
  expect(slices).toEqual([60_000, 60_100, 60_200, 120_200]);
  await purging.stop();
  await clock.advance(600_000);
  expect(slices).toHaveLength(4);
  expect(clock.pendingCount).toBe(0);
});

it("goes on after a slice that failed, and says so", async () => {
  const { clock, slices, log } = setUp([new Error("locked")]);
  await clock.advance(120_000);
  expect(slices).toEqual([60_000, 120_000]);
  expect(log.warn).toHaveBeenCalledOnce();
});
