/**
 * How an entry ended, and the note of it that a process leaves for another one: whoever holds the lock sends
 * everybody's entries, and the process that made the call is the one that wants to know.
 *
 * Source: design "The outbox".
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { OutboxEndingSchema } from "../../gen/holdfast/store/v1/store_pb.ts";
import { Code } from "@connectrpc/connect";
import { HoldfastError } from "../base/errors.ts";
import { type Outcome, reasonNumber, reasonOf } from "../base/reasons.ts";

/** What became of an entry. */
export type Ending =
  /** It ran; the reply in protobuf's binary form. */
  | { readonly kind: "reply"; readonly reply: Uint8Array }
  /** It left without one. */
  | { readonly kind: "failure"; readonly error: HoldfastError; readonly outcome: FailedOutcome };

/** `dropped`: by the program, which was told whether it may have run. */
export type FailedOutcome = Exclude<Outcome, "in-outbox"> | "dropped";

const failedOutcomes: readonly string[] = [
  "refused",
  "not-run",
  "unknown",
  "expired",
  "dropped",
] satisfies FailedOutcome[];

const codes: readonly Code[] = Object.values(Code).filter((each) => typeof each === "number");

export function failure(error: HoldfastError): Ending {
  const outcome = error.outcome === undefined || error.outcome === "in-outbox" ? "unknown" : error.outcome;
  return { kind: "failure", error, outcome };
}

/** The bytes of a note. */
export function endingBytes(callId: string, ending: Ending, nowMs: number): Uint8Array {
  const end =
    ending.kind === "reply"
      ? ({ case: "reply", value: ending.reply } as const)
      : ({ case: "failure", value: failureMessage(ending.error, ending.outcome) } as const);
  const endedAtMs = BigInt(Math.max(0, Math.floor(nowMs)));
  return toBinary(OutboxEndingSchema, create(OutboxEndingSchema, { callId, endedAtMs, end }));
}

/** Reads a note; undefined for bytes that are none. */
export function readEnding(bytes: Uint8Array): Ending | undefined {
  try {
    const { callId, end } = fromBinary(OutboxEndingSchema, bytes);
    if (end.case === "reply") return { kind: "reply", reply: end.value };
    if (end.case !== "failure") return undefined;
    const { code, message, reason, outcome } = end.value;
    const known = failedOutcomes.includes(outcome) ? (outcome as FailedOutcome) : "unknown";
    const error = new HoldfastError(message, {
      code: codes.find((each: number) => each === code) ?? Code.Unknown,
      reason: reasonOf(reason),
      callId,
      outcome: known === "dropped" ? "unknown" : known,
    });
    return { kind: "failure", error, outcome: known };
  } catch {
    return undefined; // a note is a courtesy: without it the call is made again by the same ID
  }
}

function failureMessage(
  error: HoldfastError,
  outcome: FailedOutcome,
): { code: number; message: string; reason: number; outcome: string } {
  const reason = error.reason === undefined ? 0 : reasonNumber(error.reason);
  return { code: error.code, message: error.rawMessage, reason, outcome };
}
