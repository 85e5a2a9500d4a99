/**
 * A request's body that can be sent a second time: a server that refuses a stream has not looked at it, so
 * the same bytes go out again at once.
 */
import type { Writable } from "node:stream";
import { WholeBody } from "../base/whole-body.ts";

/** Kept for a second sending; a longer body, unless it is one chunk, is sent only once. */
const keptBytesMost = 1024 * 1024;

const end: IteratorResult<Uint8Array, undefined> = { done: true, value: undefined };

export class RequestBody {
  /** The whole body, where it was given as one piece. */
  readonly whole: Uint8Array | undefined;
  readonly #source: AsyncIterator<Uint8Array> | undefined;
  readonly #kept: Uint8Array[] = [];
  #keptBytes = 0;
  /** Chunks that came before the first kept one and are gone. */
  #goneCount = 0;
  #again = true;
  #pull: Promise<void> | undefined;
  #over: boolean;
  /** Readings so far; only the last one gets chunks. */
  #reading = 0;

  constructor(source: AsyncIterable<Uint8Array> | undefined) {
    this.whole = source instanceof WholeBody ? source.bytes : undefined;
    this.#source = this.whole === undefined ? source?.[Symbol.asyncIterator]() : undefined;
    this.#over = this.#source === undefined;
  }

  get empty(): boolean {
    return this.#source === undefined && this.whole === undefined;
  }

  /** Whether it can be read from its start again. */
  get again(): boolean {
    return this.#again;
  }

  /** The answer has come, so that nothing will be sent a second time. */
  keepNoMore(): void {
    this.#again = false;
  }

  /** A reading from the start, which ends an earlier one. Call it only while `again` is true. */
  read(): () => Promise<IteratorResult<Uint8Array, undefined>> {
    const reading = ++this.#reading;
    let place = 0;
    return async () => {
      for (;;) {
        if (reading !== this.#reading) return end;
        if (!this.#again) this.#forget(place);
        const chunk = this.#kept[place - this.#goneCount];
        if (chunk !== undefined) {
          place++;
          return { done: false, value: chunk };
        }
        if (this.#over) return end;
        await this.#more();
      }
    };
  }

  /** Lets the source go when nobody will read on. */
  stop(): void {
    this.#reading++;
    if (this.#over) return;
    this.#over = true;
    // Not awaited: a source that hangs must not hold up the end of the request.
    void Promise.resolve(this.#source?.return?.()).catch(() => undefined);
  }

  #forget(place: number): void {
    const count = place - this.#goneCount;
    this.#kept.splice(0, count);
    this.#goneCount += count;
  }

  /** One more chunk, or the end; two readings that wait at once share it. */
  #more(): Promise<void> {
    this.#pull ??= this.#pullOne().finally(() => {
      this.#pull = undefined;
    });
    return this.#pull;
  }

  async #pullOne(): Promise<void> {
    const result = await (this.#source?.next() ?? end);
    if (result.done === true) {
      this.#over = true;
      return;
    }
    this.#kept.push(result.value);
    this.#keptBytes += result.value.byteLength;
    if (this.#keptBytes > keptBytesMost && this.#kept.length > 1) this.#again = false;
  }
}

/**
 * Writes the body to its end and ends the writing, with the writer's backpressure. Resolves early when the
 * writer is closed by somebody else; rejects only with an error of the body's source.
 */
export async function pour(body: RequestBody, writable: Writable): Promise<void> {
  if (body.whole !== undefined) {
    writable.end(body.whole);
    return;
  }
  const next = body.read();
  for (;;) {
    const result = await next();
    if (writable.destroyed || writable.writableEnded) return;
    if (result.done === true) {
      writable.end();
      return;
    }
    if (!writable.write(result.value)) await roomIn(writable);
  }
}

function roomIn(writable: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      writable.off("drain", done);
      writable.off("close", done);
      resolve();
    };
    writable.on("drain", done);
    writable.on("close", done);
  });
}
