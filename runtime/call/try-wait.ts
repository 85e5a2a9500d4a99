/** How long one try may take. Source: design "Constants". */
import { type Timing, tryBeyondHandlerMs } from "../base/constants.ts";
import type { UnaryDefinition } from "../base/definition.ts";

/** Ms for one try, unless the budget ends before. A heartbeat's tick has its period. */
export function tryWaitMsOf(definition: UnaryDefinition, { tryWaitMs }: Timing): number {
  if (definition.kind === "heartbeat") return definition.everyMs;
  const handlerMs = definition.kind === "command" ? (definition.handlerMostMs ?? 0) : 0;
  return handlerMs > tryWaitMs ? handlerMs + tryBeyondHandlerMs : tryWaitMs;
}
