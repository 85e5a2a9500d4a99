/**
 * I13: what its client has settled does not begin any more, at the latest while a server runs a call that says so and
 * keeps it.
 */
import type { WorldEnd } from "../world.ts";

/** A call that said up to where its lane is settled, and ran. */
interface Word {
  readonly settled: number;
  readonly from: number;
  to: number;
}

export function settledCalls(end: WorldEnd): readonly string[] {
  const breaches: string[] = [];
  /** By server and call: what its first copy there has said. */
  const arrivals = new Map<string, Seat>();
  /** By server, caller and lane. */
  const words = new Map<string, Word[]>();
  const running = new Map<string, Word>();
  const begun: (Seat & { readonly key: string; readonly place: string })[] = [];
  for (const event of end.history.events) {
    if (event.kind === "network") {
      const { kind, request, where, header } = event.event;
      const seat = seatOf(request?.header.get("holdfast-call") ?? "", event.at);
      if (seat === undefined) continue;
      const id = `${where} ${seat.callId}`;
      if ((kind === "arrived" || kind === "twin") && !arrivals.has(id)) arrivals.set(id, seat);
      if (kind !== "answered" || header?.get("holdfast-settled") !== "ran") continue;
      const word = running.get(id);
      if (word !== undefined) word.to = Math.min(word.to, event.at);
    } else if (event.kind === "started") {
      const id = `${event.server} ${event.callId}`;
      const seat = arrivals.get(id);
      if (seat === undefined) continue;
      const place = `${event.server} ${event.by} ${seat.lane}`;
      begun.push({ ...seat, key: event.key, place });
      const word: Word = { settled: seat.settled, from: event.at, to: Infinity };
      running.set(id, word);
      words.set(place, [...(words.get(place) ?? []), word]);
    }
  }
  for (const { at, key, place, seq } of begun) {
    const heard = words
      .get(place)
      ?.some(({ settled, from, to }) => from < at && at < to && to < Infinity && settled >= seq);
    if (heard === true) breaches.push(`${key} came and began although its client had settled it`);
  }
  return breaches;
}

interface Seat {
  readonly callId: string;
  readonly lane: string;
  readonly seq: number;
  readonly settled: number;
  readonly at: number;
}

function seatOf(header: string, at: number): Seat | undefined {
  const [, callId = "", lane = "", seq, settled] =
    /^"([^"]+)";l="([^"]+)";s=(\d+);u=(\d+)/.exec(header) ?? [];
  return callId === "" ? undefined : { callId, lane, seq: Number(seq), settled: Number(settled), at };
}
