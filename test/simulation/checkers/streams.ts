/**
 * S1-S4, S6: a stream gives each item once and in order, none before it is durable, says exactly how many it has lost,
 * and has the last one when all is quiet.
 *
 * A topic in memory cannot know whether an item is durable whose commit has failed unheard. It takes a number all the
 * same, and counts as lost.
 */
import type { HistoryEvent } from "../history.ts";
import type { WorldEnd } from "../world.ts";

/** As the schema says. */
const keepCount = 16;

/** What a topic has numbered: a key, or undefined for what nobody can be shown. */
type Numbered = readonly (string | undefined)[];

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
  const lists = new Map<string, Numbered>();
  for (const event of end.history.events) {
    if (event.kind === "effect" && event.effect.place > 0) {
      const { list, key } = event.effect;
      lists.set(list, [...(lists.get(list) ?? []), key]);
    } else if (event.kind === "doubt") {
      // Nothing else is numbered between an effect and the doubt in it, as the disk writes one thing at a time.
      const { list } = event.effect;
      const keys = lists.get(list) ?? [];
      lists.set(list, [...(event.durable ? keys.slice(0, -1) : keys), undefined]);
    } else if (event.kind === "phase" && event.name === "restart") {
      breaches.push(...behind(readers, lists));
    } else breaches.push(...follow(event, readers, lists));
  }
  return breaches;
}

function follow(
  event: HistoryEvent,
  readers: Map<string, Reader>,
  lists: ReadonlyMap<string, Numbered>,
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
    // A list has no end: nothing but a throw ends its reader.
    if (event.text === "the loop is over") return [`${event.stream} is over, and its list is not`];
  } else if (event.kind === "gap") {
    if (event.count === undefined) reader.unknown = true;
    else reader.lost += event.count;
    const { places, lost, unknown } = reader;
    const keys = lists.get(reader.list) ?? [];
    if (places.length > 0 && !unknown && !places.some((place) => isGone(keys, place, lost))) {
      return [
        `${event.stream} was told that ${lost} after ${places.join(" or ")} are lost, which are kept still`,
      ];
    }
  } else return took(event.stream, event.key, reader, lists.get(reader.list) ?? []);
  return [];
}

/** Less may be kept than is durable, never more. */
function isGone(keys: Numbered, place: number, count: number): boolean {
  const kept = keys.length - keepCount;
  return place + count <= keys.length && keys.slice(Math.max(place, kept), place + count).every(isNothing);
}

function isNothing(key: string | undefined): boolean {
  return key === undefined;
}

function took(name: string, key: string, reader: Reader, keys: Numbered): readonly string[] {
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
  lists: ReadonlyMap<string, Numbered>,
): readonly string[] {
  return [...readers].flatMap(([name, { list, places, open }]) => {
    const last = (lists.get(list) ?? []).findLastIndex((key) => key !== undefined) + 1;
    if (!open || last === 0 || places.includes(last)) return [];
    return [`${name} has item ${places.join(" or ")} of ${last} although all is quiet`];
  });
}
