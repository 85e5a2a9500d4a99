import { describe, expect, it } from "vitest";
import { judge, readNotes } from "./verdict.ts";

const found = (
  rows: Record<string, number[]>,
  outside: Record<string, number> = {},
  calls: Record<string, number> = {},
) => ({
  rows: new Map(Object.entries(rows)),
  calls: new Map(Object.entries(calls)),
  outside: new Map(Object.entries(outside)),
});

describe("the crash test's verdict", () => {
  it.each([
    ["a command that succeeded and is gone", "put:a ran 1\n", found({})],
    ["a command that is there twice", "put:a ran 1\n", found({ "put:a": [1, 2] })],
    ["a reply that names another row", "put:a ran 1\n", found({ "put:a": [2] })],
    ["a refused command that is there", "put:a refused no\n", found({ "put:a": [1] })],
    ["a command that never left its client and is there", "put:a not-run no\n", found({ "put:a": [1] })],
    ["a command that never was to be there", "began refuse:a\n", found({ "refuse:a": [1] })],
    ["a payment made twice, though its client never heard of it", "began pay:a\n", found({}, { "pay:a": 2 })],
    ["a command of nobody", "", found({ "put:a": [1] })],
    ["an engine's command that is gone", "write:a ran 1\n", found({})],
    ["an engine's command that ran twice", "began write:a\n", found({ "write:a": [1, 2] })],
    ["an engine's refused command that is there", "began deny:a\n", found({ "deny:a": [1] })],
    ["a command that waits, and was never sent", "late:a in-outbox c1 later\n", found({})],
    ["a stored call that was never sent", "began early:a\nstored c1\n", found({})],
    ["a stored call that ran twice", "stored c1\nearly:a ran 1\n", found({ "early:a": [1] }, {}, { c1: 2 })],
    ["a call that was reported to have run and is not there", "settled c1 ran\n", found({})],
    [
      "a call that was reported not to have run and is there",
      "began early:a\nsettled c1 not-run\n",
      found({ "early:a": [1] }, {}, { c1: 1 }),
    ],
    ["an answer that is no outcome", "put:a none oh\n", found({})],
  ])("finds %s", (_, notes, world) => {
    expect(judge(readNotes([notes]), world).faults).toHaveLength(1);
  });

  it.each([
    ["began put:a\nput:a ran 7\n", found({ "put:a": [7] })],
    ["began put:a\nput:a ra", found({})],
    ["began put:a\n", found({ "put:a": [1] })],
    ["pay:a unknown who knows\n", found({}, { "pay:a": 1 })],
    ["pay:a unknown who knows\n", found({})],
    ["late:a in-outbox c1 later\nstored c1\n", found({ "late:a": [1] }, {}, { c1: 1 })],
    ["late:a in-outbox c1 later\nstored c1\nsettled c1 refused\n", found({})],
    ["began early:a\nstored c1\nearly:a not-run c1 no\n", found({})],
    ["write:a ran 3\n", found({ "write:a": [3] })],
  ])("accepts %j", (notes, world) => {
    expect(judge(readNotes([notes]), world).faults).toEqual([]);
  });
});
