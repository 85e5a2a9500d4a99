/**
 * Where durable topics lie: numbers and the last items, in the server's store. Every function is synchronous and is
 * called inside a transaction of that store, so that an item is in the same commit as the command that published it.
 *
 * Source: design "Streams: The server"; reliability decision D42.
 */
import type { RingBounds } from "./ring.ts";

export interface ShelvedItem {
  readonly seq: number;
  readonly bytes: Uint8Array;
}

/** The end of a topic. */
export interface Shelved {
  /** The number of its last item; 0: there was none. */
  readonly lastSeq: number;
  /** In order, without a hole, up to the last. */
  readonly items: readonly ShelvedItem[];
}

export interface TopicShelf {
  /** Whether what was appended goes when the transaction is rolled back; else it is appended once that stands. */
  readonly rollsBack: boolean;
  /** Appends an item and gives its number. Items before the last `keepCount` may go. */
  append(topic: string, bytes: Uint8Array, keepCount: number): number;
  /** The newest items behind a number, within bounds. */
  read(topic: string, afterSeq: number, bounds: RingBounds): Shelved;
}
