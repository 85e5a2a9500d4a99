/**
 * What one transaction publishes. Items of durable topics are written when its callback has ended, in the same
 * transaction; all of them are shown when that is durable, in the order in which they were published.
 *
 *   open ──the callback ends: write()──▶ written ──▶ stands() | falls()
 *
 * Source: reliability decision D42.
 */
import type { Publish } from "../../runtime/base/topics.ts";
import { DurableName, type MemoryName, type Topics } from "./topics.ts";

interface Outgoing {
  readonly name: MemoryName | DurableName;
  readonly bytes: Uint8Array;
  /** The number, where it was taken in the transaction. */
  seq: number | undefined;
}

export class Publishing {
  readonly #topics: Topics;
  readonly #outgoing: Outgoing[] = [];
  #open = true;

  constructor(topics: Topics) {
    this.#topics = topics;
  }

  readonly publish: Publish = (topic, message) => {
    if (!this.#open) {
      throw new TypeError(
        "publish was called after the transaction's callback had ended. Call it inside, or use topic.publish.",
      );
    }
    const name = this.#topics.nameOf(topic);
    this.#outgoing.push({ name, bytes: name.bytesOf(message), seq: undefined });
  };

  /** The callback has ended; inside the transaction. */
  write(tx: unknown): void {
    this.#open = false;
    for (const one of this.#outgoing) {
      if (!(one.name instanceof DurableName)) continue;
      const shelf = this.#topics.shelfIn(tx);
      if (shelf.rollsBack) one.seq = append(shelf, one.name, one.bytes);
    }
  }

  /** All of it is durable. */
  stands(): void {
    for (const { name, bytes, seq } of this.#outgoing) {
      if (name instanceof DurableName) {
        const taken = seq ?? append(this.#topics.shelfIn(undefined), name, bytes);
        this.#topics.knownDurable(name)?.stands(taken, bytes);
      } else {
        this.#topics.memory(name).push(bytes);
      }
    }
  }

  /**
   * The transaction has failed. Mostly nothing of it stands; a store that broke cannot say so. A durable topic looks
   * into the store then; one in memory shows nothing, even if the transaction stands.
   */
  falls(): void {
    this.#open = false;
    for (const { name, seq } of this.#outgoing) {
      if (seq !== undefined && name instanceof DurableName) this.#topics.knownDurable(name)?.doubt();
    }
  }
}

function append(
  shelf: ReturnType<Topics["shelfIn"]>,
  { name, definition }: DurableName,
  bytes: Uint8Array,
): number {
  return shelf.append(name, bytes, definition.keepCount);
}
