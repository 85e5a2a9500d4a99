/** How long a call and one try of it may take. Source: design "Constants". */
import { type Timing, tryBeyondHandlerMs } from "../base/constants.ts";
import type { CallOptions } from "../base/calls.ts";
import { chooseBudgetMs } from "../base/deadline.ts";
import type { UnaryDefinition } from "../base/definition.ts";

/** Ms for one try, unless the budget ends before. A heartbeat's tick has its period. */
export function tryWaitMsOf(definition: UnaryDefinition, { tryWaitMs }: Timing): number {
  if (definition.kind === "heartbeat") return definition.everyMs;
  const handlerMs = definition.kind === "command" ? (definition.handlerMostMs ?? 0) : 0;
  return handlerMs > tryWaitMs ? handlerMs + tryBeyondHandlerMs : tryWaitMs;
}

/** Ms that a call may take. @throws TypeError for NaN. */
export function budgetMsOf(definition: UnaryDefinition, options: CallOptions, timing: Timing): number {
  const short = definition.kind === "signal" || options.short === true;
  const own = definition.kind === "heartbeat" ? definition.everyMs : definition.budgetMs;
  return chooseBudgetMs(options.timeoutMs, own, short ? timing.shortBudgetMs : timing.budgetMs);
}
