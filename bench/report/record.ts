/** A recorded run: one file for all workloads, which several commands may have measured one after the other. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { arch, cpus, platform, totalmem } from "node:os";
import type { WorkloadResult } from "../workload.ts";

export interface Recording {
  readonly machine: Machine;
  /** The newest measurement of each workload. */
  readonly results: readonly WorkloadResult[];
}

export interface Machine {
  readonly node: string;
  readonly system: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryGiB: number;
}

export function thisMachine(): Machine {
  const all = cpus();
  return {
    node: process.version,
    system: `${platform()} ${arch()}`,
    processor: all[0]?.model ?? "unknown",
    cores: all.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
  };
}

export function readRecording(file: string): Recording {
  return JSON.parse(readFileSync(file, "utf8")) as Recording;
}

/** Puts new results in the place of older ones of the same rows, in the order that `names` gives. */
export function addTo(file: string, results: readonly WorkloadResult[], names: readonly string[]): Recording {
  const before = existsSync(file) ? readRecording(file).results : [];
  const fresh = results.map((result) => {
    const older = before.find(({ workload }) => workload === result.workload)?.rows ?? [];
    const kept = older.filter(({ row }) => !result.rows.some((one) => one.row === row));
    return { ...result, rows: [...kept, ...result.rows] };
  });
  const others = before.filter(({ workload }) => !results.some((result) => result.workload === workload));
  const place = ({ workload }: WorkloadResult): number => names.indexOf(workload);
  const all = [...others, ...fresh].sort((a, b) => place(a) - place(b));
  const recording = { machine: thisMachine(), results: all };
  writeFileSync(file, `${JSON.stringify(rounded(recording), undefined, 1)}\n`);
  return recording;
}

/** Six digits are more than any figure is worth. */
function rounded(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, one: unknown) => (typeof one === "number" ? Number(one.toPrecision(6)) : one)),
  );
}
