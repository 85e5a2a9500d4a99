/** The comments of generated code: the schema's own, what the method is, and where it comes from. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { getComments } from "@bufbuild/protoplugin";
import { objectOf } from "./annotations.ts";
import { durationText } from "./check-field.ts";
import type { CommandKind, MethodModel } from "./model.ts";

/** A service's comment: the proto's, a line of ours, its origin, its deprecation. */
export function serviceComment(desc: DescService, line: string): string {
  return comment(desc, line);
}

/** A method's comment: the proto's, a line for its kind and budget, its origin, its deprecation. */
export function methodComment(method: MethodModel): string {
  return comment(method.desc, kindLine(method));
}

function comment(desc: DescMethod | DescService, line: string): string {
  const { leading, trailing } = getComments(desc);
  const parts = [leading, trailing].flatMap((part) => (part === undefined ? [] : [unindented(part)]));
  const origin = [`@generated from ${desc.toString()}`, ...(desc.deprecated ? ["@deprecated"] : [])];
  return [...parts, line, origin.join("\n")].filter((part) => part !== "").join("\n\n");
}

/** Comments keep the blank that people write after `//`; a doc comment brings its own. */
function unindented(text: string): string {
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => (line.startsWith(" ") ? line.slice(1) : line))
    .join("\n");
}

/** What a caller should know of a method's kind, in one line. */
export function kindLine({ kind, desc, annotations }: MethodModel): string {
  const annotated = annotations.length > 0;
  switch (kind.kind) {
    case "query":
      return `Query: ${budgetText(kind.budgetMs)}.`;
    case "signal":
      return annotated
        ? `Signal: ${budgetText(kind.budgetMs, "short ")}.`
        : `Idempotent: may be sent twice, ${budgetText(kind.budgetMs, "short ")}.`;
    case "command":
      return `Command: ${commandText(kind, objectOf(desc.parent) !== undefined)}.`;
    case "stream":
      return `Stream: keeps ${kind.keepCount} items, room for ${kind.roomCount}, idle after ${durationText(kind.idleMs)}.`;
    case "heartbeat":
      return `Heartbeat: every ${durationText(kind.everyMs)}, gone after ${durationText(kind.goneAfterMs)}.`;
    case "state":
      return "State: a live value.";
    case "plain":
      return `Plain ${desc.methodKind.replace("_", " ")}: no budget, no repeat, no resume.`;
  }
}

function budgetText(ms: number | undefined, which: "" | "short " = ""): string {
  return ms === undefined ? `the link's ${which}budget` : `budget ${durationText(ms)}`;
}

function commandText(kind: CommandKind, inObject: boolean): string {
  const outbox = { none: [], late: ["then the outbox"], early: ["in the outbox from the start"] };
  return [
    kind.delivery === "once" ? "runs once" : "sent at most once",
    // A member without a budget has as long as its object has to be there.
    inObject && kind.budgetMs === undefined ? "the object's ready timeout" : budgetText(kind.budgetMs),
    ...outbox[kind.outbox],
    ...(kind.merge ? ["merged with an equal one that waits there"] : []),
  ].join(", ");
}
