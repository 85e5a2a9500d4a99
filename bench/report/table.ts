/** Results as tables in Markdown, for the terminal and for the page. */
import type { WorkloadResult } from "../workload.ts";
import { type Spread, summaries } from "./summary.ts";

/** One table. The figure that ratios are of is shown with its least and most. */
export function tableOf(result: WorkloadResult): string {
  const rows = summaries(result);
  const names = [...new Set(rows.flatMap(({ figures }) => Object.keys(figures)))];
  const head = ["", ...names, `times ${result.base}`];
  const lines = rows.map(({ row, figures, ratio, failed }) => {
    if (failed !== undefined && Object.keys(figures).length === 0)
      return [row, `failed: ${firstLine(failed)}`];
    const cells = names.map((name) => cell(figures[name], name === result.ratioOf));
    return [row, ...cells, Number.isNaN(ratio) ? "" : number(ratio)];
  });
  return [head, head.map((_, at) => (at === 0 ? "---" : "--:")), ...lines]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

function cell(spread: Spread | undefined, withRange: boolean): string {
  if (spread === undefined || Number.isNaN(spread.middle)) return "";
  const { middle, least, most } = spread;
  return withRange && least !== most
    ? `${number(middle)} (${number(least)}–${number(most)})`
    : number(middle);
}

/** Three digits that count, and no more behind the point than are worth reading. */
export function number(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
