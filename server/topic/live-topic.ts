/**
 * A topic as it lives in this process: its numbering, its ring and who follows it.
 *
 * A follower has no queue. It is a place in the ring, so what waits for ten thousand readers is there once, a
 * publisher does nothing for one that is slow, and memory does not grow with what a reader leaves.
 *
 * Source: design "Streams: The server"; reliability decisions D41-D44.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { type FollowedTopic, TopicFollower } from "./follower.ts";
import { TopicItem } from "./item.ts";
import { Ring } from "./ring.ts";
import { type Place, TopicBatch } from "./source.ts";

/** Bytes of the items that a topic keeps, in binary protobuf. */
export const ringBytesMost: number = 4 * 1_048_576;
/** One packet of items is no larger, so that a slow reader's connection holds little. */
const batchBounds = { countMost: 256, bytesMost: 262_144 };

export interface LiveTopicParts<Item extends DescMessage> {
  readonly schema: Item;
  readonly epoch: string;
  /** The number of the last item before the first one that is pushed. */
  readonly lastSeq: number;
  readonly keepCount: number;
  readonly roomCount: number;
}

export class LiveTopic<Item extends DescMessage = DescMessage> implements FollowedTopic<Item> {
  readonly epoch: string;
  readonly roomCount: number;
  readonly #schema: Item;
  readonly #ring: Ring<Item>;
  #lastSeq: number;
  #endBytes = 0;
  #followerCount = 0;
  #waiting = new Set<() => void>();
  #telling = false;
  #batch:
    | { readonly afterSeq: number; readonly lastSeq: number; readonly batch: TopicBatch<Item> }
    | undefined;

  constructor(parts: LiveTopicParts<Item>) {
    this.#schema = parts.schema;
    this.epoch = parts.epoch;
    this.roomCount = parts.roomCount;
    this.#lastSeq = parts.lastSeq;
    this.#ring = new Ring({ countMost: parts.keepCount, bytesMost: ringBytesMost }, parts.lastSeq);
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  get firstSeq(): number {
    return this.#ring.firstSeq;
  }

  get endBytes(): number {
    return this.#endBytes;
  }

  get followerCount(): number {
    return this.#followerCount;
  }

  /** Adds the next item; followers hear of it at the end of this turn. Gives its number. */
  push(bytes: Uint8Array): number {
    return this.#push(bytes);
  }

  /** There may have been a next item, and nobody can tell: followers hear that one is lost. */
  lose(): void {
    this.#push(undefined);
  }

  #push(bytes: Uint8Array | undefined): number {
    this.#lastSeq += 1;
    this.#endBytes += bytes?.length ?? 0;
    this.#ring.push(new TopicItem(this.#schema, this.#lastSeq, bytes, this.#endBytes));
    this.#tellLater();
    return this.#lastSeq;
  }

  get(seq: number): TopicItem<Item> | undefined {
    return this.#ring.get(seq);
  }

  /**
   * Follows from behind a place, or for the first time.
   *
   * A place of another epoch, or one that has not come yet, is none of this life: it begins with the oldest item
   * that is there, since all of them are new to who has only seen another life.
   */
  follow(after: Place | undefined, backlog: number): TopicFollower<Item> {
    this.#followerCount += 1;
    const oldest = this.#ring.firstSeq - 1;
    if (after === undefined) {
      return new TopicFollower(this, { seq: Math.max(oldest, this.#lastSeq - backlog), restarted: false });
    }
    if (after.epoch !== this.epoch || after.seq > this.#lastSeq) {
      return new TopicFollower(this, { seq: oldest, restarted: true });
    }
    return new TopicFollower(this, { seq: after.seq, restarted: false });
  }

  batchAfter(afterSeq: number): TopicBatch<Item> {
    const known = this.#batch;
    if (known?.afterSeq === afterSeq && known.lastSeq === this.#lastSeq) return known.batch;
    const batch = new TopicBatch(this.#ring.after(afterSeq, batchBounds));
    this.#batch = { afterSeq, lastSeq: this.#lastSeq, batch };
    return batch;
  }

  wait(wake: () => void): void {
    this.#waiting.add(wake);
  }

  leave(wake: () => void): void {
    this.#waiting.delete(wake);
    this.#followerCount -= 1;
  }

  #tellLater(): void {
    if (this.#telling) return;
    this.#telling = true;
    // After every promise of this turn: what is published in it belongs in one packet.
    queueMicrotask(() => queueMicrotask(() => this.#tell()));
  }

  #tell(): void {
    this.#telling = false;
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }
}
