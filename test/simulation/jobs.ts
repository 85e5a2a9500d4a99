/**
 * Runs many seeds in several processes: all of them run one file with everything in it, which a process loads at once
 * and without the loader that reads TypeScript.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type SeedReport, type SeedsOptions, type SeedsResult, Tally } from "./seeds.ts";

/** What a process is asked for at once: enough that it never waits, and few that all end together. */
export interface JobPart {
  readonly first: number;
  readonly count: number;
  readonly without: SeedsOptions["without"];
}

const partCount = 20;
/** Real time of one seed: a hundred times what the slowest whole world needs. */
const seedMsMost = 60_000;

export interface JobsOptions extends SeedsOptions {
  readonly jobCount: number;
}

/** Stops when `onFailure` gives false. */
export async function runJobs(options: JobsOptions): Promise<SeedsResult> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-simulation-"));
  const file = join(folder, "job.mjs");
  const children = new Set<ChildProcess>();
  try {
    await bundle(file);
    const tally = new Tally();
    const parts = new Parts(options);
    await Promise.all(
      Array.from({ length: options.jobCount }, async () => {
        while (parts.some) await work(file, parts, children, tally, options);
      }),
    );
    return tally.result;
  } finally {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What is left to run. */
class Parts {
  /** Nobody wants more. */
  stopped = false;
  #next: number;
  readonly #end: number;
  readonly #left: JobPart[] = [];
  readonly #without: SeedsOptions["without"];

  constructor({ first, count, without }: SeedsOptions) {
    this.#next = first;
    this.#end = first + count;
    this.#without = without;
  }

  get some(): boolean {
    return !this.stopped && (this.#left.length > 0 || this.#next < this.#end);
  }

  take(): JobPart | undefined {
    if (this.stopped) return undefined;
    const left = this.#left.pop();
    if (left !== undefined) return left;
    const first = this.#next;
    const count = Math.min(partCount, this.#end - first);
    if (count <= 0) return undefined;
    this.#next = first + count;
    return { first, count, without: this.#without };
  }

  /** What a process has left when it stopped. */
  giveBack(part: JobPart): void {
    if (part.count > 0) this.#left.push(part);
  }
}

/** One process, until it has no more to do, or a seed stops it. */
function work(
  file: string,
  parts: Parts,
  children: Set<ChildProcess>,
  tally: Tally,
  { onFailure }: SeedsOptions,
): Promise<void> {
  // Nobody reads the stacks of what a world's programs throw; where they are wanted, `--seed` runs it here.
  const execArgv = ["--stack-trace-limit=0", "--max-semi-space-size=32"];
  const child = fork(file, [], { execArgv, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  children.add(child);
  return new Promise((resolve) => {
    let part: JobPart | undefined;
    let seed = 0;
    let timer: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(timer);
      child.removeAllListeners();
      child.kill("SIGKILL");
      children.delete(child);
      resolve();
    };
    const next = (): void => {
      part = parts.take();
      if (part === undefined) {
        end();
        return;
      }
      seed = part.first;
      watch();
      child.send(part);
    };
    const take = (report: SeedReport): void => {
      tally.add(report);
      if (report.violations.length === 0) return;
      void Promise.resolve(onFailure?.(report)).then((goesOn) => {
        if (goesOn === false) parts.stopped = true;
      });
    };
    const stopped = (text: string): void => {
      take({ seed, reached: [], violations: [{ rule: "it stopped", text }] });
      const endSeed = part === undefined ? seed : part.first + part.count;
      if (part !== undefined) parts.giveBack({ ...part, first: seed + 1, count: endSeed - seed - 1 });
      end();
    };
    const watch = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => stopped(`no end after ${seedMsMost / 1_000} s of real time`), seedMsMost);
    };
    child.on("message", (report: SeedReport) => {
      take(report);
      seed = report.seed + 1;
      if (parts.stopped) end();
      else if (part !== undefined && seed < part.first + part.count) watch();
      else next();
    });
    child.on("exit", (code, signal) => stopped(`its process ended with ${code ?? signal}`));
    next();
  });
}

async function bundle(file: string): Promise<void> {
  await build({
    absWorkingDir: fileURLToPath(new URL("../..", import.meta.url)),
    entryPoints: [fileURLToPath(new URL("job.ts", import.meta.url))],
    outfile: file,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["holdfast-source"],
    external: ["better-sqlite3"],
    // Packages of the older kind that are inside ask for Node's own modules by `require`.
    banner: { js: 'import { createRequire } from "node:module";const require = createRequire("/");' },
    logLevel: "error",
  });
}
