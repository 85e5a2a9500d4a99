/**
 * Which elements of a list stayed, by identity: what lies between those that stayed are the gaps, where elements
 * went, came or changed.
 *
 * The kept ones are the longest rising run of old places (patience sorting), so that a row that moved is one
 * removal and one insertion, however long the list is.
 */

/** Old elements from `from` to `to` are now the new ones from `newFrom` to `newTo`. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  readonly newFrom: number;
  readonly newTo: number;
}

/** The gaps, first to last. Elements are the same when `Object.is` says so. */
export function gapsOf(before: readonly unknown[], after: readonly unknown[]): readonly Gap[] {
  let head = 0;
  const shorter = Math.min(before.length, after.length);
  while (head < shorter && Object.is(before[head], after[head])) head += 1;
  let tail = 0;
  while (
    tail < shorter - head &&
    Object.is(before[before.length - 1 - tail], after[after.length - 1 - tail])
  ) {
    tail += 1;
  }
  const end = { old: before.length - tail, new: after.length - tail };
  const gaps: Gap[] = [];
  let from = head;
  let newFrom = head;
  for (const [old, now] of keptBetween(before, after, head, end)) {
    if (old > from || now > newFrom) gaps.push({ from, to: old, newFrom, newTo: now });
    from = old + 1;
    newFrom = now + 1;
  }
  if (end.old > from || end.new > newFrom) gaps.push({ from, to: end.old, newFrom, newTo: end.new });
  return gaps;
}

/** Pairs of old and new place of what stayed in order, between the part at the start and that at the end. */
function keptBetween(
  before: readonly unknown[],
  after: readonly unknown[],
  head: number,
  end: { readonly old: number; readonly new: number },
): readonly (readonly [number, number])[] {
  if (head === end.old || head === end.new) return [];
  const places = new Map<unknown, number>();
  for (let at = head; at < end.old; at++) places.set(before[at], at);
  const stayed: (readonly [number, number])[] = [];
  for (let at = head; at < end.new; at++) {
    const old = places.get(after[at]);
    // A Map takes 0 and -0 for one key.
    if (old !== undefined && Object.is(before[old], after[at])) stayed.push([old, at]);
  }
  return longestRising(stayed);
}

type Pair = readonly [number, number];

/** The longest run of pairs whose first numbers rise strictly. */
function longestRising(pairs: readonly Pair[]): readonly Pair[] {
  interface Link {
    readonly pair: Pair;
    readonly before: Link | undefined;
  }
  /** The end of the best run of each length. */
  const ends: Link[] = [];
  for (const pair of pairs) {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[middle]?.pair[0] ?? 0) < pair[0]) low = middle + 1;
      else high = middle;
    }
    ends[low] = { pair, before: ends[low - 1] };
  }
  const run: Pair[] = [];
  for (let link = ends.at(-1); link !== undefined; link = link.before) run.push(link.pair);
  return run.reverse();
}
