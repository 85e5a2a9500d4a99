/** R1: after everything is closed nothing is left, and no rejection went unheard. */
import type { WorldEnd } from "../world.ts";

export function leftovers(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  if (end.timerCount > 0) breaches.push(`${end.timerCount} timers are left`);
  for (const error of end.unhandled) breaches.push(`nobody handled ${String(error)}`);
  for (const { text } of end.history.of("fault")) breaches.push(text);
  return breaches;
}
