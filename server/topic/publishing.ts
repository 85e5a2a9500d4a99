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
  #written = false;

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
    this.#written = true;
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
   * The transaction has failed. Mostly nothing of it stands; but when its callback had ended, a store that broke
   * cannot say so. A durable topic looks into the store then; one in memory says that an item is lost, since nothing
   * could tell it later.
   */
  falls(): void {
    this.#open = false;
    for (const { name, seq } of this.#outgoing) {
      if (!(name instanceof DurableName)) {
        if (this.#written) this.#topics.memory(name).lose();
      } else if (seq !== undefined) this.#topics.knownDurable(name)?.doubt();
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
