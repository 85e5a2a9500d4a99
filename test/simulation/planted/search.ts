/** Looks for the first seed that finds one breakage, in a process that is killed when it hangs. */
import { fork } from "node:child_process";
import type { SearchAnswer } from "./searcher.ts";

/** Real time of one seed: a hundred times what the slowest whole world needs. */
const seedMsMost = 30_000;

export interface Finding {
  readonly seed: number;
  readonly rule: string;
  readonly text: string;
}

/** What a search has come to. */
export interface Searched {
  /** The first that breaks a promise; undefined: none did. */
  readonly finding: Finding | undefined;
  /** Seeds that were run. */
  readonly count: number;
}

/** Runs a bundle's seeds until one breaks a promise, or so many ms are over. */
export function search(file: string, seeds: readonly number[], msMost = Infinity): Promise<Searched> {
  const endMs = performance.now() + msMost;
  return new Promise((resolve) => {
    const child = fork(file, [], {
      execArgv: ["--enable-source-maps"],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    let seed = seeds[0] ?? 0;
    let count = 0;
    let timer: NodeJS.Timeout | undefined;
    const end = (finding: Finding | undefined): void => {
      clearTimeout(timer);
      child.removeAllListeners();
      child.kill("SIGKILL");
      resolve({ finding, count });
    };
    const watch = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => end({ seed, rule: "it hangs", text: "no end in real time" }), seedMsMost);
    };
    child.on("message", (answer: SearchAnswer) => {
      if (answer.kind === "begins") {
        seed = answer.seed;
        count += 1;
        if (performance.now() > endMs) end(undefined);
        else watch();
      } else end(answer.kind === "found" ? answer : undefined);
    });
    child.on("exit", (code) => end({ seed, rule: "it stopped", text: `its process ended with ${code}` }));
    watch();
    child.send({ seeds });
  });
}
