/** Runs many seeds one after the other. */
import type { RunResult } from "./run.ts";
import { runPlan } from "./run.ts";
import { drawPlan, type Plan } from "./plan.ts";
import { reachedIn } from "./reached.ts";

export interface SeedsOptions {
  readonly first: number;
  readonly count: number;
  /** Kinds of incidents that do not occur. Default: those that find what is known. */
  readonly without?: Parameters<typeof drawPlan>[1];
  readonly onFailure?: (plan: Plan, result: RunResult) => boolean | Promise<boolean>;
}

export interface SeedsResult {
  readonly count: number;
  readonly failed: readonly number[];
  /** How often each mark was reached. */
  readonly reached: ReadonlyMap<string, number>;
  readonly perMinute: number;
}

/** Stops when `onFailure` gives false. */
export async function runSeeds(options: SeedsOptions): Promise<SeedsResult> {
  const { first, onFailure } = options;
  const begun = performance.now();
  const failed: number[] = [];
  const reached = new Map<string, number>();
  let count = 0;
  while (count < options.count) {
    const plan = drawPlan(first + count, options.without);
    const result = await runPlan(plan);
    count += 1;
    for (const name of reachedIn(result.end)) reached.set(name, (reached.get(name) ?? 0) + 1);
    if (result.violations.length === 0) continue;
    failed.push(plan.seed);
    if ((await onFailure?.(plan, result)) === false) break;
  }
  const perMinute = Math.round((60_000 * count) / (performance.now() - begun));
  return { count, failed, reached, perMinute };
}
