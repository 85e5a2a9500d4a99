/** The table of planted breakages in docs/simulation.md. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Breakage } from "./breakage.ts";
import type { Finding } from "./search.ts";

const start = "<!-- planted-table -->";
const end = "<!-- /planted-table -->";

export interface TableRow {
  readonly breakage: Breakage;
  /** Undefined: none of so many seeds has found it. */
  readonly finding: Finding | undefined;
  readonly seedsMost: number;
}

/** The seed that the table names for it; undefined: none has found it. */
export function seedOf(page: string, name: string): number | undefined {
  const row = rowOf(readFileSync(page, "utf8").split("\n"), name) ?? "";
  const seed = /^\|[^|]*\| (\d+) \|/.exec(row)?.[1];
  return seed === undefined ? undefined : Number(seed);
}

/** Writes all breakages: those of now, and of the others what the table says already. */
export function writeTable(page: string, all: readonly Breakage[], rows: readonly TableRow[]): void {
  const text = readFileSync(page, "utf8");
  const [before, rest] = text.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the table`);
  const known = (rest ?? "").split("\n");
  const lines = all.map(({ name }) => {
    const row = rows.find(({ breakage }) => breakage.name === name);
    if (row === undefined) return rowOf(known, name) ?? `| ${name} | not run | |`;
    const { finding, seedsMost } = row;
    return finding === undefined
      ? `| ${name} | not in ${seedsMost} | |`
      : `| ${name} | ${finding.seed} | ${finding.rule} |`;
  });
  const table = ["", "", "| breakage | seed | found by |", "| --- | --- | --- |", ...lines, "", ""].join(
    "\n",
  );
  writeFileSync(page, `${before}${start}${table}${end}${after}`);
}

function rowOf(lines: readonly string[], name: string): string | undefined {
  return lines.find((line) => line.startsWith(`| ${name} |`));
}
