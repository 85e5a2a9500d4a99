// Breaks the sources in one place after the other, and looks for a seed that finds it:
// `npm run sim:planted -- [--seeds N] [--only TEXT]… [--open] [--check] [--jobs N] [--minutes N] [--each SECONDS] [--write]`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { drawPlan, type Plan } from "../plan.ts";
import type { Breakage } from "./breakage.ts";
import { breakages } from "./breakages.ts";
import { bundle, prepareFolder } from "./bundle.ts";
import { search, type Searched } from "./search.ts";
import { seedOf, type TableRow, writeTable } from "./table.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "5000" },
    only: { type: "string", multiple: true, default: [""] },
    open: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    jobs: { type: "string", default: "1" },
    each: { type: "string", default: "36000" },
    minutes: { type: "string", default: "600" },
    write: { type: "boolean", default: false },
  },
});
const root = fileURLToPath(new URL("../../..", import.meta.url));
const page = join(root, "docs/simulation.md");
const seedCount = Number(values.seeds);
const endMs = performance.now() + Number(values.minutes) * 60_000;
const folder = mkdtempSync(join(tmpdir(), "holdfast-planted-"));
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const plans: Plan[] = Array.from({ length: seedCount }, (_, index) => drawPlan(index + 1));
const rows: TableRow[] = [];
/** Those whose seed in the table finds them still. */
let stillFoundCount = 0;

const asked = breakages
  .filter(({ name }) => values.only.some((text) => name.includes(text)))
  .filter(({ name }) => !values.open || seedOf(page, name) === undefined);
const left = [...asked];
try {
  prepareFolder(root, folder);
  await Promise.all(Array.from({ length: Number(values.jobs) }, work));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const foundCount = stillFoundCount + rows.filter(({ finding }) => finding !== undefined).length;
say(`sim:planted: ${foundCount === asked.length ? "ok" : "failed"} ${foundCount} of ${asked.length} found`);
process.exitCode = foundCount === asked.length ? 0 : 1;

async function work(): Promise<void> {
  for (let next = left.shift(); next !== undefined && performance.now() < endMs; next = left.shift()) {
    const begun = performance.now();
    if (values.check && (await isFoundStill(next))) {
      stillFoundCount += 1;
      continue;
    }
    if (values.check && !values.write) continue;
    const { finding, count } = await look(next).catch((error: unknown): Searched => {
      say(String(error));
      return { finding: undefined, count: 0 };
    });
    const told =
      finding === undefined
        ? `NOT FOUND in ${count} seeds`
        : `seed ${finding.seed}, the ${count}th (${finding.rule}: ${finding.text})`;
    say(`${next.name}: ${told} in ${Math.round((performance.now() - begun) / 1_000)} s`);
    rows.push({ breakage: next, finding, seedsMost: count });
    // Each at once: all of them take long, and what is known stays known.
    if (values.write) writeTable(page, breakages, rows);
  }
}

/** Whether the seed that the table names finds it still. */
async function isFoundStill(breakage: Breakage): Promise<boolean> {
  const seed = seedOf(page, breakage.name);
  if (seed === undefined) {
    say(`${breakage.name}: it has no seed`);
    return false;
  }
  const file = join(folder, `checked-${breakages.indexOf(breakage)}.mjs`);
  await bundle(root, file, breakage);
  const { finding } = await search(file, [seed]);
  if (finding === undefined) say(`${breakage.name}: not found by seed ${seed} any more`);
  return finding !== undefined;
}

async function look(breakage: Breakage): Promise<Searched> {
  const number = breakages.indexOf(breakage);
  const file = join(folder, `broken-${number}.mjs`);
  const whole = join(folder, `whole-${number}.mjs`);
  await Promise.all([bundle(root, file, breakage), bundle(root, whole, undefined)]);
  let seeds = inOrder(breakage);
  let total = 0;
  const lookEndMs = performance.now() + Number(values.each) * 1_000;
  for (;;) {
    const { finding, count } = await search(file, seeds, lookEndMs - performance.now());
    total += count;
    if (finding === undefined) return { finding, count: total };
    // What the sources find whole, too, says nothing of the breakage.
    const also = (await search(whole, [finding.seed])).finding;
    if (also === undefined) return { finding, count: total };
    say(`seed ${finding.seed} breaks a promise without a breakage: ${also.rule}: ${also.text}`);
    seeds = seeds.slice(seeds.indexOf(finding.seed) + 1);
    if (seeds.length === 0) return { finding: undefined, count: total };
  }
}

/** All seeds, those first whose worlds have what the breakage is about. */
function inOrder({ where }: Breakage): number[] {
  const apt = where === undefined ? plans : plans.filter((plan) => where(plan));
  const rest = plans.filter((plan) => !apt.includes(plan));
  return [...apt, ...rest].map(({ seed }) => seed);
}
