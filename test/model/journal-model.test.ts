import { describe, expect, it } from "vitest";
import { type Rules, search, shippedRules, type Violations } from "./journal-model.ts";

const none: Violations = { ranTwice: 0, ranUntrue: 0, refusedUntrue: 0 };

describe("every order of three tries, one double, lost replies, an early drop and a lost store", () => {
  it.each<[string, Partial<Rules>]>([
    ["with all rules", {}],
    ["without lanes, which are for size and not for safety", { lanes: false }],
  ])("%s keeps every promise", (_, changes) => {
    const { stateCount, violations } = search({ ...shippedRules, ...changes });
    expect(violations).toEqual(none);
    expect(stateCount).toBeGreaterThan(10_000); // the search did search
  });

  it.each<[string, Partial<Rules>, (keyof Violations)[]]>([
    ["without the fence", { fence: false }, ["ranTwice", "ranUntrue", "refusedUntrue"]],
    ["with refusals dropped", { keepRefusals: false }, ["refusedUntrue"]],
    [
      "with neither",
      { fence: false, keepRefusals: false, lanes: false },
      ["ranTwice", "ranUntrue", "refusedUntrue"],
    ],
    [
      "with an early drop that raises no fence",
      { raiseOnDrop: false },
      ["ranTwice", "ranUntrue", "refusedUntrue"],
    ],
    [
      "with an empty store that has no fence",
      { raiseOnLoss: false },
      ["ranTwice", "ranUntrue", "refusedUntrue"],
    ],
    [
      "with a client that stamps a forgotten call anew",
      { stampsAnew: true },
      ["ranTwice", "ranUntrue", "refusedUntrue"],
    ],
    ["with a proxy's answer that settles", { unmarkedSettles: true }, ["refusedUntrue"]],
  ])("%s breaks promises", (_, changes, broken) => {
    const { violations } = search({ ...shippedRules, ...changes });
    const found = Object.entries(violations).flatMap(([name, count]) => (count > 0 ? [name] : []));
    expect(found).toEqual(broken);
  });
});
