/** Writes a recorded run into a page, between marks that stand in it. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Recording } from "./record.ts";
import { tableOf } from "./table.ts";
import { targetsTable } from "./targets.ts";

export function pageWith(file: string, { machine, results }: Recording): void {
  const { node, system, processor, cores, memoryGiB } = machine;
  const days = [...new Set(results.map(({ date }) => date.slice(0, 10)))].join(", ");
  const run = `${days}: Node ${node.slice(1)}, ${system}, ${cores} cores of ${processor}, ${memoryGiB} GiB.`;
  const tables = results.map((result) => `### ${result.workload}\n\n${result.about}\n\n${tableOf(result)}`);
  let page = readFileSync(file, "utf8");
  page = between(page, "bench-run", run);
  page = between(page, "bench-targets", targetsTable(results));
  page = between(page, "bench-tables", tables.join("\n\n"));
  writeFileSync(file, page);
}

function between(page: string, mark: string, text: string): string {
  const [begin, end] = [`<!-- ${mark} -->`, `<!-- end of ${mark} -->`];
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`the page lacks ${begin} … ${end}`);
  return `${before}${begin}\n\n${text}\n\n${end}${after}`;
}
