/**
 * How a handler's end becomes what is kept, and how what is kept becomes an answer. The first answer is made
 * from the kept bytes like every repeat, so that they are equal whatever the handler returned (a double in a
 * float field, an object that it changes later).
 *
 * Source: design "The journal"; reliability decisions D5, D11.
 */
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { CommandDefinition } from "../../runtime/base/definition.ts";
import { reasonError, reasonFrom } from "../../runtime/base/errors.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import type { Outcome, RefusalDetail } from "../store/store.ts";
import type { Answer } from "./answer.ts";

/** How a run ended. */
export type Ending =
  | {
      readonly kind: "settled";
      /** What the journal keeps. */
      readonly outcome: Outcome;
      /** What the tries that wait are told; more than `outcome` when only a marker is kept. */
      readonly told: Outcome;
      /** Headers of the handler's error, for the first answer alone. */
      readonly metadata: Headers | undefined;
      /** What the log should hear: the effect stands, but its reply could not be kept. */
      readonly notKept: unknown;
    }
  /** Nothing is kept: a new try runs the handler again. */
  | { readonly kind: "fault"; readonly error: ConnectError; readonly cause: unknown };

type KeptLimits = Pick<Limits, "keptReplyBytesMost" | "keptRefusalBytesMost">;

/** The end of a handler that returned. Its effect stands, so whatever is wrong with the reply, it ran. */
export function endingOfReply(definition: CommandDefinition, reply: Message, limits: KeptLimits): Ending {
  const marker: Outcome = { kind: "marker" };
  let bytes: Uint8Array;
  try {
    bytes = toBinary(definition.method.output, reply);
    // Not all that can be written can be read back, such as a message that is nested too deep.
    fromBinary(definition.method.output, bytes);
  } catch (error) {
    return { kind: "settled", outcome: marker, told: marker, metadata: undefined, notKept: error };
  }
  const ran: Outcome = { kind: "ran", reply: bytes };
  if (definition.keep === "marker") {
    return { kind: "settled", outcome: marker, told: ran, metadata: undefined, notKept: undefined };
  }
  if (bytes.length > limits.keptReplyBytesMost) {
    const notKept = new RangeError(
      `the reply has ${bytes.length} bytes, ${limits.keptReplyBytesMost} are kept at most`,
    );
    return { kind: "settled", outcome: marker, told: marker, metadata: undefined, notKept };
  }
  return { kind: "settled", outcome: ran, told: ran, metadata: undefined, notKept: undefined };
}

/** By these codes a handler says no, and would say it again. Everything else may pass. */
const refusalCodes: ReadonlySet<Code> = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.AlreadyExists,
  Code.PermissionDenied,
  Code.FailedPrecondition,
  Code.OutOfRange,
  Code.Unimplemented,
  Code.Aborted, // unless it asks for a new try by a RetryInfo
]);

/** The end of a handler that threw. */
export function endingOfThrow(thrown: unknown, limits: KeptLimits): Ending {
  if (!(thrown instanceof ConnectError)) {
    // The text of a throw may hold anything: it is for the log alone.
    const error = new ConnectError("the handler failed; the server's log says why", Code.Internal);
    return { kind: "fault", error, cause: thrown };
  }
  const details = thrown.details.map(detailOnWire);
  const retries = details.some(({ type }) => type === "google.rpc.RetryInfo");
  if (!refusalCodes.has(thrown.code) || (thrown.code === Code.Aborted && retries)) {
    return { kind: "fault", error: thrown, cause: undefined };
  }
  const outcome: Outcome = {
    kind: "refused",
    code: thrown.code,
    reason: reasonFrom(thrown),
    message: cutText(thrown.rawMessage, limits.keptRefusalBytesMost),
    details: fitting(details, limits.keptRefusalBytesMost),
  };
  return { kind: "settled", outcome, told: outcome, metadata: thrown.metadata, notKept: undefined };
}

function detailOnWire(detail: ConnectError["details"][number]): RefusalDetail {
  if ("type" in detail) return { type: detail.type, value: detail.value };
  return { type: detail.desc.typeName, value: toBinary(detail.desc, create(detail.desc, detail.value)) };
}

/** The details from the first on that fit in whole: half of one would not decode. */
function fitting(details: readonly RefusalDetail[], bytesMost: number): RefusalDetail[] {
  let leftBytes = bytesMost;
  return details.filter(({ value }) => {
    const fits = value.length <= leftBytes;
    if (fits) leftBytes -= value.length;
    return fits;
  });
}

/** Cuts a text to so many bytes of UTF-8, between two characters. */
function cutText(text: string, bytesMost: number): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= bytesMost) return text;
  // A character's later bytes are 10xxxxxx: the cut goes before the first byte of what would be split.
  let end = bytesMost;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return new TextDecoder().decode(bytes.subarray(0, end));
}

/** The answer that an outcome gives. */
export function answerOf(
  definition: CommandDefinition,
  outcome: Outcome,
  repeat: boolean,
  metadata?: Headers,
): Answer {
  switch (outcome.kind) {
    case "ran":
      return { mark: "ran", repeat, result: { reply: fromBinary(definition.method.output, outcome.reply) } };
    case "marker":
      return { mark: "ran", repeat, result: { error: reasonError("ALREADY_RAN") } };
    case "refused": {
      const error = new ConnectError(outcome.message, outcome.code, metadata);
      error.details = outcome.details.map(({ type, value }) => ({ type, value }));
      return { mark: "refused", repeat, result: { error } };
    }
  }
}
