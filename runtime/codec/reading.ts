import { CodecError } from "./codec-error.ts";

/** How much one reading may make; see `CodecOptions`. */
export interface ReadingLimits {
  readonly depthMax: number;
  readonly nodesMax: number;
}

/** What is kept while one message is read from whatever form: its depth, what it has made, its open messages. */
export class Reading {
  /** Values of the messages being read, each with a stretch of its own: cheaper than an array a message. */
  readonly values: unknown[] = [];
  #top = 0;
  #depth = 0;
  #nodesLeft: number;
  readonly #depthMax: number;

  constructor(limits: ReadingLimits) {
    this.#depthMax = limits.depthMax;
    this.#nodesLeft = limits.nodesMax;
  }

  /** Counts what is about to be made. Throws `CodecError` when it is too much. */
  charge(nodes: number): void {
    this.#nodesLeft -= nodes;
    if (this.#nodesLeft < 0) {
      throw new CodecError("the message holds too many values; send it in parts, or raise nodesMax");
    }
  }

  /**
   * Enters a message and opens a stretch of `values` for its members, all undefined; returns where it starts.
   * Throws `CodecError` when the message lies too deep.
   */
  open(memberCount: number): number {
    if (++this.#depth > this.#depthMax) throw tooDeep(this.#depthMax);
    this.charge(1 + memberCount);
    const base = this.#top;
    const top = base + memberCount;
    for (let i = base; i < top; i++) this.values[i] = undefined;
    this.#top = top;
    return base;
  }

  /** Leaves the message whose stretch starts at `base`. */
  close(base: number): void {
    this.#top = base;
    this.#depth--;
  }
}

export function tooDeep(depthMax: number): CodecError {
  return new CodecError(`messages lie more than ${depthMax} deep in each other`);
}
