/**
 * What a program sees of a topic: where a server publishes what streams follow. The types lie here since the
 * contexts of handlers name them, and a client that imports a generated file must not load a server.
 *
 * Source: design "Streams: The server".
 */
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";

/** Any topic: what a stream can follow. */
export interface AnyTopic<Item extends DescMessage = DescMessage> {
  /** What tells it from the method's other topics. */
  readonly key: string;
  /** Whether its items and their numbers are in the server's store, and outlive the process. */
  readonly durable: boolean;
  /** Never set: it ties the items' type to the topic. */
  readonly $item?: () => Item;
}

/** A topic in the memory of this process. The next process numbers anew, and followers are told so. */
export interface Topic<Item extends DescMessage = DescMessage> extends AnyTopic<Item> {
  readonly durable: false;
  /**
   * Gives an item the next number, and hands it to everybody who follows at the end of this turn. Never waits for
   * a follower. The message is taken as it is now: it may be changed afterwards.
   *
   * @returns the item's number: 1, 2, 3 … in one life of the topic.
   * @throws RangeError for an item above 1 MiB.
   */
  publish(message: MessageInitShape<Item>): number;
}

/** A topic in the server's store: numbers and the last items are the same after a restart. */
export interface DurableTopic<Item extends DescMessage = DescMessage> extends AnyTopic<Item> {
  readonly durable: true;
  /**
   * Writes an item in a transaction of its own. Followers see it when it is durable, and so does who publishes.
   * What belongs to a command's own writes is published inside `ctx.transaction` instead.
   *
   * @returns the item's number: 1, 2, 3 … in one life of the store.
   * @throws StoreError as a rejection: nobody has seen the item, and it may or may not be there.
   * @throws RangeError as a rejection for an item above 1 MiB.
   */
  publish(message: MessageInitShape<Item>): Promise<number>;
}

/**
 * Publishes as a part of a transaction: followers see the item when the transaction is durable, and never when it
 * is rolled back. An item of a durable topic is in the same commit as the rest.
 *
 * @throws TypeError after the transaction's callback has ended.
 * @throws RangeError for an item above 1 MiB.
 */
export type Publish = <Item extends DescMessage>(
  topic: AnyTopic<Item>,
  message: MessageInitShape<NoInfer<Item>>,
) => void;

/** How a stream follows a topic. */
export interface FollowOptions {
  /**
   * How many of the items that are there already a client gets that follows for the first time, as far as the
   * topic still has them. 0 or more. Default: 0, it begins with the next one. Says nothing to a client that
   * resumes.
   */
  readonly backlog?: number;
}

/** A numbered source of a program's own, such as rows of a table by their ID. */
export interface NumberedSource<Item> {
  /**
   * The items whose numbers are above `seq`, in rising order, each with its number: from those that are there to
   * those still to come, until `signal` aborts. Numbers are whole, from 1, and may skip.
   */
  readonly after: (seq: number, signal: AbortSignal) => AsyncIterable<readonly [seq: number, item: Item]>;
  /** The number that a client begins after which follows for the first time. Default: 0, with the first item. */
  readonly begin?: () => number | Promise<number>;
  /**
   * The number of the oldest item that is still there. A client that asks for one before it begins with this one,
   * and is told that what lay between is not known. Default: the source never drops any.
   */
  readonly oldest?: () => number | Promise<number>;
  /**
   * Names one life of the numbering: text that changes whenever a number may name another item than before, 1 to
   * 64 characters. Default: that of the server's store, which is right for numbers that are kept in it.
   */
  readonly epoch?: string;
}
