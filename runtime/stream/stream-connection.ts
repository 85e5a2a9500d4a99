/**
 * The seam below a stream: one connection that carries it, from its open to its end. Follow over Connect is one,
 * the bare rpc of a plain server another, a place on a WebSocket that streams share a third.
 *
 * Source: design "Streams: The client", "Wires".
 */
import type { ConnectError } from "@connectrpc/connect";
import type { HttpProgress } from "../call/outcome.ts";
import type { Position } from "./resume-point.ts";

/** What the server says of one stream. */
export type StreamMessage<T> =
  | { readonly kind: "ready"; readonly at: Position | undefined; readonly restarted: boolean }
  | { readonly kind: "item"; readonly seq: number; readonly item: T }
  | { readonly kind: "lost"; readonly count: number; readonly seq: number }
  | {
      readonly kind: "end";
      readonly again: boolean;
      readonly afterMs: number;
      readonly lagged: boolean;
      readonly error: ConnectError | undefined;
    };

/** What arrived together. Signs of life are in none. */
export interface StreamBatch<T> {
  readonly messages: readonly StreamMessage<T>[];
  readonly byteCount: number;
}

/** What a connection is opened with. */
export interface StreamOpening<T> {
  readonly token: string | undefined;
  readonly after: Position | undefined;
  /** Counts the connections of this stream, from 1. */
  readonly generation: number;
  /** Ends the connection, with the reason that `next` then rejects with. */
  readonly signal: AbortSignal;
  /** Called for whatever arrives, before it is read, with the time of the monotonic clock. */
  readonly onByte: (atMs: number) => void;
  /**
   * Takes an item at once, while `next` waits and nothing has come for it: most items come alone, and go to the program
   * without a promise for each layer. False: it is to be given by `next`.
   */
  readonly offer: (seq: number, item: T, byteCount: number) => boolean;
}

export interface StreamConnection<T> {
  /**
   * What comes next. Nothing is read from the network between two calls, but for what is buffered below.
   * Undefined: the rpc ended without a word of its own.
   *
   * @throws as an rpc of this server ends: ConnectionFault, ConnectError with the answer's metadata, or the
   * signal's reason; HoldfastError for an item that cannot be read.
   */
  next(): Promise<StreamBatch<T> | undefined>;
  /** How far it got; undefined over a transport that the program gave. */
  http(): HttpProgress | undefined;
  /** Asks the other end for a sign. Undefined where nobody can be asked. */
  readonly probe: ((signal: AbortSignal) => Promise<unknown>) | undefined;
  /** Ends it. `broken`: what it goes over is not used again. Twice is once. */
  close(broken: boolean): void;
}

/** Opens connections of one stream. `open` connects nothing before the first `next`. */
export interface StreamDialer<T> {
  open(opening: StreamOpening<T>): StreamConnection<T>;
  /** What is kept between two connections goes. */
  close(): void;
}
