import { expect, it } from "vitest";
import { type GateEvent, type GateState, nextGateState } from "./gate-state.ts";

const waits = { waitMs: (failures: number) => failures * 100, promptEveryMs: 1_000 };
const now = 10_000;

const states = {
  open: { kind: "open", failures: 0 },
  trial: { kind: "open", failures: 3 },
  waiting: { kind: "waiting", failures: 3, probeAt: 40_000, lastAt: 9_500 },
  probing: { kind: "probing", failures: 3, lastAt: 9_900 },
} as const satisfies Record<string, GateState>;

const open: GateState = { kind: "open", failures: 0 };
const table: Record<keyof typeof states, Record<GateEvent, GateState | "same">> = {
  open: {
    fault: { kind: "waiting", failures: 1, probeAt: 10_100, lastAt: now },
    answered: open,
    prompt: "same",
    joined: "same",
    due: "same",
    proof: "same",
    maybe: "same",
    nothing: "same",
  },
  trial: {
    fault: { kind: "waiting", failures: 4, probeAt: 10_400, lastAt: now },
    answered: open,
    prompt: "same",
    joined: "same",
    due: "same",
    proof: "same",
    maybe: "same",
    nothing: "same",
  },
  waiting: {
    fault: "same",
    answered: open,
    // Not before a second after the last one.
    prompt: { kind: "waiting", failures: 3, probeAt: 10_500, lastAt: 9_500 },
    joined: { kind: "waiting", failures: 3, probeAt: 10_000, lastAt: 9_500 },
    due: { kind: "probing", failures: 3, lastAt: now },
    proof: "same",
    maybe: "same",
    nothing: "same",
  },
  probing: {
    fault: "same",
    answered: open,
    prompt: "same",
    joined: "same",
    due: "same",
    proof: open,
    maybe: { kind: "open", failures: 3 },
    nothing: { kind: "waiting", failures: 4, probeAt: 10_400, lastAt: 9_900 },
  },
};

for (const [name, from] of Object.entries(states)) {
  const row = table[name as keyof typeof states];
  for (const event of Object.keys(row) as GateEvent[]) {
    it(`${name}, ${event}`, () => {
      const expected = row[event];
      const next = nextGateState(from, event, now, waits);
      if (expected === "same") expect(next).toBe(from);
      else expect(next).toEqual(expected);
    });
  }
}

it("a sign never puts a probe off", () => {
  const soon: GateState = { kind: "waiting", failures: 1, probeAt: now + 10, lastAt: now };
  expect(nextGateState(soon, "prompt", now, waits)).toEqual(soon);
  expect(nextGateState(soon, "joined", now, waits)).toEqual(soon);
});
