/**
 * Of one object a server has one activation at a time. When all is quiet only what somebody holds is there (H9), and
 * every one has ended when its server is closed.
 */
import type { WorldEnd } from "../world.ts";

/** A room needs the shelf of its name. */
const needed = (object: string): string => object.replace(/^room /, "shelf ");

export function activations(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  /** By server, then by object. */
  const servers = new Map<string, Map<string, string>>();
  /** What references were there for when all was quiet. */
  const held = new Set<string>();
  const objectOf = new Map<string, string>();
  const living = (): [string, string][] => [...servers.values()].flatMap((its) => [...its]);
  for (const event of end.history.events) {
    if (event.kind === "made") {
      const its = servers.get(event.server) ?? new Map<string, string>();
      servers.set(event.server, its);
      const before = its.get(event.object);
      if (before !== undefined) breaches.push(`${event.activation} began while ${before} was there`);
      its.set(event.object, event.activation);
    } else if (event.kind === "unmade") {
      for (const its of servers.values()) {
        for (const [object, activation] of its) if (activation === event.activation) its.delete(object);
      }
    } else if (event.kind === "network" && event.event.kind === "crashed") {
      servers.delete(event.event.where);
    } else if (event.kind === "held") {
      objectOf.set(event.ref, event.object);
    } else if (event.kind === "shows") {
      const object = objectOf.get(event.ref) ?? "";
      held.add(object).add(needed(object));
    } else if (event.kind === "phase" && event.name === "restart") {
      for (const [object, activation] of living())
        if (!held.has(object)) breaches.push(`${activation} is there, and nobody holds it`);
    }
  }
  for (const [, activation] of living()) breaches.push(`${activation} has not ended with its server`);
  return breaches;
}
