/** Prints the hash of the history of each of some seeds, one a line: the arguments are the first one and how many. */
import { drawPlan } from "../plan.ts";
import { runPlan } from "../run.ts";

const [first = 1, count = 1] = process.argv.slice(2).map(Number);
for (let seed = first; seed < first + count; seed++) {
  const { end, violations } = await runPlan(drawPlan(seed));
  process.stdout.write(`${seed} ${end.history.hash} ${violations.length === 0 ? "ok" : "broken"}\n`);
}
process.exit(0);
