// One of the processes of `npm run sim`: runs the parts that it is sent, and tells of each seed.
import type { JobPart } from "./jobs.ts";
import { runSeed } from "./seeds.ts";

process.on("message", ({ first, count, without }: JobPart) => {
  const run = async (): Promise<void> => {
    for (let seed = first; seed < first + count; seed++) process.send?.(await runSeed(seed, without));
  };
  void run();
});
