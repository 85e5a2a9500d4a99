/**
 * A call as its loop takes it over from a first try that went straight: with what has happened so far, so that
 * all that follows is decided in one place.
 */
import type { TryConnection } from "./call-environment.ts";
import type { Stamp } from "./stamp.ts";

/** A call whose first try was sent outside of the loop, and is not over with a plain reply. */
export interface BegunCall {
  /** What that try goes over: the transport gives what comes of it, and sends nothing. */
  readonly connection: TryConnection;
  readonly token: string | undefined;
  /** Of a command. */
  readonly stamp: Stamp | undefined;
  /** Ms of the monotonic clock at which the call was made, and its try sent. */
  readonly startedAt: number;
  /** Returns its place among those in flight. */
  readonly leave: () => void;
}
