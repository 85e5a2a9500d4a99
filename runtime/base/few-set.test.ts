import { describe, expect, it } from "vitest";
import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { FewSet } from "./few-set.ts";

const things = [{ n: 0 }, { n: 1 }, { n: 2 }];

describe("a set of few", () => {
  it("is what a Set is, in the same order, whatever is done to it", () => {
    const step = record({ does: constantFrom("add", "delete", "clear"), thing: integer({ min: 0, max: 2 }) });
    const steps = array(step, { maxLength: 30 });
    assert(
      property(steps, (its) => {
        const few = new FewSet<object>();
        const set = new Set<object>();
        for (const { does, thing } of its) {
          const element = things[thing] ?? {};
          if (does === "add") {
            few.add(element);
            set.add(element);
          } else if (does === "delete") expect(few.delete(element)).toBe(set.delete(element));
          else {
            few.clear();
            set.clear();
          }
          expect(few.all()).toEqual([...set]);
          expect(few.size).toBe(set.size);
          for (const one of things) expect(few.has(one)).toBe(set.has(one));
        }
      }),
    );
  });

  it("lets those that are told add and delete meanwhile", () => {
    const few = new FewSet<object>();
    few.add({});
    for (const one of few.all()) {
      few.delete(one);
      few.add({});
    }
    expect(few.size).toBe(1);
  });
});
