/**
 * A stream that is served from an iterable of the program: numbered ones (`ctx.numbered`), and any other.
 *
 * It is read ahead by a few items, so that what comes in one turn goes out in one packet; beyond them it waits
 * until the reader has taken those.
 *
 * Source: design "Streams: The server".
 */
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import type { ServerMessage } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Codec } from "../../runtime/codec/codec.ts";
import { payloadOf } from "../../runtime/wire/packet.ts";
import {
  type Gap,
  type ItemBatch,
  itemMessage,
  lostMessage,
  packetsOf,
  type Place,
  type StreamSource,
  type Taken,
} from "./source.ts";

/** Items that are read ahead of a reader. */
const aheadCountMost = 64;

/** An item with its number; 0 in a stream without numbers. */
export type NumberedItem = readonly [seq: number, item: MessageInitShape<DescMessage>];

export interface IteratedParts {
  readonly schema: DescMessage;
  readonly items: AsyncIterable<NumberedItem>;
  /** Undefined: its items have no numbers. */
  readonly at: Place | undefined;
  readonly restarted: boolean;
}

export class IteratedSource implements StreamSource {
  readonly at: Place | undefined;
  readonly restarted: boolean;
  readonly lost: Gap | undefined = undefined;
  readonly #schema: DescMessage;
  readonly #iterator: AsyncIterator<NumberedItem>;
  #ahead: NumberedItem[] = [];
  #end: Extract<Taken, { kind: "done" | "failed" }> | undefined;
  #reading = false;
  #closed = false;
  /** The number of the last item that was taken. */
  #seq: number;
  #wake: (() => void) | undefined;

  constructor(parts: IteratedParts) {
    this.at = parts.at;
    this.restarted = parts.restarted;
    this.#schema = parts.schema;
    this.#seq = parts.at?.seq ?? 0;
    this.#iterator = parts.items[Symbol.asyncIterator]();
    this.#readOn();
  }

  take(): Taken {
    const items = this.#ahead;
    if (items.length === 0) return this.#end ?? { kind: "nothing" };
    this.#ahead = [];
    this.#readOn();
    const batch = new IteratedBatch(this.#schema, items, this.at === undefined ? undefined : this.#seq);
    this.#seq = items.at(-1)?.[0] ?? this.#seq;
    return { kind: "items", batch };
  }

  wait(wake: () => void): void {
    this.#wake = wake;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#wake = undefined;
    // A program that waits for something else ends in its own time; nobody hears its last words.
    this.#iterator.return?.().catch(() => undefined);
  }

  #readOn(): void {
    if (this.#reading || this.#closed || this.#end !== undefined || this.#ahead.length >= aheadCountMost)
      return;
    this.#reading = true;
    this.#iterator.next().then(
      (next) => this.#came(next),
      (error: unknown) => this.#ended({ kind: "failed", error }),
    );
  }

  #came(next: IteratorResult<NumberedItem>): void {
    this.#reading = false;
    if (next.done === true) {
      this.#ended({ kind: "done" });
      return;
    }
    const lastSeq = this.#ahead.at(-1)?.[0] ?? this.#seq;
    const [seq] = next.value;
    if (this.at !== undefined && !(Number.isSafeInteger(seq) && seq > lastSeq)) {
      this.#iterator.return?.().catch(() => undefined);
      const text = `ctx.numbered: an item has the number ${String(seq)} after ${lastSeq}. Numbers are whole and rise.`;
      this.#ended({ kind: "failed", error: new RangeError(text) });
      return;
    }
    this.#ahead.push(next.value);
    this.#readOn();
    this.#tell();
  }

  #ended(end: Extract<Taken, { kind: "done" | "failed" }>): void {
    this.#reading = false;
    this.#end = end;
    this.#tell();
  }

  #tell(): void {
    const wake = this.#wake;
    if (wake === undefined) return;
    this.#wake = undefined;
    // What the iterable has ready belongs in the same packet.
    queueMicrotask(() => queueMicrotask(wake));
  }
}

class IteratedBatch implements ItemBatch {
  readonly #schema: DescMessage;
  readonly #items: readonly NumberedItem[];
  /** The number before the first; undefined: there are none. */
  readonly #afterSeq: number | undefined;

  constructor(schema: DescMessage, items: readonly NumberedItem[], afterSeq: number | undefined) {
    this.#schema = schema;
    this.#items = items;
    this.#afterSeq = afterSeq;
  }

  messages(codec: Codec, stream: number): readonly ServerMessage[] {
    const messages: ServerMessage[] = [];
    let lastSeq = this.#afterSeq;
    for (const [seq, init] of this.#items) {
      // Numbers may skip; the client is told, since for it a skip is a loss.
      if (lastSeq !== undefined && seq !== lastSeq + 1)
        messages.push(lostMessage(stream, { count: 0, seq: seq - 1 }));
      messages.push(itemMessage(stream, seq, payloadOf(codec, this.#schema, create(this.#schema, init))));
      if (lastSeq !== undefined) lastSeq = seq;
    }
    return messages;
  }

  packets(codec: Codec, stream: number): readonly Uint8Array[] {
    return packetsOf(codec, this.messages(codec, stream));
  }
}
