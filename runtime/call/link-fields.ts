/**
 * What a command says of itself, and what its answer says of it, as fields of a wire's messages: the same that
 * headers carry over HTTP.
 */
import { Mark, type Stamp } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Mark as MarkName } from "../base/reasons.ts";
import type { StampFields } from "./stamp.ts";

/** The marks of answers as a wire numbers them. */
export const linkMarks: Readonly<Record<MarkName, Mark>> = {
  ran: Mark.RAN,
  refused: Mark.REFUSED,
  unknown: Mark.UNKNOWN,
  none: Mark.NONE,
  later: Mark.LATER,
};

const names = new Map<Mark, MarkName>(
  (Object.entries(linkMarks) as [MarkName, Mark][]).map(([name, mark]) => [mark, name]),
);

/** The name of a mark that came; undefined: the answer has none. */
export function markOfLink(mark: Mark): MarkName | undefined {
  return names.get(mark);
}

/** A stamp to be sent. */
export function stampMessage(stamp: StampFields): Stamp {
  const { callId, lane, seq, settled, tries, firstSent, expectedCaller, anon } = stamp;
  return {
    $typeName: "holdfast.link.v1.Stamp",
    callId,
    lane,
    seq,
    settled,
    tries,
    firstSent:
      "serverMs" in firstSent
        ? { case: "serverMs", value: Math.floor(firstSent.serverMs) }
        : { case: "agoMs", value: Math.ceil(firstSent.agoMs) },
    expectedCaller: expectedCaller ?? "",
    anon: anon ?? "",
  };
}
