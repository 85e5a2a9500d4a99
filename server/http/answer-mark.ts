/**
 * The mark of an answer that no journal gave one: what stopped a command before it says whether the same request
 * would be stopped again.
 *
 * Source: design "What counts as the server's answer".
 */
import { Code, type ConnectError } from "@connectrpc/connect";
import { reasonFrom } from "../../runtime/base/errors.ts";
import type { Mark } from "../../runtime/base/reasons.ts";
import { isServerReason, serverReasons } from "../../runtime/base/server-reasons.ts";
import type { AnswerCode } from "./answer-code.ts";

/** Codes that say nothing about what the same request would meet the next time. */
const passingCodes: readonly AnswerCode[] = [
  Code.Canceled,
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Aborted,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
];

/**
 * The mark of a code.
 *
 * @param parsed - whether the request was read: before that `resource_exhausted` is a size, after it somebody's quota.
 */
export function markOfCode(code: AnswerCode, parsed: boolean): Mark {
  if (passingCodes.includes(code)) return "later";
  return parsed && code === Code.ResourceExhausted ? "later" : "none";
}

/** The mark of an error: its reason's, or its code's. */
export function markOfError(error: ConnectError): Mark {
  const reason = reasonFrom(error);
  return reason !== undefined && isServerReason(reason)
    ? serverReasons[reason].mark
    : markOfCode(error.code, true);
}
