/** What a process has used so far. */
export function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Ms of a clock that all processes of this machine share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export interface Memory {
  readonly rssBytes: number;
  readonly heapBytes: number;
}

/** What is in use after collecting garbage, which needs `--expose-gc`. */
export async function memory(): Promise<Memory> {
  for (let round = 0; round < 4; round += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { rss, heapUsed } = process.memoryUsage();
  return { rssBytes: rss, heapBytes: heapUsed };
}
