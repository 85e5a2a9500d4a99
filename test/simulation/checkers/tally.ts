/** What checkers count again and again: effects and starts by key and by call ID. */
import type { Effect, HistoryFact } from "../history.ts";
import type { WorldEnd } from "../world.ts";

export function effectsOf({ history }: WorldEnd): readonly Effect[] {
  return history.of("effect").map(({ effect }) => effect);
}

export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

export type Invoked = Extract<HistoryFact, { kind: "invoked" }> & { readonly at: number };
export type EndedFact = Extract<HistoryFact, { kind: "ended" }> & { readonly at: number };

/** Each operation that was made, and how it ended if it did. */
export function operations({
  history,
}: WorldEnd): readonly { readonly invoked: Invoked; readonly ended: EndedFact | undefined }[] {
  const ends = new Map(history.of("ended").map((fact) => [fact.op.id, fact]));
  return history.of("invoked").map((invoked) => ({ invoked, ended: ends.get(invoked.op.id) }));
}
