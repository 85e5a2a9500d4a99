/** The commands whose end the power loss test looks at: what the program commits, and what the store must know later. */
import { Code } from "@connectrpc/connect";
import type { Claim, Outcome } from "../../server/store/store.ts";

export interface PlannedCall {
  readonly id: string;
  readonly seq: number;
  /** What its lane is settled up to by its word. */
  readonly settled: number;
  /**
   * `started`: it has begun, and has effects elsewhere; a later one of the same ID ends it. `throws`: its callback
   * fails after it wrote.
   */
  readonly kind: "ran" | "refused" | "marker" | "throws" | "started";
  /** What the callback writes. */
  readonly effect: string | undefined;
}

export const lane = "lane";
export const space = "by ada";

function call(seq: number, kind: PlannedCall["kind"], settled = 0, effectBytes = 40): PlannedCall {
  const effect = kind === "refused" || kind === "started" ? undefined : `${seq} `.repeat(effectBytes >> 1);
  return { id: `call${seq}`, seq, settled, kind, effect };
}

/** Each batch arrives together, and its calls share a commit. */
export const batches: readonly (readonly PlannedCall[])[] = [
  [call(1, "ran")],
  [call(2, "ran"), call(3, "refused"), call(4, "throws"), call(5, "marker"), call(6, "started")],
  // Rows of several pages.
  [call(7, "ran", 3, 9_000), call(8, "ran", 3, 200), call(6, "ran", 3)],
  [call(9, "started", 5)],
  [call(10, "refused", 8), call(11, "ran", 8, 5_000), call(9, "ran", 8)],
  [call(12, "ran", 11), call(13, "marker", 11, 300)],
];

export function claimOf({ id, seq, settled }: PlannedCall): Claim {
  return {
    ...{ space, id, quota: space, method: "a.B.C", settled, firstSentMs: 1_000 + seq },
    seat: { lane, seq },
    fingerprint: { version: 1, schema: Uint8Array.of(1, 2), print: Uint8Array.of(seq) },
  };
}

export function outcomeOf({ kind, seq }: PlannedCall): Outcome {
  switch (kind) {
    case "ran":
      return { kind, reply: new Uint8Array(100 * seq).fill(seq) };
    case "refused":
      return { kind, code: Code.NotFound, reason: undefined, message: `no ${seq}`, details: [] };
    case "marker":
    case "started":
      return { kind };
    case "throws":
      throw new Error("its callback fails");
  }
}

/** A line by which the program says what somebody else knows now. */
export type Told =
  | { readonly what: "open"; readonly epoch: string }
  | { readonly what: "call"; readonly id: string; readonly kind: PlannedCall["kind"] }
  | { readonly what: "note"; readonly text: string }
  | { readonly what: "session"; readonly id: string; readonly begun: boolean };
