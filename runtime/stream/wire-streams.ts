/**
 * The streams of one open wire: each has a number, and gets what the server says of it.
 *
 * Source: link.proto, "Streams".
 */
import type { ServerMessage } from "../../gen/holdfast/link/v1/link_pb.ts";
import { ClientMessageSchema, EndSchema, UnfollowSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import { create } from "@bufbuild/protobuf";
import type { ClientMessage } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { ClientEnd } from "../wire/client-end.ts";

/** One stream on a wire, as the wire sees it. */
export interface WireStream {
  /** The server says something of it. Must not throw. */
  said(kind: ServerMessage["kind"]): void;
  /** The wire has ended; undefined: in good order, without a word of this stream. */
  over(cause: Error | undefined): void;
  /** A byte came on the wire, at this time of the monotonic clock. */
  heard(atMs: number): void;
}

export class WireStreams {
  readonly end: ClientEnd;
  /** Ms after which this wire without a byte is dead. */
  readonly idleMs: number;
  /** Another wire was asked for: that the server ends this one now says nothing of its streams. */
  retired = false;
  readonly #streams = new Map<number, WireStream>();
  #lastNumber = 0;

  constructor(end: ClientEnd, idleMs: number) {
    this.end = end;
    this.idleMs = idleMs;
    end.take({
      ready: (value) => this.#streams.get(value.stream)?.said({ case: "ready", value }),
      item: (value) => this.#streams.get(value.stream)?.said({ case: "item", value }),
      lost: (value) => this.#streams.get(value.stream)?.said({ case: "lost", value }),
    });
    end.onStreamEnd((value) => {
      const stream = this.#streams.get(value.stream);
      this.#streams.delete(value.stream);
      stream?.said({ case: "end", value });
    });
  }

  /** Opens a stream; gives its number on this wire. */
  follow(stream: WireStream, message: (number: number) => ClientMessage): number {
    this.#lastNumber += 1;
    this.end.send(message(this.#lastNumber));
    this.#streams.set(this.#lastNumber, stream);
    return this.#lastNumber;
  }

  /** No more of it: what is under way is dropped. */
  unfollow(number: number): void {
    if (!this.#streams.delete(number)) return;
    const value = create(UnfollowSchema, { stream: number });
    this.end.send(create(ClientMessageSchema, { kind: { case: "unfollow", value } }));
  }

  heard(atMs: number): void {
    for (const stream of this.#streams.values()) stream.heard(atMs);
  }

  /** The server will end this wire: its streams come back on another one. */
  leave(afterMs: number): void {
    const value = create(EndSchema, { again: true, afterMs });
    for (const stream of this.#taken()) stream.said({ case: "end", value });
  }

  over(cause: Error | undefined): void {
    for (const stream of this.#taken()) stream.over(cause);
  }

  #taken(): readonly WireStream[] {
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    return streams;
  }
}
