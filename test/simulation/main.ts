// Simulates: `npm run sim -- [--seeds N] [--seed S] [--jobs N] [--with KIND] [--trace] [--shrink] [--json FILE]`.
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { runJobs } from "./jobs.ts";
import { drawPlan, knownKinds } from "./plan.ts";
import { marksToReach } from "./reached.ts";
import { runPlan } from "./run.ts";
import { runSeeds, type SeedReport } from "./seeds.ts";
import { shrink } from "./shrink.ts";
import { timeline } from "./timeline.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string" },
    seed: { type: "string" },
    jobs: { type: "string", default: `${availableParallelism()}` },
    with: { type: "string", multiple: true, default: [] },
    first: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
    shrink: { type: "boolean", default: false },
    json: { type: "string" },
  },
});
const first = Number(values.seed ?? 1);
const count = Number(values.seeds ?? (values.seed === undefined ? 2_000 : 1));
if (!Number.isSafeInteger(first)) throw new RangeError("--seed must be a whole number");
if (!Number.isSafeInteger(count) || count < 1) throw new RangeError("--seeds must be at least 1");
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const jobCount = Number(values.jobs);
if (!Number.isSafeInteger(jobCount) || jobCount < 1) throw new RangeError("--jobs must be at least 1");
const failuresMost = values.first ? 1 : 20;
const without = knownKinds.filter((kind) => !values.with.includes(kind));
let failures = 0;
/** One after the other: what is told of one failure stays together. */
let telling: Promise<void> = Promise.resolve();

const options = {
  first,
  count,
  without,
  onFailure: (report: SeedReport) => {
    failures += 1;
    telling = telling.then(() => tell(report));
    return failures < failuresMost;
  },
};
// A process of its own is worth its start only for more seeds than these.
const result = count < 100 ? await runSeeds(options) : await runJobs({ ...options, jobCount });
await telling;
const { failed, reached, perMinute } = result;
const missed = marksToReach.filter((name) => !reached.has(name));
const ok = failed.length === 0;
if (result.count >= 2_000 && missed.length > 0) say(`never reached: ${missed.join(", ")}`);
if (values.json !== undefined) {
  const figures = { ok, first, ...result, reached: Object.fromEntries(reached), missed };
  writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
}
const told = ok ? "ok" : `failed ${failed.length} broken promises in`;
say(
  `sim: ${told} ${result.count} seeds from ${first}, ${reached.size} of ${marksToReach.length} marks reached, ${perMinute} seeds a minute`,
);

async function tell({ seed, violations }: SeedReport): Promise<void> {
  say(`seed ${seed}:`);
  for (const { rule, text } of violations.slice(0, 5)) say(`  ${rule}: ${text}`);
  const plan = drawPlan(seed, without);
  if (values.shrink) {
    const small = await shrink(plan, violations[0]?.rule ?? "");
    say(`shrunk in ${small.runCount} runs:`);
    say(timeline(small.plan, (await runPlan(small.plan)).end.history, small.violations));
  } else if (values.trace) say(timeline(plan, (await runPlan(plan)).end.history, violations));
}
// Connect's own deadlines of requests that were given up are the system's timers: nothing waits for them.
process.exit(ok ? 0 : 1);
