/**
 * S1-S4, S6: a stream gives each item once and in order, none before it is durable, says exactly how many it has lost,
 * and has the last one when all is quiet.
 */
import type { HistoryEvent } from "../history.ts";
import type { WorldEnd } from "../world.ts";

/** As the schema says. */
const keepCount = 16;

interface Reader {
  readonly list: string;
  /** Where the last item may stand: a key may be there twice, by two commands that are equal. */
  places: readonly number[];
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
  if (end.plan.diskFailRate > 0) return breaches.filter((text) => !text.includes("are lost"));
  return breaches;
}

function follow(
  event: HistoryEvent,
  readers: Map<string, Reader>,
  lists: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  if (event.kind === "opened") {
    readers.set(event.stream, { list: event.list, places: [], lost: 0, unknown: false, open: true });
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
    const kept = (lists.get(reader.list)?.length ?? 0) - keepCount;
    const upTo = Math.min(...reader.places) + reader.lost;
    // Less may be kept than is durable, never more.
    if (reader.places.length > 0 && !reader.unknown && upTo > kept) {
      return [`${event.stream} was told that items up to ${upTo} are lost, which are kept still`];
    }
  } else return took(event.stream, event.key, reader, lists.get(reader.list) ?? []);
  return [];
}

function took(name: string, key: string, reader: Reader, keys: readonly string[]): readonly string[] {
  const { places: before, lost, unknown } = reader;
  const all = keys.flatMap((one, index) => (one === key ? [index + 1] : []));
  const later = before.length === 0 ? all : all.filter((place) => place > Math.min(...before));
  if (later.length === 0) {
    return [all.length > 0 ? `${name} got ${key} again` : `${name} got ${key}, which is not durable`];
  }
  const next = later.filter((place) => before.includes(place - lost - 1));
  const anywhere = before.length === 0 || unknown;
  Object.assign(reader, { places: anywhere || next.length === 0 ? later : next, lost: 0, unknown: false });
  if (anywhere || next.length > 0) return [];
  return [
    `${name} got item ${later.join(" or ")} after ${before.join(" or ")}, and was told that ${lost} are lost`,
  ];
}

function behind(
  readers: ReadonlyMap<string, Reader>,
  lists: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  return [...readers].flatMap(([name, { list, places, open }]) => {
    const length = lists.get(list)?.length ?? 0;
    if (!open || length === 0 || places.includes(length)) return [];
    return [`${name} has item ${places.join(" or ")} of ${length} although all is quiet`];
  });
}
