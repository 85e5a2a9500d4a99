// Runs every decoder on inputs made by chance: `npm run fuzz -- --runs 1000000 [--seed N] [--target NAME] [--json FILE]`.

import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { fuzz } from "./fuzz.ts";
import { fuzzTargets } from "./targets.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    target: { type: "string", default: "" },
    json: { type: "string" },
  },
});

function whole(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0)
    throw new RangeError(`--${name} must be a whole number, got "${text}"`);
  return number;
}

const runs = whole("runs", values.runs);
const seed = whole("seed", values.seed);
const targets = fuzzTargets.filter((target) => target.name.includes(values.target));
if (targets.length === 0) throw new RangeError(`no target is named like "${values.target}"`);

const perTarget = Math.ceil(runs / targets.length);
const reports = targets.map((target) => {
  const report = fuzz(target, perTarget, seed);
  console.log(
    `${target.name}: ${report.runs} runs, ${report.outcomes} outcomes, slowest ${report.slowestMs.toFixed(1)} ms`,
  );
  return report;
});

const total = reports.reduce((sum, report) => sum + report.runs, 0);
const finding = reports.find((report) => report.finding !== undefined)?.finding;
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ runs: total, seed, reports }, undefined, 2)}\n`);
if (finding === undefined) {
  console.log(`fuzz: ok ${total} runs on ${targets.length} decoders, seed ${seed}`);
} else {
  console.log(
    `fuzz: failed ${finding.target} with ${finding.inputHex}: ${finding.text} (seed ${seed}, ${total} runs)`,
  );
  process.exitCode = 1;
}
