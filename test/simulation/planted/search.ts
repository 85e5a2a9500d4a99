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

/** The first of the seeds that breaks a promise in the bundle; undefined: none of them. */
export function search(file: string, seeds: readonly number[]): Promise<Finding | undefined> {
  return new Promise((resolve) => {
    const child = fork(file, [], {
      execArgv: ["--enable-source-maps"],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    let seed = seeds[0] ?? 0;
    let timer: NodeJS.Timeout | undefined;
    const end = (finding: Finding | undefined): void => {
      clearTimeout(timer);
      child.removeAllListeners();
      child.kill("SIGKILL");
      resolve(finding);
    };
    const watch = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => end({ seed, rule: "it hangs", text: "no end in real time" }), seedMsMost);
    };
    child.on("message", (answer: SearchAnswer) => {
      if (answer.kind === "begins") {
        seed = answer.seed;
        watch();
      } else end(answer.kind === "found" ? answer : undefined);
    });
    child.on("exit", (code) => end({ seed, rule: "it stopped", text: `its process ended with ${code}` }));
    watch();
    child.send({ seeds });
  });
}
