/**
 * A stream that is served from an iterable of the program: numbered ones (`ctx.numbered`), and any other.
 *
 * It is read ahead by a few items, so that what comes in one turn goes out in one packet; beyond them it waits
 * until the reader has taken those.
 *
 * Source: design "Streams: The server".
 */
import { nextTick } from "node:process";
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import type { ServerMessage } from "../../gen/holdfast/link/v1/link_pb.ts";
import { nextTurn } from "../../runtime/base/turn.ts";
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

/** Items after which others get a turn: an iterable that never has to wait would else leave them none. */
const perTurnCountMost = 8_192;

/** An item with its number; 0 in a stream without numbers. */
export type NumberedItem = readonly [seq: number, item: MessageInitShape<DescMessage>];

export type IteratedParts = { readonly schema: DescMessage; readonly restarted: boolean } & (
  | { readonly at: Place; readonly items: AsyncIterable<NumberedItem> }
  /** Its items have no numbers. */
  | { readonly at: undefined; readonly items: AsyncIterable<MessageInitShape<DescMessage>> }
);

/** Items that were read, and their numbers, of which a stream without them has none. */
interface Ahead {
  readonly items: MessageInitShape<DescMessage>[];
  readonly seqs: number[];
}

export class IteratedSource implements StreamSource {
  readonly at: Place | undefined;
  readonly restarted: boolean;
  readonly lost: Gap | undefined = undefined;
  readonly #schema: DescMessage;
  readonly #iterator: AsyncIterator<unknown>;
  #ahead: Ahead = { items: [], seqs: [] };
  #end: Extract<Taken, { kind: "done" | "failed" }> | undefined;
  #reading = false;
  #sinceTurnCount = 0;
  #closed = false;
  /** The number of the last item that was read, and of the last that was taken. */
  #readSeq: number;
  #seq: number;
  #wake: (() => void) | undefined;
  #telling = false;

  constructor(parts: IteratedParts) {
    this.at = parts.at;
    this.restarted = parts.restarted;
    this.#schema = parts.schema;
    this.#seq = parts.at?.seq ?? 0;
    this.#readSeq = this.#seq;
    this.#iterator = parts.items[Symbol.asyncIterator]();
    this.#readOn();
  }

  take(): Taken {
    const ahead = this.#ahead;
    if (ahead.items.length === 0) return this.#end ?? { kind: "nothing" };
    this.#ahead = { items: [], seqs: [] };
    this.#sinceTurnCount += ahead.items.length;
    if (this.#sinceTurnCount < perTurnCountMost) this.#readOn();
    else nextTurn(this.#readInNewTurn);
    const batch = new IteratedBatch(this.#schema, ahead, this.at === undefined ? undefined : this.#seq);
    this.#seq = this.#readSeq;
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
    if (this.#reading || this.#closed || this.#end !== undefined) return;
    if (this.#ahead.items.length >= aheadCountMost) return;
    this.#reading = true;
    this.#iterator.next().then(this.#came, this.#threw);
  }

  readonly #readInNewTurn = (): void => {
    this.#sinceTurnCount = 0;
    this.#readOn();
  };

  readonly #came = (next: IteratorResult<unknown>): void => {
    this.#reading = false;
    if (next.done === true) {
      this.#ended({ kind: "done" });
      return;
    }
    const { items, seqs } = this.#ahead;
    if (this.at === undefined) items.push(next.value as MessageInitShape<DescMessage>);
    else {
      const [seq, item] = next.value as NumberedItem;
      if (!(Number.isSafeInteger(seq) && seq > this.#readSeq)) {
        this.#iterator.return?.().catch(() => undefined);
        const text = `ctx.numbered: an item has the number ${String(seq)} after ${this.#readSeq}. Numbers are whole and rise.`;
        this.#ended({ kind: "failed", error: new RangeError(text) });
        return;
      }
      this.#readSeq = seq;
      items.push(item);
      seqs.push(seq);
    }
    this.#readOn();
    this.#tellLater();
  };

  readonly #threw = (error: unknown): void => this.#ended({ kind: "failed", error });

  #ended(end: Extract<Taken, { kind: "done" | "failed" }>): void {
    this.#reading = false;
    this.#end = end;
    this.#tellLater();
  }

  /** When no promise has anything to do any more: what the iterable has ready belongs in the same packet. */
  #tellLater(): void {
    if (this.#wake === undefined || this.#telling) return;
    this.#telling = true;
    nextTick(this.#tell);
  }

  readonly #tell = (): void => {
    this.#telling = false;
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  };
}

class IteratedBatch implements ItemBatch {
  readonly #schema: DescMessage;
  readonly #ahead: Ahead;
  /** The number before the first; undefined: there are none. */
  readonly #afterSeq: number | undefined;

  constructor(schema: DescMessage, ahead: Ahead, afterSeq: number | undefined) {
    this.#schema = schema;
    this.#ahead = ahead;
    this.#afterSeq = afterSeq;
  }

  messages(codec: Codec, stream: number): readonly ServerMessage[] {
    const messages: ServerMessage[] = [];
    const { items, seqs } = this.#ahead;
    let lastSeq = this.#afterSeq;
    for (const [at, init] of items.entries()) {
      const seq = seqs[at] ?? 0;
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
