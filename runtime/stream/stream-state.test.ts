import { describe, expect, it } from "vitest";
import { streamRetryMs } from "../base/constants.ts";
import type { StreamState } from "../base/streams.ts";
import { nextStreamPhase, type StreamEvent, type StreamPhase, streamPhaseAtFirst } from "./stream-state.ts";

const open: StreamState = { kind: "open", since: 5 };
const connecting: StreamState = { kind: "connecting", since: 5 };
const cause = new Error("cut");

const phases = {
  due: { kind: "due", at: 900, failures: 3, spare: false, shown: open },
  connecting: { kind: "connecting", failures: 2, spare: true, shown: connecting },
  "connecting unseen": { kind: "connecting", failures: 0, spare: false, shown: open },
  "open, fresh": { kind: "open", failures: 2, spare: true, since: 99_990, gave: false, shown: open },
  "open, fresh, no spare": {
    kind: "open",
    failures: 2,
    spare: false,
    since: 99_990,
    gave: true,
    shown: open,
  },
  "open, served": { kind: "open", failures: 2, spare: false, since: 99_900, gave: true, shown: open },
  "open, old": {
    kind: "open",
    failures: 2,
    spare: false,
    since: 100_000 - streamRetryMs,
    gave: false,
    shown: open,
  },
  over: { kind: "over", shown: { kind: "ended", cause: undefined } },
} as const satisfies Record<string, StreamPhase>;

const events = {
  due: { kind: "due" },
  wake: { kind: "wake" },
  ready: { kind: "ready" },
  gave: { kind: "gave" },
  cut: { kind: "broken", by: "cut", cause, hintMs: 0 },
  silence: { kind: "broken", by: "silence", cause, hintMs: 0 },
  "not now": { kind: "broken", by: "answer", cause, hintMs: 7_000 },
  again: { kind: "again", afterMs: 0 },
  "again later": { kind: "again", afterMs: 400 },
  anew: { kind: "anew" },
  over: { kind: "over", cause: undefined },
} as const satisfies Record<string, StreamEvent>;

/** What is looked at: the phase, when it is due, what failed, whether there is a spare, what is shown. */
function told(phase: StreamPhase): string {
  if (phase.kind === "over") return `over ${phase.shown.kind}`;
  const at = phase.kind === "due" ? ` in ${phase.at - 100_000}` : "";
  return `${phase.kind}${at}, ${phase.failures}${phase.spare ? " spare" : ""}, ${phase.shown.kind}`;
}

/** Unlisted: the phase stays the same. */
const table: Readonly<Record<keyof typeof phases, Partial<Record<keyof typeof events, string>>>> = {
  due: {
    due: "connecting, 3, open",
    wake: "due in 0, 0, open",
    over: "over ended",
  },
  connecting: {
    ready: "open, 2 spare, open",
    cut: "due in 3000, 3 spare, down",
    silence: "due in 3000, 3 spare, down",
    "not now": "due in 7000, 3 spare, down",
    again: "due in 3000, 3 spare, connecting",
    "again later": "due in 400, 3 spare, connecting",
    anew: "due in 0, 2 spare, connecting",
    over: "over ended",
  },
  "connecting unseen": {
    ready: "open, 0, open",
    cut: "due in 1000, 1, down",
    silence: "due in 1000, 1, down",
    "not now": "due in 7000, 1, down",
    again: "due in 1000, 1, open",
    "again later": "due in 400, 1, open",
    anew: "due in 0, 0, open",
    over: "over ended",
  },
  "open, fresh": {
    gave: "open, 2 spare, open",
    cut: "due in 0, 2, open",
    silence: "due in 0, 2, down",
    "not now": "due in 7000, 3 spare, down",
    again: "due in 0, 2, open",
    "again later": "due in 400, 2, open",
    over: "over ended",
  },
  "open, fresh, no spare": {
    cut: "due in 3000, 3, down",
    silence: "due in 3000, 3, down",
    "not now": "due in 7000, 3, down",
    again: "due in 3000, 3, open",
    "again later": "due in 400, 3, open",
    over: "over ended",
  },
  "open, served": {
    cut: "due in 0, 0, open",
    silence: "due in 0, 0, down",
    "not now": "due in 7000, 1 spare, down",
    again: "due in 0, 0, open",
    "again later": "due in 400, 0, open",
    over: "over ended",
  },
  "open, old": {
    gave: "open, 2, open",
    cut: "due in 0, 0, open",
    silence: "due in 0, 0, down",
    "not now": "due in 7000, 1 spare, down",
    again: "due in 0, 0, open",
    "again later": "due in 400, 0, open",
    over: "over ended",
  },
  over: {},
};

describe.each(Object.keys(phases) as (keyof typeof phases)[])("%s", (name) => {
  it.each(Object.keys(events) as (keyof typeof events)[])("%s", (event) => {
    const now = { monotonicMs: 100_000, wallMs: 1_000_000 };
    const next = nextStreamPhase(phases[name], events[event], now, (failures) => failures * 1_000);
    expect(told(next)).toBe(table[name][event] ?? told(phases[name]));
  });
});

it("begins with a connect that is due now, and shows that", () => {
  const first = streamPhaseAtFirst({ monotonicMs: 100_000, wallMs: 77 });
  expect(told(first)).toBe("due in 0, 0 spare, connecting");
  expect(first.shown).toEqual({ kind: "connecting", since: 77 });
});

it("shows since when it is down, over several faults, and the newest cause", () => {
  const at = (monotonicMs: number): { readonly monotonicMs: number; readonly wallMs: number } => ({
    monotonicMs,
    wallMs: monotonicMs + 1_000_000,
  });
  const wait = (failures: number): number => failures * 1_000;
  let phase: StreamPhase = nextStreamPhase(phases["connecting unseen"], events.cut, at(0), wait);
  phase = nextStreamPhase(phase, events.due, at(1_000), wait);
  expect(phase.shown).toEqual({ kind: "down", since: 1_000_000, cause, nextTryAt: undefined });
  const later = new Error("refused");
  phase = nextStreamPhase(phase, { kind: "broken", by: "cut", cause: later, hintMs: 0 }, at(1_500), wait);
  expect(phase.shown).toEqual({ kind: "down", since: 1_000_000, cause: later, nextTryAt: 1_003_500 });
});
