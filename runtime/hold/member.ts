/**
 * What a program sees of one state of an object through its reference: the last value, and watches that skip to the
 * newest.
 *
 * Source: design "Held objects: Reference state".
 */
import type { Message } from "@bufbuild/protobuf";
import type { Timer } from "../base/clock.ts";
import type { Member } from "../base/objects.ts";

/** What the reference has of a state at this moment. */
export type MemberReading =
  /** Nothing came yet. */
  | { readonly kind: "none" }
  | { readonly kind: "value"; readonly value: Message }
  /** A read throws this: the state failed, or the reference, or there is no such state any more. */
  | { readonly kind: "error"; readonly error: Error; readonly last: Message | undefined };

export interface MemberOwner {
  reading(name: string): MemberReading;
  /** What a read says before the first value. */
  notReady(name: string): Error;
  /** Keeps the program alive until it is cancelled. */
  awake(): Timer;
}

export class HeldMember implements Member<Message> {
  readonly #name: string;
  readonly #owner: MemberOwner;
  readonly #subscribers = new Set<(value: Message) => void>();
  readonly #watches = new Set<Watch>();

  constructor(name: string, owner: MemberOwner) {
    this.#name = name;
    this.#owner = owner;
  }

  get value(): Message {
    const reading = this.#owner.reading(this.#name);
    if (reading.kind === "value") return reading.value;
    throw reading.kind === "error" ? reading.error : this.#owner.notReady(this.#name);
  }

  readonly get = (): Message | undefined => {
    const reading = this.#owner.reading(this.#name);
    if (reading.kind === "value") return reading.value;
    return reading.kind === "error" ? reading.last : undefined;
  };

  readonly subscribe = (fn: (value: Message) => void): (() => void) => {
    // A wrapper of its own, so that one function subscribed twice is called twice and removed once.
    const subscriber = (value: Message): void => fn(value);
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  };

  [Symbol.asyncIterator](): AsyncIterator<Message, undefined> {
    const watch = new Watch(
      (ended) => this.#watches.delete(ended),
      () => this.#owner.awake(),
    );
    const reading = this.#owner.reading(this.#name);
    if (reading.kind === "error") watch.fail(reading.error);
    else {
      this.#watches.add(watch);
      if (reading.kind === "value") watch.offer(reading.value);
    }
    return watch;
  }

  /** A new value. */
  offer(value: Message): void {
    for (const watch of [...this.#watches]) watch.offer(value);
    for (const subscriber of [...this.#subscribers]) {
      // One of those before it may have removed it, or released the reference.
      if (!this.#subscribers.has(subscriber)) continue;
      try {
        subscriber(value);
      } catch (error) {
        // The program's own mistake: shown as one, and not made ours.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  /** The state has no value any more. */
  fail(error: Error): void {
    for (const watch of [...this.#watches]) watch.fail(error);
  }

  /** The reference failed: only who has seen nothing yet is told. */
  referenceFailed(cause: Error): void {
    for (const watch of [...this.#watches]) watch.failUnlessBegun(cause);
  }

  /** The variant that is bound now lacks it. */
  lost(): void {
    for (const watch of [...this.#watches]) watch.end("after the newest value");
  }

  released(error: Error): void {
    this.#subscribers.clear();
    for (const watch of [...this.#watches]) {
      watch.failUnlessBegun(error);
      watch.end("now");
    }
  }
}

type Step = IteratorResult<Message, undefined>;

interface Reader {
  resolve(step: Step): void;
  reject(error: Error): void;
}

const done: Step = { done: true, value: undefined };

/**
 * One loop over a state: holds the newest value that the loop has not taken. A wire keeps no program alive, and
 * reconnects in the background; a program that waits in a loop must not end for that.
 */
class Watch implements AsyncIterator<Message, undefined> {
  readonly #gone: (watch: Watch) => void;
  readonly #stayAwake: () => Timer;
  #awake: Timer | undefined;
  #begun = false;
  #waiting: Message | undefined;
  #ending: { readonly error: Error | undefined } | undefined;
  readonly #readers: Reader[] = [];

  constructor(gone: (watch: Watch) => void, stayAwake: () => Timer) {
    this.#gone = gone;
    this.#stayAwake = stayAwake;
  }

  offer(value: Message): void {
    if (this.#ending !== undefined) return;
    this.#begun = true;
    const reader = this.#readers.shift();
    if (this.#readers.length === 0) this.#awake?.cancel();
    if (reader === undefined) this.#waiting = value;
    else reader.resolve({ done: false, value });
  }

  fail(error: Error): void {
    this.#end(error, false);
  }

  failUnlessBegun(error: Error): void {
    if (!this.#begun) this.#end(error, false);
  }

  end(when: "now" | "after the newest value"): void {
    this.#end(undefined, when === "after the newest value");
  }

  #end(error: Error | undefined, keep: boolean): void {
    if (this.#ending !== undefined) return;
    this.#ending = { error };
    if (!keep) this.#waiting = undefined;
    this.#awake?.cancel();
    this.#gone(this);
    const first = error === undefined ? undefined : this.#readers.shift();
    if (error !== undefined && first !== undefined) {
      this.#ending = { error: undefined };
      first.reject(error);
    }
    for (const reader of this.#readers.splice(0)) reader.resolve(done);
  }

  next(): Promise<Step> {
    if (this.#waiting !== undefined) {
      const value = this.#waiting;
      this.#waiting = undefined;
      return Promise.resolve({ done: false, value });
    }
    if (this.#ending === undefined) {
      if (this.#readers.length === 0) this.#awake = this.#stayAwake();
      return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
    }
    // An error is told once; then it has ended.
    const { error } = this.#ending;
    this.#ending = { error: undefined };
    return error === undefined ? Promise.resolve(done) : Promise.reject(error);
  }

  return(): Promise<Step> {
    this.end("now");
    return Promise.resolve(done);
  }
}
