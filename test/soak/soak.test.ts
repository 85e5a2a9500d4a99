import { expect, it } from "vitest";
import { harness } from "../support/harness.ts";
import { soak } from "./soak-run.ts";

it("over faulty proxies each reader gets each item once and in order, or hears how many are lost", async () => {
  await using held = harness();
  const { broken, gotCount, lostCount, faultCounts } = await soak({
    itemCount: 2_000,
    seed: 3,
    readerCount: 4,
  });
  expect(broken).toEqual([]);
  expect(gotCount + lostCount).toBe(8_000);
  expect(gotCount).toBeGreaterThan(6_000);
  expect(Object.keys(faultCounts).length).toBeGreaterThan(2);
  expect(held.unhandled).toEqual([]);
}, 60_000);
