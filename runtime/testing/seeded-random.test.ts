import { describe, expect, it } from "vitest";
import { seededRandom } from "./seeded-random.ts";

describe("seededRandom", () => {
  it("gives the same numbers for the same seed, and others for another", () => {
    const draw = (seed: number | string): number[] => {
      const random = seededRandom(seed);
      return Array.from({ length: 20 }, () => random.int(1_000_000));
    };
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  it("draws whole numbers evenly", () => {
    const random = seededRandom("even");
    const counts = Array.from({ length: 10 }, () => 0);
    for (let draw = 0; draw < 100_000; draw++) {
      const at = random.int(10);
      counts[at] = (counts[at] ?? 0) + 1;
    }
    // 10,000 expected each, standard deviation 95: five of them.
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(475);
  });

  it("gives bytes of the asked count, every value among them", () => {
    const bytes = seededRandom(1).bytes(10_001);
    expect(bytes.length).toBe(10_001);
    expect(new Set(bytes).size).toBe(256);
  });

  it("forks a source that neither side's use moves", () => {
    const used = seededRandom(1);
    used.bytes(100);
    expect(used.fork("a").int(2 ** 32)).toBe(
      seededRandom(1)
        .fork("a")
        .int(2 ** 32),
    );
    expect(
      seededRandom(1)
        .fork("a")
        .int(2 ** 32),
    ).not.toBe(
      seededRandom(1)
        .fork("b")
        .int(2 ** 32),
    );
  });

  it("picks and flips by the given chance", () => {
    const random = seededRandom(3);
    expect(["a", "b"]).toContain(random.pick(["a", "b"]));
    expect(random.chance(0)).toBe(false);
    expect(random.chance(1)).toBe(true);
    expect(() => random.pick([])).toThrow(RangeError);
    expect(() => random.int(0)).toThrow(RangeError);
  });
});
