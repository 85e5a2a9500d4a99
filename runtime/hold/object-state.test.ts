import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../base/errors.ts";
import { nextObjectState, type ObjectEvent, type ObjectState } from "./object-state.ts";

const cause = new HoldfastError("the disk is gone", { code: Code.Unavailable });
const failed = { kind: "failed", cause, nowMs: 1_000, windowMs: (n: number) => n * 100 } as const;

const states: { readonly [Kind in ObjectState["kind"]]: Extract<ObjectState, { kind: Kind }> } = {
  waiting: { kind: "waiting" },
  activating: { kind: "activating", failures: 2 },
  live: { kind: "live", failures: 2, sinceMs: 900 },
  failed: { kind: "failed", failures: 2, cause, windowMs: 200 },
  lingering: { kind: "lingering", failures: 2, sinceMs: 900 },
  ended: { kind: "ended" },
};

const events = {
  cleared: { kind: "cleared" },
  activated: { kind: "activated", nowMs: 1_000 },
  "failed, held": { ...failed, broken: false, held: true },
  "failed, broken": { ...failed, broken: true, held: true },
  "failed, not held": { ...failed, broken: false, held: false },
  attempt: { kind: "attempt" },
  held: { kind: "held" },
  unheld: { kind: "unheld", lingerMs: 0 },
  "unheld, lingers": { kind: "unheld", lingerMs: 5 },
  lingerOver: { kind: "lingerOver" },
  closed: { kind: "closed" },
} as const satisfies Record<string, ObjectEvent>;

type Same = "–";
const rows: Record<ObjectState["kind"], Record<keyof typeof events, ObjectState["kind"] | Same>> = {
  waiting: row({ cleared: "activating", unheld: "ended", "unheld, lingers": "ended", closed: "ended" }),
  activating: row({
    activated: "live",
    "failed, held": "failed",
    "failed, broken": "failed",
    "failed, not held": "ended",
    unheld: "ended",
    "unheld, lingers": "ended",
    closed: "ended",
  }),
  live: row({
    "failed, held": "failed",
    "failed, broken": "failed",
    "failed, not held": "ended",
    unheld: "ended",
    "unheld, lingers": "lingering",
    closed: "ended",
  }),
  failed: row({ attempt: "activating", unheld: "ended", "unheld, lingers": "ended", closed: "ended" }),
  lingering: row({
    "failed, held": "ended",
    "failed, broken": "ended",
    "failed, not held": "ended",
    held: "live",
    lingerOver: "ended",
    closed: "ended",
  }),
  ended: row({}),
};

function row(
  moves: Partial<Record<keyof typeof events, ObjectState["kind"]>>,
): Record<keyof typeof events, ObjectState["kind"] | Same> {
  const same = Object.fromEntries(Object.keys(events).map((name) => [name, "–"]));
  return { ...same, ...moves } as Record<keyof typeof events, ObjectState["kind"] | Same>;
}

describe.each(Object.entries(rows))("an object that is %s", (kind, row) => {
  const state = states[kind as ObjectState["kind"]];
  it.each(Object.entries(row))("at %s goes to %s", (name, expected) => {
    const after = nextObjectState(state, events[name as keyof typeof events]);
    if (expected === "–") expect(after).toBe(state);
    else expect(after.kind).toBe(expected);
  });
});

describe("failures in a row", () => {
  it("make the window longer, and none is set for a broken object", () => {
    expect(nextObjectState(states.activating, events["failed, held"])).toMatchObject({
      failures: 3,
      windowMs: 300,
    });
    expect(nextObjectState(states.activating, events["failed, broken"])).toMatchObject({
      windowMs: undefined,
    });
  });

  it("count on for an object that falls soon after its start, and begin anew for one that was live for long", () => {
    expect(nextObjectState(states.live, events["failed, held"])).toMatchObject({ failures: 3 });
    const old = { ...states.live, sinceMs: -60_000 };
    expect(nextObjectState(old, events["failed, held"])).toMatchObject({ failures: 1, windowMs: 100 });
  });
});
