/**
 * H1: the commands of one reference start in the order in which they were called, and where the object is serial they
 * take effect in it, also across drops and restarts.
 */
import type { WorldEnd } from "../world.ts";
import { effectsOf, operations } from "./tally.ts";

export function heldOrder(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  const starts = new Map<string, number>();
  for (const [place, { key }] of end.history.of("started").entries()) {
    if (!starts.has(key)) starts.set(key, place);
  }
  const effects = new Map(effectsOf(end).map(({ key }, place) => [key, place]));
  /** By reference: the last call of it that began, or took effect. */
  const lastStart = new Map<string, { readonly key: string; readonly place: number }>();
  const lastEffect = new Map<string, { readonly key: string; readonly place: number }>();
  const drops = end.history.of("refState").filter(({ to }) => to === "loading");
  for (const { invoked, ended } of operations(end)) {
    const { op, client } = invoked;
    if (op.kind !== "put" && op.kind !== "knock" && op.kind !== "push") continue;
    const ref = `${client} ref ${op.list}`;
    // A server that holds anew does not know of a call that its program gave up before.
    const givenUp = ended?.ended.kind === "error" && ended.ended.outcome === "unknown";
    if (givenUp && drops.some(({ ref: its, at }) => its === ref && at >= invoked.at)) continue;
    follow(lastStart, ref, op.key, starts.get(op.key), "started");
    if (op.kind === "push") follow(lastEffect, ref, op.key, effects.get(op.key), "took effect");
  }
  return breaches;

  function follow(
    last: Map<string, { readonly key: string; readonly place: number }>,
    ref: string,
    key: string,
    place: number | undefined,
    what: string,
  ): void {
    if (place === undefined) return;
    const before = last.get(ref);
    if (before !== undefined && before.place > place)
      breaches.push(`${key} was called on ${ref} after ${before.key}, and ${what} before it`);
    if (before === undefined || before.place < place) last.set(ref, { key, place });
  }
}
