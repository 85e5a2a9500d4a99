import { expect, test } from "vitest";
import { fillMembers, fillsOf } from "./fill-sites.ts";

test("members are set in their order, those that have a value, by however many types", () => {
  for (let type = 0; type < 100; type++) {
    const names = Array.from({ length: 1 + (type % 9) }, (_, i) => `member${type}_${i}`);
    const values: unknown[] = names.map((_, i) => ((i + type) % 5 === 0 ? undefined : i));
    const message = {};
    for (const [i, fill] of fillsOf(names).entries()) fill(message, values, fillMembers * i);
    const set = names.map((name, i) => [name, values[i]]).filter(([, value]) => value !== undefined);
    expect(Object.entries(message)).toEqual(set);
  }
});
