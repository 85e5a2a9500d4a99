/** Of one object a server has one activation at a time, and every one has ended when its server is closed. */
import type { WorldEnd } from "../world.ts";

export function activations(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  /** By server, then by object. */
  const servers = new Map<string, Map<string, string>>();
  for (const event of end.history.events) {
    if (event.kind === "made") {
      const living = servers.get(event.server) ?? new Map<string, string>();
      servers.set(event.server, living);
      const before = living.get(event.object);
      if (before !== undefined) breaches.push(`${event.activation} began while ${before} was there`);
      living.set(event.object, event.activation);
    } else if (event.kind === "unmade") {
      for (const living of servers.values()) {
        for (const [object, activation] of living) if (activation === event.activation) living.delete(object);
      }
    } else if (event.kind === "network" && event.event.kind === "crashed") {
      servers.delete(event.event.where);
    }
  }
  for (const living of servers.values()) {
    for (const activation of living.values()) breaches.push(`${activation} has not ended with its server`);
  }
  return breaches;
}
