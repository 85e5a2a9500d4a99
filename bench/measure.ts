import type { BenchCase } from "./case.ts";

/** What one peer did in one case. */
export interface PeerResult {
  readonly peer: string;
  /** Median, least and most of the rounds, in times a second of this process's CPU time. */
  readonly perSecond: number;
  readonly perSecondMin: number;
  readonly perSecondMax: number;
  /** Median of the rounds' ratios to the base in the same round. */
  readonly ratio: number;
  readonly bytes: number | undefined;
}

const warmUpMs = 150;
const sliceMs = 30;

/**
 * Runs the peers in turns, many short slices each, so that a machine that is busy for a while is busy for all.
 * CPU time is counted, not time on the wall, since other programs run beside.
 */
export function measure(benchCase: BenchCase, rounds: number): PeerResult[] {
  const peers = Object.entries(benchCase.peers);
  for (const [, run] of peers) rateOf(run, warmUpMs);
  const rates = new Map(peers.map(([peer]) => [peer, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const [peer, run] of peers) rates.get(peer)?.push(rateOf(run, sliceMs));
  }
  const base = rates.get(benchCase.base) ?? [];
  return peers.map(([peer]) => {
    const own = rates.get(peer) ?? [];
    return {
      peer,
      perSecond: median(own),
      perSecondMin: Math.min(...own),
      perSecondMax: Math.max(...own),
      ratio: median(own.map((rate, round) => rate / (base[round] ?? Number.NaN))),
      bytes: benchCase.sizes?.[peer],
    };
  });
}

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

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
