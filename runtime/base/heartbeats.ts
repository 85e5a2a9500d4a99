/**
 * A heartbeat as a program sees it.
 *
 * Source: design "The heartbeat".
 */

/** What a program says of its heartbeat. */
export interface BeatOptions {
  /** Headers of each tick. */
  headers?: HeadersInit;
  /** Stops it. */
  signal?: AbortSignal;
  /** Hears why a tick failed. The link's state shows it without this too. */
  onError?: (error: Error) => void;
}

/** A heartbeat that runs until it is stopped or its link closes. */
export interface Heartbeat extends AsyncDisposable {
  /** Ends it; the tick that is under way is aborted. Twice is once. */
  stop(): void;
}
