/** How long a call and one try of it may take. Source: design "Constants". */
import { type Timing, tryBeyondHandlerMs } from "../base/constants.ts";
import type { CallOptions } from "../base/calls.ts";
import { ConnectionFault } from "../base/connection-fault.ts";
import { chooseBudgetMs } from "../base/deadline.ts";
import type { UnaryDefinition } from "../base/definition.ts";

/** Ms for one try, unless the budget ends before. A heartbeat's tick has its period. */
export function tryWaitMsOf(definition: UnaryDefinition, { tryWaitMs }: Timing): number {
  if (definition.kind === "heartbeat") return definition.everyMs;
  const handlerMs = definition.kind === "command" ? (definition.handlerMostMs ?? 0) : 0;
  return handlerMs > tryWaitMs ? handlerMs + tryBeyondHandlerMs : tryWaitMs;
}

/**
 * Whether a try that begins with so much of its budget, and gets no reply in it, says that its connection is silent. Of
 * a call nobody knows how long its handler takes. A tick's budget is its period; it is there to find just that, and
 * there is no later try of it that would.
 */
export function isSilentTick(
  definition: UnaryDefinition,
  budgetLeftMs: number,
  { tryWaitMs }: Timing,
): boolean {
  return definition.kind === "heartbeat" && budgetLeftMs >= Math.min(tryWaitMs, definition.everyMs / 2);
}

/** A try has had its time. */
export function noReply(waitMs: number, sent: boolean): ConnectionFault {
  return new ConnectionFault("no-reply", `no reply in ${Math.round(waitMs)} ms`, { sent });
}

/** Ms that a call may take. @throws TypeError for NaN. */
export function budgetMsOf(definition: UnaryDefinition, options: CallOptions, timing: Timing): number {
  const short = definition.kind === "signal" || options.short === true;
  const own = definition.kind === "heartbeat" ? definition.everyMs : definition.budgetMs;
  return chooseBudgetMs(options.timeoutMs, own, short ? timing.shortBudgetMs : timing.budgetMs);
}
