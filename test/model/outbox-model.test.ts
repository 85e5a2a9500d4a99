import { describe, expect, it } from "vitest";
import { type OutboxRules, outboxRules, type OutboxViolations, searchOutbox } from "./outbox-model.ts";

const none: OutboxViolations = { ranTwice: 0, ranUntrue: 0, notRunUntrue: 0 };
const nothing = { loss: false, lockLoss: false };
const loss = { loss: true, lockLoss: false };
/** Real time that nothing here should ever need, however busy the machine is. */
const timeout = 120_000;

describe("every order of two processes that share an outbox, one merged command and its giving up", {
  timeout,
}, () => {
  it.each([
    ["a server that keeps", nothing, 10_000],
    ["a server that forgets", loss, 30_000],
  ])("with all rules and %s keeps every promise", (_, faults, least) => {
    const { stateCount, violations } = searchOutbox(outboxRules, faults);
    expect(violations).toEqual(none);
    expect(stateCount).toBeGreaterThan(least); // the search did search
  });

  it.each<[string, Partial<OutboxRules>, typeof loss, (keyof OutboxViolations)[]]>([
    ["without a look before a first sending", { looksFirst: false }, loss, ["ranTwice", "ranUntrue"]],
    ["with a first sending that is not written down", { writesFirst: false }, nothing, ["notRunUntrue"]],
    ["without a look elsewhere at the end", { asksElsewhere: false }, nothing, ["notRunUntrue"]],
    ["with a removal that has not the lock", { removesUnderLock: false }, nothing, ["notRunUntrue"]],
  ])("%s breaks promises", (_, changes, faults, broken) => {
    const { violations } = searchOutbox({ ...outboxRules, ...changes }, faults);
    const found = Object.entries(violations).flatMap(([name, count]) => (count > 0 ? [name] : []));
    expect(found).toEqual(broken);
  });

  it("without faults runs nothing twice, whoever has the lock", () => {
    const { violations } = searchOutbox(outboxRules, { loss: false, lockLoss: true });
    // Who loses the lock in the moment in which it takes its entry out cannot say the truth of it.
    expect(violations).toEqual({ ...none, notRunUntrue: expect.any(Number) as number });
  });
});
