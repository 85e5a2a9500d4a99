/** I18: the signal of a command's handler fires at its limit or at the end of a drain, whatever clients do. */
import type { WorldEnd } from "../world.ts";

const handlerMostMs = 60_000;

export function signals(end: WorldEnd): readonly string[] {
  if (end.plan.incidents.some(({ kind }) => kind === "close")) return [];
  return end.history
    .of("stopped")
    .filter(({ afterMs }) => afterMs < handlerMostMs - 1)
    .map(({ key, afterMs }) => `the handler of ${key} was told to stop after ${Math.round(afterMs)} ms`);
}
