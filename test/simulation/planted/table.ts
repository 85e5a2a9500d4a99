/** The table of planted breakages in docs/simulation.md. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Breakage } from "./breakages.ts";

const start = "<!-- planted-table -->";
const end = "<!-- /planted-table -->";

export interface TableRow {
  readonly breakage: Breakage;
  readonly seeds: number | undefined;
  readonly rule: string;
}

export function writeTable(page: string, rows: readonly TableRow[]): void {
  const text = readFileSync(page, "utf8");
  const [before, rest] = text.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${page} has no place for the table`);
  const lines = rows.map(
    ({ breakage, seeds, rule }) =>
      `| ${breakage.name} | ${seeds ?? "not found"} | ${seeds === undefined ? "" : rule} |`,
  );
  const table = ["", "", "| breakage | seeds | found by |", "| --- | --- | --- |", ...lines, "", ""].join(
    "\n",
  );
  writeFileSync(page, `${before}${start}${table}${end}${after}`);
}
