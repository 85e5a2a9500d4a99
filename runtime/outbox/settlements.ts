/**
 * Who waits for the later outcome of a command, and what it was: for a while also of those that nobody waited
 * for, since a program may ask a moment too late.
 *
 * Source: design "The outbox".
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { reasonError } from "../base/errors.ts";
import type { HoldfastError } from "../base/errors.ts";
import type { FailedOutcome } from "./ending.ts";

/** How a command that waited in the outbox has ended. */
export type Settlement = {
  readonly callId: string;
  /** "board.v1.BoardService/Post". */
  readonly method: string;
} & (
  | {
      readonly kind: "reply";
      /** In protobuf's binary form. */
      readonly reply: Uint8Array;
      /** The same as a message; undefined for a method that this process has not called. */
      readonly message: MessageShape<DescMessage> | undefined;
    }
  | { readonly kind: "failure"; readonly outcome: FailedOutcome; readonly error: HoldfastError }
);

/** Settlements that are remembered after everybody was told. */
const recentCountMost = 256;

interface Waiter {
  readonly resolve: (settlement: Settlement) => void;
  readonly reject: (error: unknown) => void;
}

export class Settlements {
  readonly #recent = new Map<string, Settlement>();
  readonly #waiters = new Map<string, Waiter[]>();
  readonly #listeners = new Set<(settlement: Settlement) => void>();

  /** @param known - its program gets it from the call itself, and listeners are not told. */
  tell(settlement: Settlement, known: boolean): void {
    const { callId } = settlement;
    this.#recent.set(callId, settlement);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > recentCountMost && oldest !== undefined) this.#recent.delete(oldest);
    for (const { resolve } of this.#waiters.get(callId) ?? []) resolve(settlement);
    this.#waiters.delete(callId);
    if (known) return;
    for (const listener of [...this.#listeners]) {
      try {
        listener(settlement);
      } catch (error) {
        // The program's own mistake: shown as one, and not made ours.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  recent(callId: string): Settlement | undefined {
    return this.#recent.get(callId);
  }

  wait(callId: string): Promise<Settlement> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(callId) ?? [];
      waiters.push({ resolve, reject });
      this.#waiters.set(callId, waiters);
    });
  }

  listen(fn: (settlement: Settlement) => void): () => void {
    // A wrapper of its own, so that one function given twice is called twice and removed once.
    const listener = (settlement: Settlement): void => fn(settlement);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The link is closed: who waits is told so, and may ask again on another link. */
  close(): void {
    for (const waiters of this.#waiters.values()) {
      for (const { reject } of waiters) reject(reasonError("LINK_CLOSED"));
    }
    this.#waiters.clear();
    this.#listeners.clear();
  }
}
