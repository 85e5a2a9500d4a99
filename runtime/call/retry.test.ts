import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { ConnectionFault } from "../base/connection-fault.ts";
import type { Mark, Outcome } from "../base/reasons.ts";
import type { TryEnd } from "./outcome.ts";
import { type CallFacts, type Next, nextStep } from "./retry.ts";

type End = Exclude<TryEnd, { kind: "reply" }>;

const error = new ConnectError("no", Code.Unavailable);
const sent = new ConnectionFault("cut", "cut", { sent: true });
const unsent = new ConnectionFault("connect-failed", "not there", { sent: false });
const busy = {
  kind: "server-fault",
  error,
  hintMs: undefined,
  never: false,
  throttled: false,
  mayHaveRun: true,
} as const;

const ends = {
  sent: { kind: "connection-fault", fault: sent },
  unsent: { kind: "connection-fault", fault: unsent },
  busy,
  "busy, not begun": { ...busy, mayHaveRun: false },
  "busy, hint": { ...busy, hintMs: 1_000, throttled: true },
  "busy, hint beyond": { ...busy, hintMs: 60_000 },
  "busy, never": { ...busy, never: true },
  unauthenticated: { kind: "unauthenticated", error, mark: "none" },
  refusal: { kind: "refusal", error, mark: undefined },
  "not holdfast": { kind: "not-holdfast", error },
  "program fault before": { kind: "program-fault", error, sent: false },
  "program fault after": { kind: "program-fault", error, sent: true },
} as const satisfies Record<string, End>;

const kinds = {
  once: { delivery: "repeatable", once: true },
  repeatable: { delivery: "repeatable", once: false },
  atMostOnce: { delivery: "atMostOnce", once: false },
} as const;

const reconnect: Next = { kind: "reconnect" };
const wait: Next = { kind: "wait", hintMs: 0, throttled: false };
const hinted: Next = { kind: "wait", hintMs: 1_000, throttled: true };
const over = (outcome: Outcome, reason?: Extract<Next, { kind: "end" }>["reason"]): Next => ({
  kind: "end",
  outcome,
  reason,
});

/** For a call of which no earlier try may have run. */
const table: Record<keyof typeof ends, Record<keyof typeof kinds, Next>> = {
  sent: { once: reconnect, repeatable: reconnect, atMostOnce: over("unknown", "NO_REPLY") },
  unsent: { once: reconnect, repeatable: reconnect, atMostOnce: reconnect },
  busy: { once: wait, repeatable: wait, atMostOnce: over("unknown") },
  "busy, not begun": { once: wait, repeatable: wait, atMostOnce: wait },
  "busy, hint": { once: hinted, repeatable: hinted, atMostOnce: over("unknown") },
  "busy, hint beyond": {
    once: over("not-run", "RETRY_LATER"),
    repeatable: over("not-run", "RETRY_LATER"),
    atMostOnce: over("unknown"),
  },
  "busy, never": { once: over("not-run"), repeatable: over("not-run"), atMostOnce: over("not-run") },
  unauthenticated: {
    once: { kind: "refresh" },
    repeatable: { kind: "refresh" },
    atMostOnce: { kind: "refresh" },
  },
  refusal: { once: over("unknown"), repeatable: over("refused"), atMostOnce: over("refused") },
  "not holdfast": {
    once: over("unknown", "NOT_HOLDFAST"),
    repeatable: over("unknown", "NOT_HOLDFAST"),
    atMostOnce: over("unknown", "NOT_HOLDFAST"),
  },
  "program fault before": {
    once: over("not-run", "PROGRAM_FAILED"),
    repeatable: over("not-run", "PROGRAM_FAILED"),
    atMostOnce: over("not-run", "PROGRAM_FAILED"),
  },
  "program fault after": {
    once: over("unknown", "PROGRAM_FAILED"),
    repeatable: over("unknown", "PROGRAM_FAILED"),
    atMostOnce: over("unknown", "PROGRAM_FAILED"),
  },
};

const facts: Omit<CallFacts, "delivery" | "once"> = {
  budgetLeftMs: 30_000,
  refreshed: false,
  canRefresh: true,
  mayHaveRun: false,
  noServer: false,
};

for (const [name, end] of Object.entries(ends)) {
  for (const [kind, its] of Object.entries(kinds)) {
    it(`${name}, ${kind}`, () => {
      const expected = table[name as keyof typeof ends][kind as keyof typeof kinds];
      expect(nextStep(end, { ...facts, ...its })).toEqual(expected);
    });
  }
}

describe("a refusal of a once-command", () => {
  const marks: Record<Mark, readonly [Outcome, Outcome]> = {
    ran: ["unknown", "unknown"],
    refused: ["refused", "refused"],
    unknown: ["unknown", "unknown"],
    none: ["not-run", "unknown"],
    later: ["unknown", "unknown"],
  };
  it.each(Object.entries(marks))("with the mark %s", (mark, [first, afterAmbiguous]) => {
    const end: End = { kind: "refusal", error, mark: mark as Mark };
    expect(nextStep(end, { ...facts, ...kinds.once })).toEqual(over(first));
    expect(nextStep(end, { ...facts, ...kinds.once, mayHaveRun: true })).toEqual(over(afterAmbiguous));
  });
});

it("no fresh token is asked for twice, nor where there is nobody to ask", () => {
  const end = ends.unauthenticated;
  expect(nextStep(end, { ...facts, ...kinds.once, refreshed: true })).toEqual(over("not-run"));
  expect(nextStep(end, { ...facts, ...kinds.once, canRefresh: false })).toEqual(over("not-run"));
  expect(nextStep(end, { ...facts, ...kinds.once, refreshed: true, mayHaveRun: true })).toEqual(
    over("unknown"),
  );
});

it("a server of this machine that nobody has started ends any call", () => {
  for (const its of Object.values(kinds)) {
    expect(nextStep(ends.unsent, { ...facts, ...its, noServer: true })).toEqual(over("not-run", "NO_SERVER"));
  }
});
