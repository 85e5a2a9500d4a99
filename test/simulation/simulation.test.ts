/** Simulated worlds keep every promise; `npm run sim` runs more of them. */
import { afterAll, describe, expect, it } from "vitest";
import { drawPlan } from "./plan.ts";
import { runPlan } from "./run.ts";
import { runSeeds } from "./seeds.ts";
import { timeline } from "./timeline.ts";
import { pinned } from "./pinned.ts";

/** So many that a slow machine is through in a minute; what they do not reach `npm run sim` tells. */
const seedCount = 150;
/** Real time that nothing here should ever need, however busy the machine is. */
const timeout = 600_000;

describe("a seed gives one run", { timeout }, () => {
  it.each([3, 5, 8])("the same history twice (%i)", async (seed) => {
    const first = await runPlan(drawPlan(seed));
    const second = await runPlan(drawPlan(seed));
    expect(second.end.history.hash).toBe(first.end.history.hash);
    expect(second.end.history.events.length).toBe(first.end.history.events.length);
  });
});

it.each(pinned)("seed $seed, which has found that $found", { timeout }, async ({ seed }) => {
  const plan = drawPlan(seed);
  const { end, violations } = await runPlan(plan);
  expect(violations, timeline(plan, end.history, violations)).toEqual([]);
});

describe("a sweep of seeds", () => {
  const texts: string[] = [];
  afterAll(() => {
    if (texts.length > 0) process.stderr.write(`${texts.join("\n")}\n`);
  });

  it("keeps every promise", { timeout }, async () => {
    const result = await runSeeds({
      first: 10_001,
      count: seedCount,
      onFailure: async ({ seed }) => {
        const plan = drawPlan(seed);
        const { end, violations } = await runPlan(plan);
        texts.push(timeline(plan, end.history, violations));
        return false;
      },
    });
    expect(result.failed, "npm run sim -- --seed SEED --shrink shows it").toEqual([]);
  });
});
