/**
 * Streams over a wire: many of them on one, each with a source of its own.
 *
 * Something is taken from a source only while little waits unsent on the wire. So a client that does not read costs
 * no more than that: what is published meanwhile lies in the topic's ring, once for all. The streams take turns, a
 * batch each, so that none has to wait for the end of another one.
 *
 *   followed ──handler──▶ open ──done, lagged, failed, drain──▶ ended
 *      └──────unfollow, the wire's end──────┴──▶ gone without a word
 *
 * Source: design "Streams: The server", link.proto "Streams".
 */
import { ConnectError } from "@connectrpc/connect";
import type { Follow, ServerMessage } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Clock, Timer } from "../../runtime/base/clock.ts";
import { LateSignal } from "../../runtime/base/late-signal.ts";
import { serverError } from "../../runtime/base/server-reasons.ts";
import { nextTurn } from "../../runtime/base/turn.ts";
import { toLinkError } from "../../runtime/wire/link-error.ts";
import { endMessage } from "../../runtime/wire/server-end.ts";
import { protocolFault } from "../../runtime/wire/wire-end.ts";
import { type ItemBatch, itemBytesIn, itemPacketBytesEnough } from "../topic/source.ts";
import type { FollowParts } from "./follow-rpc.ts";
import { type OpenedStream, openingMessages } from "./opened-stream.ts";
import type { OpenWire } from "./open-wire.ts";

/** A stream as a drain sees it. */
interface OpenStream {
  readonly resumes: boolean;
  end(afterMs: number): void;
}

export interface WireStreamParts {
  /** The error that new streams are refused with; undefined: the server is open. */
  readonly refusal: () => ConnectError | undefined;
  /** Asks the handler. Rejects with the ConnectError that the client gets. */
  readonly open: FollowParts["open"];
  /** Those that are open, for a drain to end them so that their clients come back. */
  readonly streams: { add(stream: OpenStream): void; delete(stream: OpenStream): void };
  readonly clock: Clock;
}

/** Streams of one wire at once. */
export const streamsPerWireMost = 1_024;
/** With more than this unsent nothing is taken from a source. */
export const unsentBytesAim = 1_048_576;
/** What one turn of the event loop sends at most. */
const turnBytesMost = 1_048_576;
/** A wire does not say when there is room: it is looked at this often while something waits. */
const lookEveryMs = 20;

/** Lets a wire carry streams of the server's services. */
export function wireStreams(parts: WireStreamParts): (wire: OpenWire) => void {
  return (wire) => {
    let made: WireStreams | undefined; // most wires carry none
    const streams = (): WireStreams => (made ??= new WireStreams(wire, parts));
    wire.end.take({
      follow: (follow) => streams().follow(follow),
      unfollow: ({ stream }) => streams().unfollow(stream),
    });
  };
}

/** One stream, from its follow to its end. There may be a thousand on a wire, and most are quiet: it is a few fields. */
class Served extends LateSignal implements OpenStream {
  readonly number: number;
  readonly resumes = true;
  opened: OpenedStream | undefined;
  readonly #streams: WireStreams;

  constructor(number: number, streams: WireStreams) {
    super();
    this.number = number;
    this.#streams = streams;
  }

  /** A drain asks its client to come back. */
  end(afterMs: number): void {
    this.#streams.again(this, afterMs);
  }
}

class WireStreams {
  readonly #wire: OpenWire;
  readonly #parts: WireStreamParts;
  readonly #open = new Map<number, Served>();
  /** Those that may have something, in the order of their turns. */
  readonly #due = new Set<Served>();
  #lastNumber = 0;
  #scheduled = false;
  #timer: Timer | undefined;

  constructor(wire: OpenWire, parts: WireStreamParts) {
    this.#wire = wire;
    this.#parts = parts;
    wire.end.onClose(() => this.#close());
  }

  follow(follow: Follow): void {
    const { stream: number } = follow;
    if (number <= this.#lastNumber)
      throw protocolFault(`the stream ${number} does not come after ${this.#lastNumber}`);
    this.#lastNumber = number;
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      this.#wire.end.send(endMessage({ stream: number, error: toLinkError(refusal) }));
      return;
    }
    const served = new Served(number, this);
    this.#open.set(number, served);
    this.#parts.streams.add(served);
    void this.#begin(served, follow);
  }

  unfollow(number: number): void {
    if (number === 0 || number > this.#lastNumber) throw protocolFault(`there was no stream ${number}`);
    const served = this.#open.get(number);
    if (served !== undefined) this.#forget(served);
  }

  again(served: Served, afterMs: number): void {
    this.#end(served, endMessage({ stream: served.number, again: true, afterMs: Math.round(afterMs) }));
  }

  #close(): void {
    for (const served of [...this.#open.values()]) this.#forget(served);
    this.#timer?.cancel();
  }

  #refusal(): ConnectError | undefined {
    if (this.#open.size < streamsPerWireMost) return this.#parts.refusal();
    return serverError("OVERLOADED", `more than ${streamsPerWireMost} streams on one wire`);
  }

  async #begin(served: Served, follow: Follow): Promise<void> {
    const { guest, caller, end } = this.#wire;
    try {
      const opened = await this.#parts.open({
        guest: { ...guest, caller },
        follow,
        header: new Headers(),
        codec: end.codec,
        stop: served,
      });
      if (served.aborted) {
        opened.close();
        return;
      }
      served.opened = opened;
      for (const message of openingMessages(served.number, opened.source)) end.send(message);
      this.#isDue(served);
    } catch (error) {
      this.#failed(served, ConnectError.from(error));
    }
  }

  #isDue(served: Served): void {
    if (!this.#open.has(served.number)) return;
    this.#due.add(served);
    if (this.#scheduled || this.#timer !== undefined) return;
    this.#scheduled = true;
    queueMicrotask(this.#give);
  }

  /** A batch of each in turn, as long as the wire takes it. */
  readonly #give = (): void => {
    this.#scheduled = false;
    const { end } = this.#wire;
    let turnBytes = 0;
    let unflushedBytes = 0;
    // One that has given something stands at the end of the set again, and the loop comes to it once more.
    for (const served of this.#due) {
      if (end.unsentBytes + unflushedBytes > unsentBytesAim) {
        this.#timer = this.#parts.clock.timer(lookEveryMs, this.#look, { background: true });
        return;
      }
      if (turnBytes > turnBytesMost) {
        this.#scheduled = true;
        nextTurn(this.#give);
        return;
      }
      this.#due.delete(served);
      const bytes = this.#giveOne(served);
      turnBytes += bytes;
      unflushedBytes += bytes;
      if (unflushedBytes < itemPacketBytesEnough) continue;
      end.flush();
      unflushedBytes = 0;
    }
  };

  readonly #look = (): void => {
    this.#timer = undefined;
    this.#give();
  };

  /** Bytes of what it gave. */
  #giveOne(served: Served): number {
    const { number, opened } = served;
    if (opened === undefined) return 0;
    const taken = opened.source.take();
    switch (taken.kind) {
      case "items":
        return this.#items(served, opened, taken.batch);
      case "nothing":
        opened.source.wait(() => this.#isDue(served));
        return 0;
      case "lagged":
        this.#end(served, endMessage({ stream: number, again: true, lagged: true }));
        return 0;
      case "done":
        this.#end(served, endMessage({ stream: number }));
        return 0;
      case "failed":
        this.#failed(served, opened.errorOf(taken.error));
        return 0;
    }
  }

  #items(served: Served, opened: OpenedStream, batch: ItemBatch): number {
    // Where it is the only stream, as on a wire of each client, all wires are given the same bytes.
    return this.#open.size === 1
      ? this.#packets(served, opened, batch)
      : this.#messages(served, opened, batch);
  }

  #packets(served: Served, opened: OpenedStream, batch: ItemBatch): number {
    let packets: readonly Uint8Array[];
    let bytes = 0;
    try {
      packets = batch.packets(this.#wire.end.codec, served.number);
    } catch (error) {
      this.#failed(served, opened.errorOf(error));
      return 0;
    }
    for (const packet of packets) {
      this.#wire.end.sendPacket(packet);
      bytes += packet.length;
    }
    this.#due.add(served);
    return bytes;
  }

  #messages(served: Served, opened: OpenedStream, batch: ItemBatch): number {
    let messages: readonly ServerMessage[];
    let bytes = 0;
    try {
      messages = batch.messages(this.#wire.end.codec, served.number);
      for (const message of messages) bytes += itemBytesIn(message);
    } catch (error) {
      this.#failed(served, opened.errorOf(error));
      return 0;
    }
    for (const message of messages) this.#wire.end.send(message);
    this.#due.add(served);
    return bytes;
  }

  #failed(served: Served, error: ConnectError): void {
    this.#end(served, endMessage({ stream: served.number, error: toLinkError(error) }));
  }

  #end(served: Served, message: ServerMessage): void {
    if (!this.#open.has(served.number)) return;
    this.#wire.end.send(message);
    this.#forget(served);
  }

  #forget(served: Served): void {
    this.#open.delete(served.number);
    this.#due.delete(served);
    this.#parts.streams.delete(served);
    served.abort();
    served.opened?.close();
  }
}
