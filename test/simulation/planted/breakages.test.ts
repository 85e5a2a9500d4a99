import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { expect, it } from "vitest";
import { breakages } from "./breakages.ts";

it.each(breakages)(
  "$name: its text stands once in $file, and what takes its place is a program",
  (breakage) => {
    const { file, from, to } = breakage;
    const parts = readFileSync(fileURLToPath(new URL(`../../../${file}`, import.meta.url)), "utf8").split(
      from,
    );
    expect(parts).toHaveLength(2);
    expect(() => transformSync(parts.join(to), { loader: "ts" })).not.toThrow();
  },
);

it("no two have one name", () => {
  expect(new Set(breakages.map(({ name }) => name)).size).toBe(breakages.length);
});
