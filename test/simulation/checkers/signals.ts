/**
 * I18: the signal of a command's handler fires at its limit or at the end of a drain, whatever clients do.
 *
 * The limit counts from when the command is taken in. While its claim is written the server may stand still for longer
 * than that; then the handler begins when the server goes on, and is told to stop at once.
 */
import type { WorldEnd } from "../world.ts";

const handlerMostMs = 60_000;

export function signals(end: WorldEnd): readonly string[] {
  if (end.plan.incidents.some(({ kind }) => kind === "close" || kind === "deploy")) return [];
  const long = end.plan.incidents.some((one) => one.kind === "pauseServer" && one.forMs >= handlerMostMs);
  const goings = long ? end.history.of("still").flatMap(({ still, at }) => (still ? [] : [at])) : [];
  const hasStood = (at: number): boolean => goings.some((going) => going <= at && at < going + handlerMostMs);
  return end.history
    .of("stopped")
    .filter(({ at, afterMs }) => afterMs < handlerMostMs - 1 && !hasStood(at))
    .map(({ key, afterMs }) => `the handler of ${key} was told to stop after ${Math.round(afterMs)} ms`);
}
