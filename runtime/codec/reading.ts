import type { Blank } from "./blank.ts";
import { CodecError } from "./codec-error.ts";
import { fillMembers } from "./fill-sites.ts";

/** How much one reading may make; see `CodecOptions`. */
export interface ReadingLimits {
  readonly depthMax: number;
  readonly expansionMax: number;
}

// What things take in V8 on a 64-bit machine, rounded up (measured in Node 20 and 22 with the heap's size after a
// collection, lists and objects at their worst moment of growth).

/** A place in a list; while a list grows it holds up to twice as many. */
export const placeBytes = 8;
/** A string's head; its text takes no more than twice its bytes, which the packet has. */
export const stringBytes = 24;
/** A bigint, or a number that is not a small integer. */
export const longBytes = 24;
/** A byte field's two objects and their memory's own record, without the content. */
export const binaryBytes = 256;
/** An entry of a map without its value: a place in a hash table at its emptiest, and the key. */
export const entryBytes = 96;
/** A plain of its own: a message of a packet, or a slot's content. */
export const plainBytes = 96;

/** What is kept while one message is read from whatever format: where, how deep, and what may still be made. */
export class Reading {
  bytes: Uint8Array = nothing;
  pos = 0;
  end = 0;
  /** Handed on to what is kept in its packed form. */
  headroomBytes = 0;
  /** Values of the messages being read, each with a stretch of its own: cheaper than an array a message. */
  readonly values: unknown[] = [];
  #top = 0;
  #depth = 0;
  #bytesLeft = 0;
  readonly #depthMax: number;
  readonly #expansionMax: number;

  constructor(limits: ReadingLimits) {
    this.#depthMax = limits.depthMax;
    this.#expansionMax = limits.expansionMax;
  }

  /** Starts on the message that lies from `start` to `end`. */
  begin(bytes: Uint8Array, start: number, end: number, headroomBytes: number): void {
    this.bytes = bytes;
    this.pos = start;
    this.end = end;
    this.headroomBytes = headroomBytes;
    this.#bytesLeft = headroomBytes + (end - start) * this.#expansionMax;
    this.#top = 0;
    this.#depth = 0;
  }

  /** Lets go of what was read, so that an idle codec keeps no message and no buffer. */
  finish(): void {
    this.bytes = nothing;
    // Messages clear their own stretch, except those that an error left open.
    if (this.#top > 0) this.values.length = 0;
  }

  /** Counts what is about to be made. Throws `CodecError` when it is too much. */
  charge(bytes: number): void {
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft < 0) {
      throw new CodecError(
        "the message would take far more memory than its bytes; send it in parts, or raise headroomBytes",
      );
    }
  }

  /**
   * Enters a message and opens a stretch of `values` for its members, all undefined; returns where it starts.
   * Throws `CodecError` when the message lies too deep.
   */
  open(blank: Blank): number {
    if (++this.#depth > this.#depthMax) throw tooDeep(this.#depthMax);
    this.charge(blank.bytes);
    const base = this.#top;
    const top = base + blank.members.length;
    this.#top = top;
    // A stretch that was never used lies beyond the end of the array. Messages are filled some members at a time.
    while (this.values.length < top + fillMembers) this.values.push(undefined);
    return base;
  }

  /** Enters something that counts as a message but has no members to collect. */
  enter(): void {
    if (++this.#depth > this.#depthMax) throw tooDeep(this.#depthMax);
  }

  /** Leaves what `enter` entered. */
  leave(): void {
    this.#depth--;
  }

  /** Leaves the message whose stretch starts at `base`, and clears it. */
  close(base: number): void {
    const { values } = this;
    for (let i = base; i < this.#top; i++) values[i] = undefined;
    this.#top = base;
    this.#depth--;
  }
}

const nothing = new Uint8Array();

export function tooDeep(depthMax: number): CodecError {
  return new CodecError(`messages lie more than ${depthMax} deep in each other`);
}
