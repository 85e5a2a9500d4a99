/** Measures the rows of a workload in turns, so that a machine that is busy for a while is busy for all. */
import type {
  RowResult,
  Figures,
  RunOptions,
  Runner,
  Workload,
  WorkloadResult,
  WorkloadRow,
} from "./workload.ts";

/** A row that fails says so in its place, and the others go on. */
export async function inTurns(
  workload: Workload,
  rows: readonly WorkloadRow[],
  rounds: number,
  options: RunOptions,
): Promise<WorkloadResult> {
  const { name, about, base, ratioOf, apart = false, roundCount = rounds } = workload;
  const results: RowResult[] = [];
  for (const group of apart ? rows.map((row) => [row]) : [rows]) {
    const opened = group.map((row) => new OpenRow(row, `${name}, ${row.name}`));
    for (const one of opened) await one.open(options);
    for (let number = 0; number < Math.min(rounds, roundCount); number += 1)
      for (const one of opened) await one.round();
    for (const one of opened) results.push(await one.close());
  }
  return { workload: name, about, base, ratioOf, date: new Date().toISOString(), rows: results };
}

class OpenRow {
  readonly #row: WorkloadRow;
  readonly #what: string;
  readonly #rounds: Figures[] = [];
  #runner: Runner | undefined;
  #failed: string | undefined;

  constructor(row: WorkloadRow, what: string) {
    this.#row = row;
    this.#what = what;
  }

  open(options: RunOptions): Promise<void> {
    return this.#attempt(async () => {
      this.#runner = await this.#row.open(options);
      await this.#runner.warmUp?.();
    });
  }

  round(): Promise<void> {
    return this.#attempt(async () => {
      if (this.#runner !== undefined) this.#rounds.push(await this.#runner.round());
    });
  }

  async close(): Promise<RowResult> {
    await this.#runner?.close();
    const failed = this.#failed;
    return { row: this.#row.name, rounds: this.#rounds, ...(failed === undefined ? {} : { failed }) };
  }

  async #attempt(run: () => Promise<void>): Promise<void> {
    if (this.#failed !== undefined) return;
    try {
      await inTime(run(), this.#what);
    } catch (error) {
      this.#failed = error instanceof Error ? error.message : String(error);
    }
  }
}

/** What hangs ends, with a word of what it was. */
async function inTime(work: Promise<void>, what: string): Promise<void> {
  const mostMs = 100_000;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not done in ${mostMs / 1_000} s`)), mostMs);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
