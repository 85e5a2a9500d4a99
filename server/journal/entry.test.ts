import { describe, expect, it } from "vitest";
import { callKeepMs, firstSentAheadMsMost } from "../../runtime/base/constants.ts";
import type { Entry } from "../store/store.ts";
import { firstSentMsOf, type KeyState, meet, type TryFacts, type Verdict } from "./entry.ts";
import type { Compared } from "./fingerprint.ts";

const nowMs = 1_000_000_000_000;
const fenceMs = nowMs - 1_000_000;

function asked(
  changes: { method?: string; schema?: number; print?: number; version?: number } = {},
): Compared {
  return {
    method: changes.method ?? "a.B.C",
    fingerprint: {
      version: changes.version ?? 1,
      schema: Uint8Array.of(changes.schema ?? 1),
      print: Uint8Array.of(changes.print ?? 1),
    },
  };
}

/** How a try stands to what the journal has. */
const tries = {
  fresh: { request: asked(), seq: 11, firstSentMs: nowMs },
  plain: { request: asked(), seq: undefined, firstSentMs: undefined },
  belowWatermark: { request: asked(), seq: 10, firstSentMs: nowMs },
  beforeFence: { request: asked(), seq: 11, firstSentMs: fenceMs - 1 },
  atFence: { request: asked(), seq: 11, firstSentMs: fenceMs },
  expired: { request: asked(), seq: 11, firstSentMs: nowMs - callKeepMs },
  ahead: { request: asked(), seq: 11, firstSentMs: nowMs + firstSentAheadMsMost + 1 },
  littleAhead: { request: asked(), seq: 11, firstSentMs: nowMs + firstSentAheadMsMost },
  otherRequest: { request: asked({ print: 2 }), seq: 11, firstSentMs: nowMs },
  otherMethod: { request: asked({ method: "a.B.D" }), seq: 11, firstSentMs: nowMs },
  otherSchema: { request: asked({ schema: 2, print: 2 }), seq: 11, firstSentMs: nowMs },
  otherVersion: { request: asked({ version: 2, print: 2 }), seq: 11, firstSentMs: nowMs },
  otherSchemaAndMethod: { request: asked({ schema: 2, method: "a.B.D" }), seq: 11, firstSentMs: nowMs },
} satisfies Record<string, TryFacts>;

const entry: Entry = {
  ...asked(),
  space: "by ada",
  id: "id",
  quota: "by ada",
  seat: undefined,
  firstSentMs: undefined,
  outcome: { kind: "marker" },
  endedAtMs: nowMs,
};
const standing = { watermark: 10, forgottenBeforeMs: fenceMs, nowMs, keepMs: callKeepMs };

const states = {
  absent: { kind: "absent", ...standing, fullForMs: undefined },
  full: { kind: "absent", ...standing, fullForMs: 5 },
  running: { kind: "running", request: asked() },
  kept: { kind: "kept", entry },
  started: { kind: "kept", entry: { ...entry, outcome: { kind: "started" } } },
} satisfies Record<string, KeyState>;

type Expected =
  | Exclude<Verdict["kind"], "refuse">
  | "join skipped"
  | "repeat skipped"
  | (Verdict & { kind: "refuse" })["reason"];

/** Total: a new state or a new kind of try does not compile until its row is written. */
const table: Record<keyof typeof tries, Record<keyof typeof states, Expected>> = {
  fresh: { absent: "run", full: "JOURNAL_FULL", running: "join", kept: "repeat", started: "OUTCOME_UNKNOWN" },
  plain: { absent: "run", full: "JOURNAL_FULL", running: "join", kept: "repeat", started: "OUTCOME_UNKNOWN" },
  belowWatermark: {
    absent: "CALL_STALE",
    full: "CALL_STALE",
    running: "join",
    kept: "repeat",
    started: "OUTCOME_UNKNOWN",
  },
  beforeFence: {
    absent: "CALL_FORGOTTEN",
    full: "CALL_FORGOTTEN",
    running: "join",
    kept: "repeat",
    started: "OUTCOME_UNKNOWN",
  },
  atFence: {
    absent: "run",
    full: "JOURNAL_FULL",
    running: "join",
    kept: "repeat",
    started: "OUTCOME_UNKNOWN",
  },
  expired: {
    absent: "CALL_FORGOTTEN",
    full: "CALL_FORGOTTEN",
    running: "join",
    kept: "repeat",
    started: "OUTCOME_UNKNOWN",
  },
  ahead: {
    absent: "CALL_FORGOTTEN",
    full: "CALL_FORGOTTEN",
    running: "join",
    kept: "repeat",
    started: "OUTCOME_UNKNOWN",
  },
  littleAhead: {
    absent: "run",
    full: "JOURNAL_FULL",
    running: "join",
    kept: "repeat",
    started: "OUTCOME_UNKNOWN",
  },
  otherRequest: {
    absent: "run",
    full: "JOURNAL_FULL",
    running: "CALL_ID_REUSED",
    kept: "CALL_ID_REUSED",
    started: "CALL_ID_REUSED",
  },
  otherMethod: {
    absent: "run",
    full: "JOURNAL_FULL",
    running: "CALL_ID_REUSED",
    kept: "CALL_ID_REUSED",
    started: "CALL_ID_REUSED",
  },
  otherSchema: {
    absent: "run",
    full: "JOURNAL_FULL",
    running: "join skipped",
    kept: "repeat skipped",
    started: "OUTCOME_UNKNOWN",
  },
  otherVersion: {
    absent: "run",
    full: "JOURNAL_FULL",
    running: "join skipped",
    kept: "repeat skipped",
    started: "OUTCOME_UNKNOWN",
  },
  otherSchemaAndMethod: {
    absent: "run",
    full: "JOURNAL_FULL",
    running: "CALL_ID_REUSED",
    kept: "CALL_ID_REUSED",
    started: "CALL_ID_REUSED",
  },
};

function short(verdict: Verdict): string {
  if (verdict.kind === "refuse") return verdict.reason;
  return "skipped" in verdict && verdict.skipped ? `${verdict.kind} skipped` : verdict.kind;
}

describe("what a try meets", () => {
  for (const [name, row] of Object.entries(table)) {
    for (const [state, expected] of Object.entries(row)) {
      it(`${name} × ${state}: ${expected}`, () => {
        const verdict = meet(tries[name as keyof typeof tries], states[state as keyof typeof states]);
        expect(short(verdict)).toBe(expected);
      });
    }
  }

  it("says which of three ways a call was forgotten", () => {
    const texts = (["ahead", "expired", "beforeFence"] as const).map((name) => {
      const verdict = meet(tries[name], states.absent);
      return "what" in verdict ? verdict.what : "";
    });
    expect(texts[0]).toContain("first sent 300 s from now");
    expect(texts[1]).toContain("longer ago than calls are kept");
    expect(texts[2]).toContain("has forgotten");
  });

  it("asks when a call was first sent that says only how old it is, unless it knows the call or its age is enough", () => {
    const aged = true;
    expect(meet({ ...tries.fresh, aged }, states.absent)).toEqual({ kind: "ask" });
    expect(meet({ ...tries.fresh, aged }, states.full)).toEqual({ kind: "ask" });
    expect(meet({ ...tries.fresh, aged }, states.kept)).toMatchObject({ kind: "repeat" });
    expect(meet({ ...tries.fresh, aged }, states.running)).toMatchObject({ kind: "join" });
    expect(meet({ ...tries.beforeFence, aged }, states.absent)).toMatchObject({ reason: "CALL_FORGOTTEN" });
  });

  it("runs a call again that began and whose end nobody knows, where its handler may", () => {
    expect(meet({ ...tries.plain, rerun: true }, states.started)).toEqual({ kind: "rerun", skipped: false });
    expect(meet({ ...tries.plain, rerun: true }, states.kept)).toMatchObject({ kind: "repeat" });
    expect(meet({ ...tries.plain, rerun: true }, states.running)).toMatchObject({ kind: "join" });
  });
});

it("takes a server time as it comes, and counts an age from the arrival", () => {
  expect(firstSentMsOf({ serverMs: 5 }, 100)).toBe(5);
  expect(firstSentMsOf({ agoMs: 5 }, 100)).toBe(95);
});
