import { expect, it } from "vitest";
import { type LinkEvent, type LinkState, nextLinkState } from "./link-state.ts";

const cause = new Error("the old cause");
const fresh = new Error("the new cause");

const states: { readonly [K in LinkState["kind"]]: Extract<LinkState, { kind: K }> } = {
  idle: { kind: "idle" },
  up: { kind: "up", since: 10 },
  down: { kind: "down", since: 20, host: "h", cause, nextTryAt: 25 },
  refused: { kind: "refused", host: "h", reason: "BUILD_REFUSED", cause },
};
const events: { readonly [K in LinkEvent["kind"]]: Extract<LinkEvent, { kind: K }> } = {
  answered: { kind: "answered" },
  fault: { kind: "fault", cause: fresh, nextTryAt: 105 },
  refused: { kind: "refused", reason: "SIGN_IN_GONE", cause: fresh },
  readmitted: { kind: "readmitted" },
};

const down = { kind: "down", since: 100, host: "h", cause: fresh, nextTryAt: 105 } as const;
const refused = { kind: "refused", host: "h", reason: "SIGN_IN_GONE", cause: fresh } as const;
const table: Record<LinkState["kind"], Record<LinkEvent["kind"], LinkState | "same">> = {
  idle: {
    answered: { kind: "up", since: 100 },
    fault: down,
    refused,
    readmitted: { kind: "up", since: 100 },
  },
  up: { answered: "same", fault: down, refused, readmitted: "same" },
  down: {
    answered: { kind: "up", since: 100, downForMs: 80 },
    fault: { ...down, since: 20 },
    refused,
    readmitted: { kind: "up", since: 100, downForMs: 80 },
  },
  refused: { answered: "same", fault: "same", refused: "same", readmitted: { kind: "up", since: 100 } },
};

for (const from of Object.values(states)) {
  for (const event of Object.values(events)) {
    it(`${from.kind}, ${event.kind}`, () => {
      const expected = table[from.kind][event.kind];
      const next = nextLinkState(from, event, "h", 100);
      if (expected === "same") expect(next).toBe(from);
      else expect(next).toEqual(expected);
    });
  }
}
