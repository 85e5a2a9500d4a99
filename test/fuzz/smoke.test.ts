import { describe, expect, test } from "vitest";
import { canary } from "./canary.ts";
import { fuzz } from "./fuzz.ts";
import { fuzzTargets } from "./targets.ts";

describe("each decoder under the fuzzer", () => {
  test.each(fuzzTargets.map((target) => ({ name: target.name, target })))(
    "$name refuses or reads, and nothing else",
    ({ target }) => {
      const report = fuzz(target, 1_500, 7);
      expect(report.finding).toBeUndefined();
      expect(report.outcomes).toBeGreaterThan(3);
    },
  );

  test("no two have one name", () => {
    expect(new Set(fuzzTargets.map((target) => target.name)).size).toBe(fuzzTargets.length);
  });
});

test("the canary is found: a decoder with a planted fault", () => {
  expect(fuzz(canary, 50_000, 7).finding?.text).toBe("RangeError: read beyond the end");
});
