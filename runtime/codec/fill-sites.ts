// biome-ignore-all format: a place is a line
import type { Fields } from "./presence.ts";

// V8 learns at each place of the source, apart from all others, which member of which objects is set there, and then
// sets it in 2 ns instead of 20. All closures that come from one place share what is learned at it, so a place that
// serves two types has learned nothing. Code made from text would have a place of its own for each type; here the
// same line stands many times instead, and each message type gets the next ones, while there are any. Types that come
// later, which are as slow as all would be, share the last one.

/** Sets up to four members of a message, from `values[base]` on, those that are not undefined. */
export type Fill = (message: Fields, values: readonly unknown[], base: number) => void;

/** How many members one `Fill` sets; it looks at so many values even where a message has fewer members left. */
export const fillMembers = 4;

type Site = (a: string, b: string, c: string, d: string) => Fill;

let used = 0;

/** Sets the members of these names, each `Fill` the next four. */
export function fillsOf(names: readonly string[]): readonly Fill[] {
  const fills: Fill[] = [];
  for (let i = 0; i < names.length; i += fillMembers) {
    const [a = "", b = "", c = "", d = ""] = names.slice(i, i + fillMembers);
    fills.push((sites[used++] ?? lastSite)(a, b, c, d));
  }
  return fills;
}

const sites: readonly Site[] = [
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; },
];

const lastSite: Site =
  (a, b, c, d) => (m, v, i) => { const w = v[i], x = v[i + 1], y = v[i + 2], z = v[i + 3]; if (w !== undefined) m[a] = w; if (x !== undefined) m[b] = x; if (y !== undefined) m[c] = y; if (z !== undefined) m[d] = z; };
