/** The last items of a topic: those that a follower who was away can still have. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { TopicItem } from "./item.ts";

export interface RingBounds {
  readonly countMost: number;
  readonly bytesMost: number;
}

export class Ring<Item extends DescMessage = DescMessage> {
  readonly #bounds: RingBounds;
  /** By their numbers, which follow each other. */
  readonly #items = new Map<number, TopicItem<Item>>();
  #firstSeq: number;
  #bytes = 0;

  /** @param lastSeq - the number of the last item before the first one here. */
  constructor(bounds: RingBounds, lastSeq: number) {
    this.#bounds = bounds;
    this.#firstSeq = lastSeq + 1;
  }

  /** The number of the oldest item; of the next one while there is none. */
  get firstSeq(): number {
    return this.#firstSeq;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds the next item; the oldest go for it, so that the newest is always there. */
  push(item: TopicItem<Item>): void {
    this.#items.set(item.seq, item);
    this.#bytes += item.bytes.length;
    for (const oldest of this.#items.values()) {
      const fits = this.#items.size <= this.#bounds.countMost && this.#bytes <= this.#bounds.bytesMost;
      if (fits || oldest === item) break;
      this.#items.delete(oldest.seq);
      this.#bytes -= oldest.bytes.length;
      this.#firstSeq = oldest.seq + 1;
    }
  }

  get(seq: number): TopicItem<Item> | undefined {
    return this.#items.get(seq);
  }

  /** The items that follow a number, one at least if there is one, within bounds. */
  after(seq: number, { countMost, bytesMost }: RingBounds): readonly TopicItem<Item>[] {
    const taken: TopicItem<Item>[] = [];
    let bytes = 0;
    for (let item = this.#items.get(seq + 1); item !== undefined; item = this.#items.get(item.seq + 1)) {
      bytes += item.bytes.length;
      if (taken.length > 0 && (taken.length >= countMost || bytes > bytesMost)) break;
      taken.push(item);
    }
    return taken;
  }
}
