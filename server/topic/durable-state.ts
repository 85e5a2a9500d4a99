/**
 * A durable topic as this process knows it, while somebody follows it. What is in the store is the truth: the state
 * is read from it when the first follower comes, and each item is shown once its transaction is durable.
 *
 * Transactions of one commit are told in an order that depends on who waits for them, so an item may be heard of
 * before the one before it. It waits then: followers see numbers without a hole.
 *
 *   cold ──follow──▶ reading ──read──▶ live ──a transaction failed──▶ reading again, live meanwhile
 *
 * Source: reliability decisions D41, D42.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { TopicFollower } from "./follower.ts";
import { LiveTopic, type LiveTopicParts, ringBytesMost } from "./live-topic.ts";
import type { Shelved } from "./shelf.ts";
import type { Place } from "./source.ts";

export interface DurableParts extends Omit<LiveTopicParts<DescMessage>, "lastSeq"> {
  /** Reads the newest items behind a number from the store. */
  read(afterSeq: number, bounds: { countMost: number; bytesMost: number }): Promise<Shelved>;
  /** Told when the store could not be read after a transaction had failed. */
  failed(error: unknown): void;
}

type Opener = (live: LiveTopic) => void;

export class DurableState {
  readonly #parts: DurableParts;
  #live: LiveTopic | undefined;
  #reading: Promise<void> | undefined;
  #openers: Opener[] = [];
  /** Durable, and one before it is not known yet. */
  readonly #early = new Map<number, Uint8Array>();

  constructor(parts: DurableParts) {
    this.#parts = parts;
  }

  /** Whether nothing would be lost with it: the store has it all. */
  get idle(): boolean {
    return this.#reading === undefined && (this.#live?.followerCount ?? 0) === 0;
  }

  /**
   * Follows; what becomes durable from now on is not missed. Rejects with the store's error.
   */
  follow(after: Place | undefined, backlog: number): TopicFollower | Promise<TopicFollower> {
    if (this.#live !== undefined) return this.#live.follow(after, backlog);
    return new Promise((resolve, reject) => {
      // Opened on what was read, before anything that became durable meanwhile is shown.
      this.#openers.push((live) => resolve(live.follow(after, backlog)));
      this.#reading ??= this.#read();
      this.#reading.catch(reject);
    });
  }

  /** An item is durable. */
  stands(seq: number, bytes: Uint8Array): void {
    if (this.#live === undefined && this.#reading === undefined) return; // read when somebody asks
    this.#early.set(seq, bytes);
    this.#show();
  }

  /** A transaction that wrote items has failed. Nobody here knows whether they stand, but the store does. */
  doubt(): void {
    if (this.#live === undefined) return;
    this.#reading ??= this.#read();
    this.#reading.catch((error: unknown) => this.#parts.failed(error));
  }

  async #read(): Promise<void> {
    try {
      const { keepCount } = this.#parts;
      const bounds = { countMost: keepCount, bytesMost: ringBytesMost };
      const { lastSeq, items } = await this.#parts.read(this.#live?.lastSeq ?? 0, bounds);
      const live = (this.#live ??= new LiveTopic({ ...this.#parts, lastSeq: lastSeq - items.length }));
      for (const { seq, bytes } of items) if (seq === live.lastSeq + 1) live.push(bytes);
      for (const open of this.#openers.splice(0)) open(live);
    } finally {
      this.#reading = undefined;
      this.#openers = [];
    }
    this.#show();
  }

  /** Hands on what has its turn. */
  #show(): void {
    const live = this.#live;
    if (live === undefined) return;
    for (const seq of this.#early.keys()) if (seq <= live.lastSeq) this.#early.delete(seq);
    for (let bytes = this.#early.get(live.lastSeq + 1); bytes !== undefined; ) {
      this.#early.delete(live.lastSeq + 1);
      live.push(bytes);
      bytes = this.#early.get(live.lastSeq + 1);
    }
  }
}
