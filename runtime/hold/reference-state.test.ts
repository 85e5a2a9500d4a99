import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../base/errors.ts";
import type { ReferenceState } from "../base/objects.ts";
import { nextReferenceState, type ReferenceEvent } from "./reference-state.ts";

const cause = new HoldfastError("no", { code: Code.NotFound });
const states: Record<ReferenceState["kind"], ReferenceState> = {
  loading: { kind: "loading" },
  live: { kind: "live" },
  failed: { kind: "failed", cause, retryAt: undefined },
  released: { kind: "released" },
};
const events: Record<ReferenceEvent["kind"], ReferenceEvent> = {
  loading: { kind: "loading" },
  bound: { kind: "bound" },
  failed: { kind: "failed", failure: { cause, retryAt: 5 } },
  released: { kind: "released" },
};

type Expected = ReferenceState["kind"] | "–" | "fault";
const rows: Record<ReferenceState["kind"], Record<ReferenceEvent["kind"], Expected>> = {
  loading: { loading: "–", bound: "live", failed: "failed", released: "released" },
  live: { loading: "loading", bound: "fault", failed: "failed", released: "released" },
  failed: { loading: "loading", bound: "fault", failed: "failed", released: "released" },
  released: { loading: "–", bound: "–", failed: "–", released: "–" },
};

describe.each(Object.entries(rows))("a reference that is %s", (kind, row) => {
  const state = states[kind as ReferenceState["kind"]];
  it.each(Object.entries(row))("at %s goes to %s", (name, expected) => {
    const after = nextReferenceState(state, events[name as ReferenceEvent["kind"]]);
    if (expected === "–") expect(after).toBe(state);
    else if (expected === "fault") expect(after).toBe("fault");
    else expect(after).toMatchObject({ kind: expected });
  });
});

it("a failed reference has the cause, and when the next attempt is", () => {
  expect(nextReferenceState(states.loading, events.failed)).toEqual({ kind: "failed", cause, retryAt: 5 });
});
