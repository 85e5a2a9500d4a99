/**
 * The fences of a store in memory: for each space, the time before which calls may have been forgotten. The
 * number of spaces is up to the clients, so only so many have a fence of their own; the one that was
 * raised longest ago then becomes everybody's. That refuses a repeat too many at most, and never runs one.
 */
export interface MemoryFences {
  /** Calls of the space that were first sent before this, in ms of server time, may have been forgotten. */
  of(space: string): number;
  /** A call of the space that was first sent at this time has been forgotten. */
  raise(space: string, firstSentMs: number): void;
  /** Drops fences that lie before a time, and returns how many. */
  purge(beforeMs: number, countMost: number): number;
}

export function memoryFences(startMs: number, spacesMost = 16_384): MemoryFences {
  let floorMs = startMs;
  const bySpace = new Map<string, number>();
  return {
    of: (space) => Math.max(floorMs, bySpace.get(space) ?? 0),
    raise(space, firstSentMs) {
      const beforeMs = Math.max(bySpace.get(space) ?? 0, Math.floor(firstSentMs) + 1);
      if (beforeMs <= floorMs) return;
      bySpace.delete(space);
      bySpace.set(space, beforeMs);
      if (bySpace.size <= spacesMost) return;
      for (const [oldest, oldestMs] of bySpace) {
        floorMs = Math.max(floorMs, oldestMs);
        bySpace.delete(oldest);
        return;
      }
    },
    purge(beforeMs, countMost) {
      let droppedCount = 0;
      for (const [space, fenceMs] of bySpace) {
        if (droppedCount >= countMost) break;
        if (fenceMs > beforeMs) continue;
        bySpace.delete(space);
        droppedCount += 1;
      }
      return droppedCount;
    },
  };
}
