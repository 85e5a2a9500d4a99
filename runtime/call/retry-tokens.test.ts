import { expect, it } from "vitest";
import { takeToken } from "./retry-tokens.ts";

const rate = { most: 3, perSecond: 1 };

it("gives what is there at once, then one a second, and never more than the most", () => {
  let tokens = { left: 3, at: 0 };
  const waits: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    const taken = takeToken(tokens, 0, rate, 60_000);
    tokens = taken.tokens;
    waits.push(taken.waitMs);
  }
  expect(waits).toEqual([0, 0, 0, 1_000, 2_000]);
  expect(takeToken(tokens, 3_600_000, rate, 60_000).tokens.left).toBe(2);
});

it("takes none for a try that will never come", () => {
  const tokens = { left: -10, at: 0 };
  expect(takeToken(tokens, 0, rate, 5_000)).toEqual({ tokens, waitMs: 11_000 });
});
