/** What the rounds of a row come to: medians, least and most, and the ratio to the base in the same run. */
import type { RowResult, WorkloadResult } from "../workload.ts";
import { median } from "./median.ts";

export interface Summary {
  readonly row: string;
  readonly figures: Readonly<Record<string, Spread>>;
  /** To the base, each round to the same round; NaN where one of the two is missing. */
  readonly ratio: number;
  readonly failed: string | undefined;
}

export interface Spread {
  readonly middle: number;
  readonly least: number;
  readonly most: number;
}

export function summaries(result: WorkloadResult): readonly Summary[] {
  const base = result.rows.find(({ row }) => row === result.base);
  return result.rows.map((row) => ({
    row: row.row,
    figures: Object.fromEntries(figureNames(row).map((name) => [name, spread(valuesOf(row, name))])),
    ratio: ratio(valuesOf(row, result.ratioOf), base === undefined ? [] : valuesOf(base, result.ratioOf)),
    failed: row.failed,
  }));
}

export function valuesOf({ rounds }: RowResult, figure: string): readonly number[] {
  return rounds.flatMap((round) => round[figure] ?? []);
}

function figureNames({ rounds }: RowResult): readonly string[] {
  return Object.keys(rounds[0] ?? {});
}

function spread(values: readonly number[]): Spread {
  return { middle: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/** The middle of the rounds' ratios. */
export function ratio(values: readonly number[], base: readonly number[]): number {
  return median(values.flatMap((value, round) => (base[round] === undefined ? [] : value / base[round])));
}
