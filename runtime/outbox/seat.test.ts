import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { HoldfastError, reasonError } from "../base/errors.ts";
import { type Ending, failure } from "./ending.ts";
import type { Record } from "./record.ts";
import { Seat } from "./seat.ts";

/** A call that has sent nothing, and whose entry another process has settled. */
function settled(ending: Ending) {
  const left: { readonly ending: Ending; readonly told: boolean }[] = [];
  const record = { stamp: { callId: "id" }, entry: { name: "entry" } } as unknown as Record;
  const seat = new Seat(record, false, {
    prompt: () => undefined,
    leave: async (_, its, told) => void left.push({ ending: its, told }),
    over: () => undefined,
    alone: () => expect.unreachable(),
    waits: (error) => error,
  });
  seat.settledElsewhere(ending);
  return { seat, left };
}

describe("a call that ends in the moment in which another process' outcome comes", () => {
  const budgetEnded = reasonError("BUDGET_ENDED", "no server", { outcome: "not-run" });

  it("ends with that outcome, and not with its own, that it has not run", async () => {
    const unknown = new HoldfastError("nobody knows", { code: Code.Unknown, outcome: "unknown" });
    const { seat, left } = settled(failure(unknown));
    expect(await seat.failed(budgetEnded)).toBe(unknown);
    expect(left).toEqual([{ ending: failure(unknown), told: false }]);
  });

  it("says where the reply is that it can give to nobody any more", async () => {
    const reply: Ending = { kind: "reply", reply: new Uint8Array() };
    const { seat, left } = settled(reply);
    const error = (await seat.failed(budgetEnded)) as HoldfastError;
    expect(error).toMatchObject({ reason: "BUDGET_ENDED", outcome: "unknown" });
    expect(error.rawMessage).toContain("link.outbox.settled");
    expect(left).toEqual([{ ending: reply, told: true }]);
  });
});
