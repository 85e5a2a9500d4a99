/**
 * A stream that lives through drops, as a program sees it.
 *
 * Source: design "Streams: The client".
 */
import type { CallOptions as ConnectCallOptions } from "@connectrpc/connect";
import type { Watchable } from "./watchable.ts";

/**
 * Items that a stream cannot give. `$gap` is no field of any message, so that `"$gap" in item` tells the two
 * apart.
 * - `lost`: the server no longer has this many items.
 * - `restarted`: the server's numbering began anew (it lost what it kept, or the stream cannot resume). What lay
 *   between is not known; the stream goes on with what comes from now on.
 */
export type Gap =
  | { readonly $gap: "lost"; readonly count: number }
  | { readonly $gap: "restarted"; readonly count: undefined };

/**
 * How a gap is told, always in its place between the items.
 * - `tell` (default): `onGap` is called and the counters of the stream move; the loop goes on.
 * - `throw`: the loop throws ITEMS_LOST, and the stream is over.
 * - `yield`: the loop gets the {@link Gap} in place of an item.
 *
 * In each of them the counters move and `onGap` is called.
 */
export type GapMode = "tell" | "throw" | "yield";

/** The options of Connect's own streaming. */
export interface PlainStreamOptions extends Omit<ConnectCallOptions, "timeoutMs"> {}

/** The options of one stream. A stream has no budget. */
export interface StreamOptions<Gaps extends GapMode = GapMode> extends Omit<ConnectCallOptions, "timeoutMs"> {
  /** How items that the server no longer has are told. Default `tell`. */
  gaps?: Gaps;
  /** Called at each gap, before the item that follows it is handed over. */
  onGap?: (gap: Gap) => void;
}

/** Where a stream's own connection stands. Instants are wall time in ms, for people. */
export type StreamState =
  /** Nothing was asked for yet: the loop has not begun. */
  | { readonly kind: "idle" }
  | { readonly kind: "connecting"; readonly since: number }
  /** The server has said that it is open. Stays so through a change of connection that nobody notices. */
  | { readonly kind: "open"; readonly since: number }
  | {
      readonly kind: "down";
      readonly since: number;
      readonly cause: Error;
      /** When the next connect is due; undefined while one is under way. */
      readonly nextTryAt: number | undefined;
    }
  /** Over: the data has ended, the program has left, or `cause`. */
  | { readonly kind: "ended"; readonly cause: Error | undefined };

/**
 * A server stream that resumes after each drop, and gives each item once and in order. It is read by one loop:
 * `for await (const item of stream)`. An item counts as taken when it is handed to the program; after a drop the
 * stream goes on behind the last one taken.
 *
 * Leaving the loop (`break`, `return`, a throw), an aborted signal, `close` and `await using` end the connection.
 */
export interface ResumableStream<T, Gaps extends GapMode = "tell">
  extends AsyncIterable<T | ("yield" extends Gaps ? Gap : never)>,
    AsyncDisposable {
  /** Its own connection. The link's state is of the link's calls and all its streams. */
  readonly state: Watchable<StreamState>;
  /** Items that the server no longer had, as far as the loop has come. */
  readonly lostCount: number;
  /** Gaps of unknown size, as far as the loop has come. */
  readonly restartCount: number;
  /** @throws TypeError at the second call: a stream is read once. */
  [Symbol.asyncIterator](): AsyncIterator<T | ("yield" extends Gaps ? Gap : never), undefined>;
  /** Ends it. Resolves when nothing of it is left; twice is once. */
  close(): Promise<void>;
}
