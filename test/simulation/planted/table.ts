/** The table of planted breakages in docs/simulation.md. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Breakage } from "./breakages.ts";

const start = "<!-- planted-table -->";
const end = "<!-- /planted-table -->";

export interface TableRow {
  readonly breakage: Breakage;
  readonly seeds: number | undefined;
  readonly seedsMost: number;
  readonly rule: string;
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
    if (row === undefined) {
      return known.find((line) => line.startsWith(`| ${name} |`)) ?? `| ${name} | not run | |`;
    }
    const { seeds, seedsMost, rule } = row;
    return seeds === undefined ? `| ${name} | not in ${seedsMost} | |` : `| ${name} | ${seeds} | ${rule} |`;
  });
  const table = ["", "", "| breakage | seeds | found by |", "| --- | --- | --- |", ...lines, "", ""].join(
    "\n",
  );
  writeFileSync(page, `${before}${start}${table}${end}${after}`);
}
