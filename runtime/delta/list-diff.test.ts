import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gapsOf } from "./list-diff.ts";

function rebuilt(before: readonly unknown[], after: readonly unknown[]): unknown[] {
  const list = [...before];
  for (const gap of [...gapsOf(before, after)].reverse()) {
    list.splice(gap.from, gap.to - gap.from, ...after.slice(gap.newFrom, gap.newTo));
  }
  return list;
}

describe("the gaps between two lists", () => {
  const [a, b, c, d] = [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }];

  it.each([
    ["none when nothing changed", [a, b], [a, b], []],
    ["one at the end for what was added", [a], [a, b], [{ from: 1, to: 1, newFrom: 1, newTo: 2 }]],
    ["one at the start for what went", [a, b], [b], [{ from: 0, to: 1, newFrom: 0, newTo: 0 }]],
    ["one of equal size for what changed", [a, b, c], [a, d, c], [{ from: 1, to: 2, newFrom: 1, newTo: 2 }]],
    [
      "two for a row that moved from the end to the start",
      [a, b, c, d],
      [d, a, b, c],
      [
        { from: 0, to: 0, newFrom: 0, newTo: 1 },
        { from: 3, to: 4, newFrom: 4, newTo: 4 },
      ],
    ],
    ["one for 0 that became -0", [1, 0, 2], [1, -0, 2], [{ from: 1, to: 2, newFrom: 1, newTo: 2 }]],
  ])("are %s", (_, before, after, expected) => {
    expect(gapsOf(before, after)).toEqual(expected);
  });

  it("lead from any list to any other", () => {
    const list = fc.array(fc.constantFrom<unknown>(a, b, c, d, 0, -0, Number.NaN, "x"), { maxLength: 12 });
    fc.assert(
      fc.property(list, list, (before, after) => {
        const made = rebuilt(before, after);
        expect(made.length).toBe(after.length);
        for (const [at, element] of made.entries()) expect(Object.is(element, after[at])).toBe(true);
      }),
    );
  });

  it("keep all that stayed in order, however far one row moved", () => {
    const rows = Array.from({ length: 1_000 }, (_, n) => ({ n }));
    const moved = [...rows.slice(500), ...rows.slice(0, 500).slice(1), rows[0]];
    const goneCount = gapsOf(rows, moved).reduce((sum, gap) => sum + gap.to - gap.from, 0);
    expect(goneCount).toBe(500);
  });
});
