/** H5: a link's states follow their table, and no state that says nothing new is shown. */
import type { WorldEnd } from "../world.ts";

const allowed: Readonly<Record<string, readonly string[]>> = {
  idle: ["up", "down", "refused"],
  up: ["down", "refused"],
  down: ["up", "down", "refused"],
  refused: ["up"],
};

export function linkStates(end: WorldEnd): readonly string[] {
  return end.history
    .of("state")
    .filter(({ from, to }) => allowed[from]?.includes(to) !== true)
    .map(({ client, from, to }) => `${client} went from ${from} to ${to}`);
}
