/** Messages to bytes and back, in this process: the cases of bench/cases. */
import type { BenchCase } from "../case.ts";
import { cases as plain } from "../cases/codec.ts";
import { cases as link } from "../cases/codec-link.ts";
import { cases as mapping } from "../cases/codec-mapping.ts";
import type { Workload, WorkloadRow } from "../workload.ts";

function row(benchCase: BenchCase, name: string, run: () => unknown): WorkloadRow {
  const bytes = benchCase.sizes?.[name];
  return {
    name,
    foreign: false,
    open: ({ seconds }) =>
      Promise.resolve({
        warmUp: () => Promise.resolve(void rateOf(run, 150)),
        round: () =>
          Promise.resolve({
            ...(bytes === undefined ? {} : { bytes }),
            "a second": rateOf(run, seconds * 100),
          }),
        close: () => Promise.resolve(),
      }),
  };
}

/** Times a second of this process's CPU time, since other programs run beside. */
function rateOf(run: () => unknown, forMs: number): number {
  const started = process.cpuUsage();
  let times = 0;
  for (let step = 1; ; step = Math.min(step * 2, 256)) {
    for (let i = 0; i < step; i++) run();
    times += step;
    const { user, system } = process.cpuUsage(started);
    const usedMs = (user + system) / 1000;
    if (usedMs >= forMs) return (times / usedMs) * 1000;
  }
}

const about: Readonly<Record<string, string>> = {
  codec: "A message to bytes and back to a message, a second of CPU time.",
  "codec-link": "Link messages of a hundred calls, with their payloads, as one packet.",
  "codec-mapping": "Ways in which a message could be laid out in msgpack.",
};

export const workloads: readonly Workload[] = [...plain, ...link, ...mapping].map((one) => ({
  name: one.name,
  about: about[one.name.split("/")[0] ?? ""] ?? "",
  base: one.base,
  ratioOf: "a second",
  rows: Object.entries(one.peers).map(([name, run]) => row(one, name, run)),
}));
