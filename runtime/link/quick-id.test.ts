import { expect, it } from "vitest";
import type { Random } from "../base/random.ts";
import { systemRandom } from "../base/random.ts";
import { newId } from "../call/call-id.ts";
import { quickId } from "./quick-id.ts";

it("is what newId makes of the same bytes", () => {
  const counts: number[] = [];
  for (let made = 0; made < 300; made += 1) {
    const bytes = systemRandom.bytes(16);
    const random: Random = {
      bytes(count) {
        counts.push(count);
        return bytes;
      },
      fraction: () => 0,
    };
    expect(quickId(random)).toBe(newId(random));
  }
  expect(new Set(counts)).toEqual(new Set([16]));
});
