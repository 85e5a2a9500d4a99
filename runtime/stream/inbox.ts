/**
 * What has arrived and was not handed over yet. It is bounded by who fills it: while it is full, nothing more is
 * read from the connection, which slows the server down.
 *
 * Source: design "Streams: The client".
 */
import type { Gap } from "../base/streams.ts";
import type { Position } from "./resume-point.ts";

/** One thing in its place. */
export type Arrived<T> =
  | { readonly kind: "item"; readonly item: T; readonly at: Position | undefined; readonly byteCount: number }
  | { readonly kind: "gap"; readonly gap: Gap };

/** Bytes that may wait, as on the server's side. */
export const waitingBytesMost = 1_048_576;

export class Inbox<T> {
  readonly #roomCount: number;
  #arrived: Arrived<T>[] = [];
  #byteCount = 0;
  /** Who waits for something to come, and who waits for room. */
  #reader: (() => void) | undefined;
  #writer: (() => void) | undefined;

  constructor(roomCount: number) {
    this.#roomCount = roomCount;
  }

  get isFull(): boolean {
    return this.#arrived.length >= this.#roomCount || this.#byteCount >= waitingBytesMost;
  }

  get count(): number {
    return this.#arrived.length;
  }

  put(one: Arrived<T>): void {
    this.#arrived.push(one);
    if (one.kind === "item") this.#byteCount += one.byteCount;
    if (this.#reader !== undefined) this.wakeReader();
  }

  /** The next one, if it is an item. */
  takeItem(): Extract<Arrived<T>, { readonly kind: "item" }> | undefined {
    const [first] = this.#arrived;
    return first?.kind === "item" ? (this.take() as typeof first) : undefined;
  }

  take(): Arrived<T> | undefined {
    const one = this.#arrived.shift();
    if (one?.kind === "item") this.#byteCount -= one.byteCount;
    if (this.#writer !== undefined && !this.isFull) this.wakeWriter();
    return one;
  }

  /** Nobody will take what is here. */
  clear(): void {
    this.#arrived = [];
    this.#byteCount = 0;
    this.wakeWriter();
  }

  /** Calls once, at the next arrival or when `wakeReader` is called. One may wait at a time. */
  onArrival(fn: () => void): void {
    this.#reader = fn;
  }

  /** Resolves then. */
  arrival(): Promise<void> {
    return new Promise((resolve) => this.onArrival(resolve));
  }

  /** Resolves as soon as there is room, or when `wakeWriter` is called. One may wait at a time. */
  room(): Promise<void> {
    if (!this.isFull) return Promise.resolve();
    return new Promise((resolve) => {
      this.#writer = resolve;
    });
  }

  wakeReader(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.();
  }

  wakeWriter(): void {
    this.#writer?.();
    this.#writer = undefined;
  }
}
