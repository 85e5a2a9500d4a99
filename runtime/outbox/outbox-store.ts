/**
 * The seam to where an outbox keeps its entries. A store knows names and bytes; what is in them, their order,
 * their age and their limits are the outbox's business. One store is one outbox: one server and one account.
 * Several processes (or tabs) may have it open at once, and all of them may read and put at any time; only who
 * holds the lock sends.
 *
 * Source: design "The outbox"; reliability decisions D30, D31, D37.
 */
export interface OutboxStore {
  /** What is kept, in any order. What cannot be an entry (a half-written file) is not listed. */
  list(): Promise<readonly StoredName[]>;
  /** The bytes as they were put. Rejects only when the store itself fails, which says nothing of the entry. */
  read(name: string): Promise<StoredBytes>;
  /**
   * Keeps the bytes, in place of those of the same name. When it resolves they survive a crash of the process
   * and of the machine; when it rejects, what was there before is there still.
   */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Removes it as durably; nothing happens when it is gone already. */
  drop(name: string): Promise<void>;
  /** Moves it out of the list, unchanged, to where a person can look at it; says where. */
  aside(name: string): Promise<string>;
  /**
   * Takes the lock, if nobody has it; undefined: another one does. The lock of a holder that died is free
   * after 10 s at most.
   */
  lock(): Promise<OutboxLease | undefined>;
}

export interface StoredName {
  /** Letters, digits, `-`, `_` and dots. */
  readonly name: string;
  readonly sizeBytes: number;
}

export type StoredBytes =
  | { readonly kind: "whole"; readonly bytes: Uint8Array }
  /** Another process has removed it. */
  | { readonly kind: "gone" }
  /** Not what was put: cut off, changed, or written by a version that this one does not know. */
  | { readonly kind: "damaged"; readonly why: string };

/** The lock, while it is held. */
export interface OutboxLease {
  /** Aborts when the lock is lost, such as to another process while this one was stopped. */
  readonly lost: AbortSignal;
  /** Gives it back. Never rejects; a lost lock is not given back. */
  release(): Promise<void>;
}
