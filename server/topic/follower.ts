/**
 * One reader of a topic: a place in its ring.
 *
 * Its room is counted from the last time when nothing waited for it: a burst that is published in one turn makes
 * nobody slow, and who comes back has the whole ring to catch up. What was published while it could not be written
 * to, beyond its room, ends it; so does a ring that has moved past its place.
 *
 * Source: design "Streams: The server"; reliability decision D43.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { itemBytesMost, type TopicItem } from "./item.ts";
import type { Gap, Place, StreamSource, Taken, TopicBatch } from "./source.ts";

/** Bytes that may wait for one reader, beside its count. */
export const roomBytesMost: number = itemBytesMost;

/** A topic as a follower sees it. */
export interface FollowedTopic<Item extends DescMessage = DescMessage> {
  readonly epoch: string;
  readonly roomCount: number;
  /** The number of the newest item; 0: there was none. */
  readonly lastSeq: number;
  /** The number of the oldest item that is there; one more than the last where none is. */
  readonly firstSeq: number;
  /** Bytes of all items of this life. */
  readonly endBytes: number;
  get(seq: number): TopicItem<Item> | undefined;
  /** The next items behind a place: the same batch for all who are there. */
  batchAfter(afterSeq: number): TopicBatch<Item>;
  /** Wakes once, at the end of a turn that published. */
  wait(wake: () => void): void;
  /** A follower goes. */
  leave(wake: () => void): void;
}

const nothing: Taken = { kind: "nothing" };
const lagged: Taken = { kind: "lagged" };

export class TopicFollower<Item extends DescMessage = DescMessage> implements StreamSource {
  readonly at: Place;
  readonly restarted: boolean;
  readonly lost: Gap | undefined;
  readonly #topic: FollowedTopic<Item>;
  /** The number of the last item that was taken. */
  #seq: number;
  /** What was there when nothing waited for this reader, and is not counted against its room. */
  #freeSeq: number;
  #freeBytes: number;
  #wake: (() => void) | undefined;
  readonly #woken = (): void => {
    this.#free();
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  };
  #closed = false;

  /** @param from - the number that it begins behind; the ring may have moved past it. */
  constructor(topic: FollowedTopic<Item>, from: { readonly seq: number; readonly restarted: boolean }) {
    this.#topic = topic;
    this.at = { epoch: topic.epoch, seq: from.seq };
    this.restarted = from.restarted;
    const beforeFirst = topic.firstSeq - 1;
    this.#seq = Math.max(from.seq, beforeFirst);
    this.lost = from.seq < beforeFirst ? { count: beforeFirst - from.seq, seq: beforeFirst } : undefined;
    this.#freeSeq = topic.lastSeq;
    this.#freeBytes = topic.endBytes;
  }

  take(): Taken {
    const batch = this.takeBatch();
    return typeof batch === "object" ? { kind: "items", batch } : batch === "lagged" ? lagged : nothing;
  }

  /** As {@link take}, for who reads the items themselves. */
  takeBatch(): TopicBatch<Item> | "nothing" | "lagged" {
    const topic = this.#topic;
    if (this.#seq === topic.lastSeq) return "nothing";
    if (this.#seq + 1 < topic.firstSeq || this.#isFull()) return "lagged";
    const batch = topic.batchAfter(this.#seq);
    this.#seq = batch.items.at(-1)?.seq ?? this.#seq;
    return batch;
  }

  wait(wake: () => void): void {
    this.#wake = wake;
    this.#topic.wait(this.#woken);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#wake = undefined;
    this.#topic.leave(this.#woken);
  }

  /** All that is there now was published while this reader waited for it. */
  #free(): void {
    this.#freeSeq = this.#topic.lastSeq;
    this.#freeBytes = this.#topic.endBytes;
  }

  #isFull(): boolean {
    const topic = this.#topic;
    const waitingCount = topic.lastSeq - Math.max(this.#seq, this.#freeSeq);
    if (waitingCount > topic.roomCount) return true;
    if (waitingCount < 2) return false; // one always has room
    return topic.endBytes - Math.max(this.#takenBytes(), this.#freeBytes) > roomBytesMost;
  }

  /** Bytes of the topic's life up to the last item that was taken. */
  #takenBytes(): number {
    const next: TopicItem<Item> | undefined = this.#topic.get(this.#seq + 1);
    return next === undefined ? this.#topic.endBytes : next.endBytes - next.bytes.length;
  }
}
