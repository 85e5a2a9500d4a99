import { expect, it } from "vitest";
import type { Random } from "../base/random.ts";
import { backoffMs } from "./backoff.ts";

const drawing = (fraction: number): Random => ({
  bytes: (count) => new Uint8Array(count),
  fraction: () => fraction,
});
const nearOne = 1 - 2 ** -53;

it("doubles with each failure, up to the most", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7].map((failures) => backoffMs(failures, 250, 5_000, drawing(0)));
  expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
});

it("takes off a random part of at most half", () => {
  expect(backoffMs(1, 250, 5_000, drawing(0.5))).toBe(187.5);
  expect(backoffMs(1, 250, 5_000, drawing(nearOne))).toBeGreaterThanOrEqual(125);
  expect(backoffMs(9, 250, 5_000, drawing(nearOne))).toBeGreaterThanOrEqual(2_500);
});

it("stays a finite wait after any number of failures", () => {
  for (const failures of [31, 1_100, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
    expect(backoffMs(failures, 1, 60_000, drawing(0))).toBe(60_000);
  }
});

it("never goes above the most, also where the first wait is", () => {
  expect(backoffMs(1, 1_000, 400, drawing(0))).toBe(400);
});
