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
import { reasonFrom } from "../../runtime/base/errors.ts";
import { asksForNewTry, isHandlerRefusal } from "../../runtime/base/handler-refusal.ts";
import { serverError } from "../../runtime/base/server-reasons.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import type { Outcome, RefusalDetail } from "../store/store.ts";
import type { Answer } from "./answer.ts";
import { type KeptReply, keptFlatReply } from "./flat-reply.ts";
import { refusal } from "./own-answers.ts";

/** A run that has an outcome. */
export interface SettledEnding {
  readonly kind: "settled";
  /** What the journal keeps. */
  readonly outcome: Outcome;
  /** What the tries that wait are told; more than `outcome` when only a marker is kept. */
  readonly told: Outcome;
  /** The reply, read back from what is kept: for the first answer, and no other. */
  readonly reply?: Message;
  /** Headers of the handler's error, for the first answer alone. */
  readonly metadata: Headers | undefined;
  /** What the log should hear: the effect stands, but its reply could not be kept. */
  readonly notKept: unknown;
}

/** How a run ended. */
export type Ending =
  | SettledEnding
  /** Nothing is kept: a new try runs the handler again. */
  | {
      readonly kind: "fault";
      readonly error: ConnectError;
      readonly cause: unknown;
      /** Whether the handler asked for a new try, by a RetryInfo. */
      readonly retries: boolean;
    };

type KeptLimits = Pick<Limits, "keptReplyBytesMost" | "keptRefusalBytesMost">;

const marker: Outcome = { kind: "marker" };

/** The end of a handler that returned. Its effect stands, so whatever is wrong with the reply, it ran. */
export function endingOfReply(definition: CommandDefinition, reply: Message, limits: KeptLimits): Ending {
  let kept: KeptReply;
  try {
    kept = keptReply(definition, reply);
  } catch (error) {
    return { kind: "settled", outcome: marker, told: marker, metadata: undefined, notKept: error };
  }
  const { length } = kept.bytes;
  if (definition.keep !== "marker" && length > limits.keptReplyBytesMost) {
    const notKept = new RangeError(sizeText(length, limits));
    return { kind: "settled", outcome: marker, told: marker, metadata: undefined, notKept };
  }
  return endingOfKept(definition, kept);
}

/**
 * The end that a transaction's reply gives its run. Here nothing stands yet, so a reply that cannot be kept is
 * a reason to throw, which rolls back.
 *
 * @throws HoldfastError REPLY_TOO_LARGE, or the codec's error for a reply that does not fit its schema.
 */
export function endingInTransaction(
  definition: CommandDefinition,
  reply: Message,
  limits: KeptLimits,
): SettledEnding {
  const kept = keptReply(definition, reply);
  const { length } = kept.bytes;
  if (definition.keep !== "marker" && length > limits.keptReplyBytesMost) {
    throw serverError("REPLY_TOO_LARGE", `${sizeText(length, limits)}, so the command was rolled back`);
  }
  return endingOfKept(definition, kept);
}

function keptReply({ method: { output } }: CommandDefinition, reply: Message): KeptReply {
  const flat = keptFlatReply(output, reply);
  if (flat !== undefined) return flat;
  const bytes = toBinary(output, reply);
  // Not all that can be written can be read back, such as a message that is nested too deep.
  return { bytes, reply: fromBinary(output, bytes) };
}

function sizeText(bytesCount: number, limits: KeptLimits): string {
  return `the reply has ${bytesCount} bytes, ${limits.keptReplyBytesMost} are kept at most`;
}

function endingOfKept(definition: CommandDefinition, { bytes, reply }: KeptReply): SettledEnding {
  const told: Outcome = { kind: "ran", reply: bytes };
  const outcome = definition.keep === "marker" ? marker : told;
  return { kind: "settled", outcome, told, reply, metadata: undefined, notKept: undefined };
}

/**
 * The end of a handler that threw.
 *
 * @param rolledBack - the journal's own refusal, if one rolled the run's transaction back.
 */
export function endingOfThrow(thrown: unknown, limits: KeptLimits, rolledBack?: unknown): Ending {
  if (!(thrown instanceof ConnectError)) {
    // The text of a throw may hold anything: it is for the log alone.
    const error = new ConnectError("the handler failed; the server's log says why", Code.Internal);
    return { kind: "fault", error, cause: thrown, retries: false };
  }
  const details = thrown.details.map(detailOnWire);
  if (!isHandlerRefusal(thrown) && thrown !== rolledBack) {
    return { kind: "fault", error: thrown, cause: undefined, retries: asksForNewTry(thrown) };
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
      return { mark: "ran", repeat, result: { error: serverError("ALREADY_RAN") } };
    case "started":
      return refusal("OUTCOME_UNKNOWN");
    case "refused": {
      const error = new ConnectError(outcome.message, outcome.code, metadata);
      error.details = outcome.details.map(({ type, value }) => ({ type, value }));
      return { mark: "refused", repeat, result: { error } };
    }
  }
}
