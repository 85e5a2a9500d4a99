import { expect, it } from "vitest";
import { seededRandom } from "../testing/seeded-random.ts";
import { failuresInRow, retryWindowMs } from "./retry-window.ts";

it("the window doubles from 250 ms to 30 s, with up to half taken off by chance", () => {
  const random = seededRandom(1);
  for (const [failures, mostMs] of [
    [1, 250],
    [2, 500],
    [7, 16_000],
    [8, 30_000],
    [1_000, 30_000],
  ] as const) {
    const windows = Array.from({ length: 50 }, () => retryWindowMs(failures, random));
    expect(Math.max(...windows)).toBeLessThanOrEqual(mostMs);
    expect(Math.min(...windows)).toBeGreaterThanOrEqual(mostMs / 2);
    expect(new Set(windows).size).toBeGreaterThan(10);
  }
});

it("an object that was live for as long as the longest window begins anew", () => {
  expect(failuresInRow(5, 30_000)).toBe(1);
  expect(failuresInRow(5, 29_999)).toBe(6);
  expect(failuresInRow(5, undefined)).toBe(6);
});
