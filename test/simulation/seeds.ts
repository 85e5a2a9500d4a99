/** Runs many seeds one after the other, in this process; `jobs.ts` runs more of them in several. */
import { drawPlan, type Plan } from "./plan.ts";
import { reachedIn } from "./reached.ts";
import { runPlan, type RunResult, type Violation } from "./run.ts";

/** What a run of one seed has shown, in a form that goes from process to process. */
export interface SeedReport {
  readonly seed: number;
  readonly reached: readonly string[];
  readonly violations: readonly Violation[];
}

export interface SeedsOptions {
  readonly first: number;
  readonly count: number;
  /** Kinds of incidents that do not occur. Default: those that find what is known. */
  readonly without?: Parameters<typeof drawPlan>[1];
  readonly onFailure?: (report: SeedReport) => boolean | Promise<boolean>;
}

export interface SeedsResult {
  readonly count: number;
  readonly failed: readonly number[];
  /** How often each mark was reached. */
  readonly reached: ReadonlyMap<string, number>;
  readonly perMinute: number;
}

/** Counts reports. */
export class Tally {
  #count = 0;
  readonly #failed: number[] = [];
  readonly #reached = new Map<string, number>();
  readonly #begun = performance.now();

  add({ seed, reached, violations }: SeedReport): void {
    this.#count += 1;
    for (const name of reached) this.#reached.set(name, (this.#reached.get(name) ?? 0) + 1);
    if (violations.length > 0) this.#failed.push(seed);
  }

  get result(): SeedsResult {
    const perMinute = Math.round((60_000 * this.#count) / (performance.now() - this.#begun));
    const failed = this.#failed.toSorted((a, b) => a - b);
    return { count: this.#count, failed, reached: this.#reached, perMinute };
  }
}

export async function runSeed(seed: number, without?: SeedsOptions["without"]): Promise<SeedReport> {
  const plan: Plan = drawPlan(seed, without);
  const { end, violations }: RunResult = await runPlan(plan);
  return { seed, reached: [...reachedIn(end)], violations };
}

/** Stops when `onFailure` gives false. */
export async function runSeeds({ first, count, without, onFailure }: SeedsOptions): Promise<SeedsResult> {
  const tally = new Tally();
  for (let seed = first; seed < first + count; seed++) {
    const report = await runSeed(seed, without);
    tally.add(report);
    if (report.violations.length > 0 && (await onFailure?.(report)) === false) break;
  }
  return tally.result;
}
