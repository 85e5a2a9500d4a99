import { describe, expect, it } from "vitest";
import { nextSessionState, type SessionEvent, type SessionState, undoneWaitMs } from "./session-state.ts";

const goneAfterMs = 180_000;
const nowMs = 1_000_000;
const round: SessionEvent = { kind: "round", nowMs, goneAfterMs };
const sign: SessionEvent = { kind: "sign", nowMs };
const undone: SessionEvent = { kind: "undone", nowMs };

type Row = readonly [silentMs: number, event: SessionEvent, to: SessionState["kind"]];
const table: Record<SessionState["kind"], readonly Row[]> = {
  present: [
    [170_000, sign, "present"],
    [60_000, round, "present"],
    [60_001, round, "quiet"],
    [179_999, round, "quiet"],
    [180_000, round, "gone"],
    [10_000, undone, "present"],
  ],
  quiet: [
    [170_000, sign, "present"],
    [500_000, sign, "present"],
    [179_999, round, "quiet"],
    [180_000, round, "gone"],
    [100_000, undone, "quiet"],
  ],
  gone: [
    [200_000, sign, "gone"],
    [200_000, round, "gone"],
    [200_000, undone, "quiet"],
  ],
};

describe("a session", () => {
  for (const kind of ["present", "quiet", "gone"] as const) {
    it.each(table[kind])(`${kind}, %i ms after its last sign: %o makes it %s`, (silentMs, event, to) => {
      expect(nextSessionState({ kind, lastSeenMs: nowMs - silentMs }, event).kind).toBe(to);
    });
  }

  it("counts from a sign, and from nothing else", () => {
    expect(nextSessionState({ kind: "quiet", lastSeenMs: 1 }, sign)).toEqual({
      kind: "present",
      lastSeenMs: nowMs,
    });
    const quiet = nextSessionState({ kind: "present", lastSeenMs: nowMs - 100_000 }, round);
    expect(quiet).toEqual({ kind: "quiet", lastSeenMs: nowMs - 100_000 });
  });

  it("whose end failed is not gone again before a while has passed, and then it is", () => {
    const state = nextSessionState({ kind: "gone", lastSeenMs: 0 }, undone);
    const look = (atMs: number) => nextSessionState(state, { kind: "round", nowMs: atMs, goneAfterMs }).kind;
    expect(look(nowMs + undoneWaitMs - 1)).toBe("quiet");
    expect(look(nowMs + undoneWaitMs)).toBe("gone");
    expect(nextSessionState(state, sign).kind).toBe("present");
  });
});
