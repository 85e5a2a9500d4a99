/** An answer as one line that a test can compare. */
import { Code, ConnectError } from "@connectrpc/connect";
import { reasonFrom } from "../../runtime/base/errors.ts";
import type { Answer } from "../../server/journal/answer.ts";
import type { AddResponse } from "./gen/test/journal/v1/ledger_pb.ts";

/** `ran 10`, `refused NotFound: no such account`, `later IN_PROGRESS`, with ` again` at the end of a repeat. */
export function said(answer: Answer): string {
  const again = answer.repeat ? " again" : "";
  if ("reply" in answer.result)
    return `${answer.mark} ${(answer.result.reply as AddResponse).balance}${again}`;
  const { error } = answer.result;
  const reason = reasonFrom(ConnectError.from(error));
  return `${answer.mark} ${reason ?? `${Code[error.code]}: ${error.rawMessage}`}${again}`;
}
