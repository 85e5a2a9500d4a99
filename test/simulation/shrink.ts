/** Makes a failing plan smaller: drops what it fails without, one thing at a time, until nothing more can go. */
import type { RateName } from "./faults.ts";
import type { Plan } from "./plan.ts";
import { runPlan, type Violation } from "./run.ts";

/** Runs that one shrinking may take. */
const runsMost = 400;

export interface Shrunk {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  readonly runCount: number;
}

export async function shrink(failing: Plan, rule: string): Promise<Shrunk> {
  let plan = failing;
  let violations: readonly Violation[] = [];
  let runCount = 0;
  const fails = async (candidate: Plan): Promise<boolean> => {
    if (runCount >= runsMost) return false;
    runCount += 1;
    const found = (await runPlan(candidate)).violations;
    if (!found.some((one) => one.rule === rule)) return false;
    plan = candidate;
    violations = found;
    return true;
  };
  await fails(plan);
  for (let before: Plan | undefined; before !== plan && runCount < runsMost; ) {
    before = plan;
    for (const name of Object.keys(plan.rates) as RateName[]) {
      if (plan.rates[name] > 0) await fails({ ...plan, rates: { ...plan.rates, [name]: 0 } });
    }
    for (const name of ["diskFailRate", "folderFailRate", "handlerFailRate"] as const) {
      if (plan[name] > 0) await fails({ ...plan, [name]: 0 });
    }
    for (const incident of plan.incidents) {
      await fails({ ...plan, incidents: plan.incidents.filter((one) => one !== incident) });
    }
    // Halves first: most operations have nothing to do with it.
    for (let size = plan.ops.length >> 1; size >= 1; size >>= 1) {
      for (let at = 0; at < plan.ops.length; ) {
        const rest = [...plan.ops.slice(0, at), ...plan.ops.slice(at + size)];
        if (!(await fails({ ...plan, ops: rest }))) at += size;
      }
    }
  }
  return { plan, violations, runCount };
}
