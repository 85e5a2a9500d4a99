/**
 * The envelopes of a streaming answer: a byte of flags, four of length, and the message. Most come whole in a piece of
 * the body, and are read where they lie.
 *
 * Source: Connect protocol, "Streaming RPCs".
 */
import type { MessageShape, DescMessage } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { endStreamFlag, endStreamFromJson } from "@connectrpc/connect/protocol-connect";
import { type Offering, takeOffered } from "../base/offering.ts";
import { joinedBytes } from "../base/whole-body.ts";
import type { Codec } from "../codec/codec.ts";
import { bytesOfMessage, messageOfBytes } from "./message-bytes.ts";

const headBytes = 5;
const compressedFlag = 1;

/** A message of a request in its envelope. */
export function envelopeOf<Desc extends DescMessage>(
  desc: Desc,
  message: MessageShape<Desc>,
  json: Codec | undefined,
): Uint8Array<ArrayBuffer> {
  const bytes = bytesOfMessage(desc, message, json);
  const all = new Uint8Array(headBytes + bytes.length);
  new DataView(all.buffer).setUint32(1, bytes.length);
  all.set(bytes, headBytes);
  return all;
}

export interface EnvelopedBody {
  readonly body: AsyncIterable<Uint8Array>;
  readonly header: Headers;
  /** Gets what the end of the stream says beside an error. */
  readonly trailer: Headers;
  /** What reads JSON; undefined: messages are in the binary form. */
  readonly json: Codec | undefined;
  /** Called for each piece of the body, before it is read. */
  readonly onByte?: (() => void) | undefined;
}

const done: IteratorResult<never, undefined> = { done: true, value: undefined };

/** The messages of an answer, as they come; each `next` reads no further than its message. */
export class EnvelopedMessages<Desc extends DescMessage>
  implements AsyncIterableIterator<MessageShape<Desc>, undefined>, Offering<MessageShape<Desc>>
{
  readonly #desc: Desc;
  readonly #answer: EnvelopedBody;
  readonly #body: AsyncIterator<Uint8Array, unknown>;
  /** What was read of the body and not given yet: the rest of one piece, and whole ones behind it. */
  #piece: Uint8Array = new Uint8Array();
  #at = 0;
  #later: Uint8Array[] = [];
  #waitingBytes = 0;
  /** Bytes that the next envelope has, as far as is known. */
  #wantedBytes = headBytes;
  #ended = false;
  #over = false;

  constructor(desc: Desc, answer: EnvelopedBody) {
    this.#desc = desc;
    this.#answer = answer;
    this.#body = answer.body[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  onOffer(take: (message: MessageShape<Desc>) => boolean): void {
    takeOffered<Uint8Array>(this.#answer.body, (piece) => this.#offered(piece, take));
  }

  /** @throws ConnectError the error that the stream ends with, or for bytes that are not of the protocol; what the body throws. */
  async next(): Promise<IteratorResult<MessageShape<Desc>, undefined>> {
    try {
      while (!this.#over) {
        const message = this.#message();
        if (message !== undefined) return { done: false, value: message };
        const piece = await this.#body.next();
        if (piece.done === true) this.#bodyOver();
        else this.#add(piece.value);
      }
      return done;
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  /** Nobody reads on: the answer is given up. */
  async return(): Promise<IteratorResult<never, undefined>> {
    this.#over = true;
    await this.#body.return?.();
    return done;
  }

  /** A piece that is one message, as a server writes what comes alone. */
  #offered(piece: Uint8Array, take: (message: MessageShape<Desc>) => boolean): boolean {
    if (this.#waitingBytes > 0 || this.#ended || piece.length < headBytes || piece[0] !== 0) return false;
    if (sizeAt(piece, 0) !== piece.length - headBytes) return false;
    this.#answer.onByte?.();
    let message: MessageShape<Desc>;
    try {
      message = this.#messageOf(piece.subarray(headBytes));
    } catch {
      return false; // it is thrown to who reads it
    }
    return take(message);
  }

  #messageOf(bytes: Uint8Array): MessageShape<Desc> {
    return messageOfBytes(this.#desc, bytes, this.#answer.json) as MessageShape<Desc>;
  }

  #add(piece: Uint8Array): void {
    this.#answer.onByte?.();
    if (this.#waitingBytes === 0) {
      this.#piece = piece;
      this.#at = 0;
    } else this.#later.push(piece);
    this.#waitingBytes += piece.length;
  }

  /** The next message; undefined: more bytes are wanted, or the stream has ended. */
  #message(): MessageShape<Desc> | undefined {
    if (!this.#isThere(headBytes)) return undefined;
    const size = sizeAt(this.#piece, this.#at);
    if (!this.#isThere(headBytes + size)) return undefined;
    const flags = this.#piece[this.#at] ?? 0;
    const from = this.#at + headBytes;
    this.#at = from + size;
    this.#waitingBytes -= headBytes + size;
    this.#wantedBytes = headBytes;
    return this.#read(flags, this.#piece.subarray(from, this.#at));
  }

  /** Sees to it that so many bytes lie in one piece, if they are there. */
  #isThere(byteCount: number): boolean {
    this.#wantedBytes = Math.max(this.#wantedBytes, byteCount);
    if (this.#waitingBytes < this.#wantedBytes) return false;
    if (this.#later.length > 0 && this.#piece.length - this.#at < byteCount) {
      this.#piece = joinedBytes([this.#piece.subarray(this.#at), ...this.#later]);
      this.#at = 0;
      this.#later = [];
    }
    return true;
  }

  #read(flags: number, bytes: Uint8Array): MessageShape<Desc> | undefined {
    if ((flags & compressedFlag) !== 0) {
      throw new ConnectError(
        "received compressed envelope, but do not know how to decompress",
        Code.Internal,
      );
    }
    if (this.#ended) throw breach("something came after the EndStreamResponse");
    if ((flags & endStreamFlag) === 0) return this.#messageOf(bytes);
    this.#ended = true;
    const { error, metadata } = endStreamFromJson(bytes);
    if (error !== undefined) {
      this.#answer.header.forEach((value, name) => error.metadata.append(name, value));
      throw error;
    }
    metadata.forEach((value, name) => this.#answer.trailer.set(name, value));
    return undefined;
  }

  #bodyOver(): void {
    this.#over = true;
    if (this.#waitingBytes > 0) throw breach("the last envelope is not whole");
    if (!this.#ended) throw breach("missing EndStreamResponse");
  }
}

/** Bytes of the message whose envelope begins here. */
function sizeAt(piece: Uint8Array, at: number): number {
  return (
    (piece[at + 1] ?? 0) * 0x100_0000 +
    (((piece[at + 2] ?? 0) << 16) | ((piece[at + 3] ?? 0) << 8) | (piece[at + 4] ?? 0))
  );
}

function breach(what: string): ConnectError {
  return new ConnectError(`protocol error: ${what}`, Code.InvalidArgument);
}
