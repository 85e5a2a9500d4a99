/**
 * A Node stream as the body of an answer: it takes in a little and then waits for its reader, so that a slow
 * reader slows the sender, and it is cancelled when its reader goes.
 *
 * Node's own iterator is not used. It takes a connection that ended in the middle for a normal end in some
 * cases, an answer that came whole for a cut one when the connection ends before it is read, and its early
 * return does not tell the server.
 */
import type { Readable } from "node:stream";
import type { Offering } from "../base/offering.ts";
import { type GatheringBody, joinedBytes } from "../base/whole-body.ts";

/** Taken in ahead of the reader. Beyond HTTP's own window this is what one answer can grow to unread. */
const aheadBytesMost = 64 * 1024;

export interface BodySource {
  readonly readable: Readable;
  /** What the readable's end, or its close without one, was: undefined for a whole answer, else its fault. */
  readonly endOf: (ended: boolean) => unknown;
  /** The reader wants no more, or has it all. */
  readonly onOver: () => void;
}

type State =
  | { readonly kind: "open" }
  | { readonly kind: "whole" }
  /** Thrown once what came before it is read. */
  | { readonly kind: "failed"; readonly fault: unknown };

const end: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined };

export class ResponseBody implements GatheringBody, Offering<Uint8Array> {
  readonly #source: BodySource;
  #chunks: Uint8Array[] = [];
  #aheadBytes = 0;
  #state: State = { kind: "open" };
  #wake: (() => void) | undefined;
  #offer: ((chunk: Uint8Array) => boolean) | undefined;
  #gathering = false;

  constructor(source: BodySource) {
    this.#source = source;
    const { readable, endOf } = source;
    readable.on("data", (chunk: Uint8Array) => this.#take(chunk));
    readable.on("end", () => this.#finish(endOf(true)));
    readable.on("close", () => {
      if (this.#state.kind === "open") this.#finish(endOf(false));
    });
  }

  /** Ends the reading at once with this reason, also where chunks are left. */
  abort(reason: unknown): void {
    this.#chunks = [];
    this.#finish(reason);
  }

  onOffer(take: (chunk: Uint8Array) => boolean): void {
    this.#offer = take;
  }

  gather(): Promise<Uint8Array> {
    this.#gathering = true;
    this.#source.readable.resume();
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (this.#state.kind === "open") this.#wake = look;
        else if (this.#state.kind === "whole") resolve(joinedBytes(this.#chunks));
        else reject(this.#state.fault);
      };
      look();
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.#stop();
        return end;
      },
      throw: async (error: unknown) => {
        this.#stop();
        throw error;
      },
    };
  }

  async #next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#aheadBytes -= chunk.byteLength;
        if (this.#aheadBytes <= aheadBytesMost && this.#source.readable.isPaused()) {
          this.#source.readable.resume();
        }
        return { done: false, value: chunk };
      }
      if (this.#state.kind === "whole") return end;
      if (this.#state.kind === "failed") throw this.#state.fault;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #take(chunk: Uint8Array): void {
    if (this.#state.kind !== "open") return;
    if (this.#wake !== undefined && this.#offer?.(chunk) === true) return;
    this.#chunks.push(chunk);
    this.#aheadBytes += chunk.byteLength;
    if (this.#gathering) return;
    if (this.#aheadBytes > aheadBytesMost) this.#source.readable.pause();
    this.#wakeUp();
  }

  #finish(fault: unknown): void {
    if (this.#state.kind !== "open") return;
    this.#state = fault === undefined ? { kind: "whole" } : { kind: "failed", fault };
    this.#wakeUp();
    this.#source.onOver();
  }

  #stop(): void {
    this.#chunks = [];
    this.#finish(undefined);
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
