// Measures holdfast beside its peers: `npm run bench -- [regular expression] [options]`, see bench/README.md.

import { mkdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { installPeers } from "./install.ts";
import { pageWith } from "./report/page.ts";
import { pictureOf } from "./report/picture.ts";
import { addTo, readRecording } from "./report/record.ts";
import { tableOf } from "./report/table.ts";
import { targetsTable } from "./report/targets.ts";
import { inTurns } from "./turns.ts";
import type { Workload, WorkloadResult } from "./workload.ts";
import { workloads } from "./workloads.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: "string", default: "" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "1" },
    "warm-up": { type: "string", default: "4" },
    json: { type: "string" },
    svg: { type: "string" },
    page: { type: "string" },
    from: { type: "string" },
    profile: { type: "string" },
    list: { type: "boolean", default: false },
  },
});

const names = workloads.map(({ name }) => name);

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new RangeError(`--${name} must be above 0, got "${text}"`);
  return value;
}

/** Measures what is wanted, and prints each table as soon as it is there. */
async function measured(wanted: readonly Workload[], rows: RegExp): Promise<WorkloadResult[]> {
  const rounds = positive("rounds", values.rounds);
  const options = {
    seconds: positive("seconds", values.seconds),
    warmUpSeconds: positive("warm-up", values["warm-up"]),
    profiles: values.profile,
  };
  const results: WorkloadResult[] = [];
  for (const workload of wanted) {
    const chosen = workload.rows.filter(({ name }) => rows.test(name));
    if (chosen.some(({ foreign }) => foreign)) installPeers();
    const result = await inTurns(workload, chosen, rounds, options);
    console.log(`\n${workload.name}: ${workload.about}\n\n${tableOf(result)}`);
    results.push(result);
    // At once: what was measured is there, whatever becomes of the rest.
    if (values.json !== undefined) addTo(values.json, [result], names);
  }
  return results;
}

async function main(): Promise<void> {
  const wanted = workloads.filter(({ name }) => new RegExp(positionals[0] ?? "").test(name));
  if (wanted.length === 0)
    throw new RangeError(`no workload is named like ${positionals[0] ?? ""}; see --list`);
  if (values.list) {
    for (const { name, rows } of wanted) console.log(`${name}: ${rows.map((row) => row.name).join("; ")}`);
    return;
  }
  mkdirSync(".holdfast", { recursive: true }); // databases of durable rows
  let results: readonly WorkloadResult[];
  if (values.from === undefined) {
    results = await measured(wanted, new RegExp(values.rows));
  } else {
    const chosen = new Set(wanted.map(({ name }) => name));
    results = readRecording(values.from).results.filter(({ workload }) => chosen.has(workload));
    for (const result of results) console.log(`\n${result.workload}: ${result.about}\n\n${tableOf(result)}`);
  }
  const file = values.from ?? values.json;
  const all = file === undefined ? results : readRecording(file).results;
  console.log(`\n${targetsTable(all)}`);
  if (values.svg !== undefined) writeFileSync(values.svg, pictureOf(all));
  if (values.page !== undefined && file !== undefined) pageWith(values.page, readRecording(file));
  const failed = results.flatMap(({ workload, rows }) =>
    rows.flatMap((row) => (row.failed === undefined ? [] : `${workload}, ${row.row}: ${row.failed}`)),
  );
  for (const text of failed) console.error(text);
  if (failed.length > 0) process.exitCode = 1;
  const end = failed.length > 0 ? `failed ${failed.length} rows of` : "ok";
  console.log(`bench: ${end} ${results.length} workloads, ${values.rounds} rounds of ${values.seconds} s`);
}

await main();
