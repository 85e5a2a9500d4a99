/**
 * What the end of a call means for its entry: one pure table.
 *
 * | the call ended by | fresh command | entry that its caller was told of |
 * | --- | --- | --- |
 * | an answer of the journal: ran, refused, never to be known | leaves | leaves |
 * | CALLER_CHANGED, as the server says | leaves | pauses: it waits for its own caller |
 * | CALLER_CHANGED, since the link cannot know whose it was | leaves | leaves |
 * | its caller's abort | leaves | waits |
 * | sign-in or build, no try may have run | leaves | pauses |
 * | sign-in or build, a try may have run | pauses | pauses |
 * | another answer before the journal (malformed, too large, unknown method) | leaves | leaves |
 * | NOT_HOLDFAST, which is never sent again | leaves | leaves |
 * | this program's own fault before anything was sent | leaves | leaves |
 * | anything else: the budget, a closed link, no server, faults | waits | waits |
 *
 * "Leaves" for a fresh command means that it does not go in, or leaves at once.
 *
 * Source: design "The outbox"; reliability decisions D35, D36.
 */
import { Code } from "@connectrpc/connect";
import type { HoldfastError } from "../base/errors.ts";
import { headerNames } from "../call/headers.ts";

export type Fate = "leaves" | "waits" | "pauses";

/** @param told - whether the program was told before that this command waits in the outbox. */
export function fateOf(error: HoldfastError, told: boolean): Fate {
  switch (error.reason) {
    case "ABORTED":
      return told ? "waits" : "leaves";
    case "NOT_HOLDFAST":
      return "leaves";
    case "PROGRAM_FAILED":
      return error.outcome === "not-run" ? "leaves" : "waits";
    case "CALLER_CHANGED":
      return told && error.metadata.has(headerNames.settled) ? "pauses" : "leaves";
    case "SIGN_IN_GONE":
    case "BUILD_REFUSED":
      return told || error.outcome !== "not-run" ? "pauses" : "leaves";
    default:
      return fateOfAnswer(error, told);
  }
}

function fateOfAnswer(error: HoldfastError, told: boolean): Fate {
  const mark = error.metadata.get(headerNames.settled);
  if (mark === "ran" || mark === "refused" || mark === "unknown") return "leaves";
  if (error.code === Code.Unauthenticated) return told || error.outcome !== "not-run" ? "pauses" : "leaves";
  return mark === "none" ? "leaves" : "waits";
}
