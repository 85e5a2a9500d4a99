/**
 * S1-S4, S6: a stream gives each item once and in order, none before it is durable, says exactly how many it has lost,
 * and has the last one when all is quiet.
 */
import type { HistoryEvent } from "../history.ts";
import type { WorldEnd } from "../world.ts";

interface Reader {
  readonly list: string;
  /** The place of the last item. */
  place: number;
  lost: number;
  /** Nobody knows how many. */
  unknown: boolean;
  open: boolean;
}

export function streams(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  const readers = new Map<string, Reader>();
  /** By list: its keys so far, in their order. */
  const lists = new Map<string, string[]>();
  for (const event of end.history.events) {
    if (event.kind === "effect" && event.effect.place > 0) {
      const { list, key } = event.effect;
      lists.set(list, [...(lists.get(list) ?? []), key]);
    } else if (event.kind === "phase" && event.name === "restart") {
      breaches.push(...behind(readers, lists));
    } else breaches.push(...follow(event, readers, lists));
  }
  // A topic in memory says nothing of an item whose commit failed after it was durable, as nobody knows that it was.
  if (end.plan.diskFailRate > 0) return breaches.filter((text) => !text.endsWith("are lost"));
  return breaches;
}

function follow(
  event: HistoryEvent,
  readers: Map<string, Reader>,
  lists: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  if (event.kind === "opened") {
    readers.set(event.stream, { list: event.list, place: 0, lost: 0, unknown: false, open: true });
    return [];
  }
  if (event.kind !== "item" && event.kind !== "gap" && event.kind !== "left") return [];
  const reader = readers.get(event.stream);
  if (reader === undefined) return [`${event.stream} was never opened`];
  if (event.kind === "left") {
    reader.open = false;
  } else if (event.kind === "gap") {
    if (event.count === undefined) reader.unknown = true;
    else reader.lost += event.count;
  } else return took(event.stream, event.key, reader, lists.get(reader.list) ?? []);
  return [];
}

function took(name: string, key: string, reader: Reader, keys: readonly string[]): readonly string[] {
  // A key may be there twice, by two commands that are equal.
  const place = keys.indexOf(key, reader.place) + 1;
  const { place: before, lost, unknown } = reader;
  if (place === 0) {
    return [keys.includes(key) ? `${name} got ${key} again` : `${name} got ${key}, which is not durable`];
  }
  const between = place - before - 1;
  Object.assign(reader, { place, lost: 0, unknown: false });
  if (before === 0 || unknown || between === lost) return [];
  return [`${name} got item ${place} after ${before}, and was told that ${lost} are lost`];
}

function behind(
  readers: ReadonlyMap<string, Reader>,
  lists: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  return [...readers].flatMap(([name, { list, place, open }]) => {
    const length = lists.get(list)?.length ?? 0;
    return open && place < length ? [`${name} has item ${place} of ${length} although all is quiet`] : [];
  });
}
