// Compares peers side by side: `npm run bench -- [regular expression] [--rounds N] [--json FILE]`.

import { readdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { BenchCase } from "./case.ts";
import { measure, type PeerResult } from "./measure.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "15" }, json: { type: "string" } },
});

const rounds = Number(values.rounds);
if (!Number.isSafeInteger(rounds) || rounds < 1)
  throw new RangeError(`--rounds must be at least 1, got "${values.rounds}"`);
const wanted = new RegExp(positionals[0] ?? "");

const folder = new URL("cases/", import.meta.url);
const cases: BenchCase[] = [];
for (const file of readdirSync(folder)
  .filter((name) => name.endsWith(".ts"))
  .sort()) {
  const module = (await import(new URL(file, folder).href)) as { cases?: readonly BenchCase[] };
  cases.push(...(module.cases ?? []).filter((one) => wanted.test(one.name)));
}
if (cases.length === 0) throw new RangeError(`no case is named like ${String(wanted)}`);

const results: { name: string; peers: PeerResult[] }[] = [];
for (const one of cases) {
  const peers = measure(one, rounds);
  results.push({ name: one.name, peers });
  printTable(one, peers);
}
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ rounds, results }, undefined, 2)}\n`);
console.log(`bench: ok ${results.length} cases, ${rounds} rounds`);

function printTable(one: BenchCase, peers: readonly PeerResult[]): void {
  console.log(
    `\n${one.name}\n| peer | bytes | a second (min–max) | times ${one.base} |\n| --- | --: | --: | --: |`,
  );
  for (const { peer, bytes, perSecond, perSecondMin, perSecondMax, ratio } of peers) {
    const rates = [perSecond, perSecondMin, perSecondMax].map((rate) =>
      Math.round(rate).toLocaleString("en"),
    );
    console.log(
      `| ${peer} | ${bytes?.toLocaleString("en") ?? ""} | ${rates[0]} (${rates[1]}–${rates[2]}) | ${ratio.toFixed(2)} |`,
    );
  }
}
