import { expect, it } from "vitest";
import { Tombstones } from "./tombstones.ts";

it("knows a copy for ten minutes and forgets what is older", () => {
  const tombstones = new Tombstones();
  expect(tombstones.add("a", 0)).toBe(true);
  expect(tombstones.add("a", 599_999)).toBe(false);
  expect(tombstones.add("b", 600_000)).toBe(true);
  expect(tombstones.count).toBe(1);
  expect(tombstones.add("a", 600_000)).toBe(true);
});

it("drops the oldest when there are too many", () => {
  const tombstones = new Tombstones();
  for (let count = 0; count < 100_001; count += 1) tombstones.add(String(count), 0);
  expect(tombstones.count).toBe(100_000);
  expect(tombstones.add("0", 0)).toBe(true);
  expect(tombstones.add("100000", 0)).toBe(false);
});
