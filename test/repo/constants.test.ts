/** docs/architecture.md shows the defaults: this holds the table to runtime/base/constants.ts, both ways. */
import { describe, expect, it } from "vitest";
import * as constants from "../../runtime/base/constants.ts";
import { quoted, tableAfter } from "./markdown.ts";
import { read } from "./source-files.ts";

const msOf: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000 };

/** A value as the page writes it: a bare count, or a number with its unit, as ms. */
function valueOf(cell: string): number {
  const match = /^(\d+)(?: (ms|s|min|h))?$/.exec(cell);
  if (match === null)
    throw new Error(`"${cell}" is no value; write 250 ms, 5 s, 10 min, 24 h or a bare count`);
  return Number(match[1]) * (match[2] === undefined ? 1 : msOf[match[2]]!);
}

const inCode = Object.entries({ ...constants, ...constants.defaultTiming }).filter(
  (entry): entry is [string, number] => typeof entry[1] === "number",
);
const onPage = tableAfter(read("docs/architecture.md"), "constants-table").map(
  ([name = "", value = ""]): [string, number] => [quoted(name)[0] ?? name, valueOf(value)],
);

describe("the table of defaults", () => {
  it("reads a value with its unit", () => {
    expect(["5 s", "250 ms", "24 h", "10 min", "32"].map(valueOf)).toEqual([
      5_000, 250, 86_400_000, 600_000, 32,
    ]);
    expect(() => valueOf("soon")).toThrow(/no value/);
  });

  it("shows every constant with its value, and nothing else", () => {
    expect(Object.fromEntries(onPage)).toEqual(Object.fromEntries(inCode));
  });
});
