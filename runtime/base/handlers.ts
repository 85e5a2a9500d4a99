/**
 * What a server's handler is given. The types live here and not in the server because generated stubs name
 * them, and a client that imports a generated file must not load a server.
 */
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** Who makes a call. */
export interface Caller {
  /** The name of the authenticated principal; undefined: anonymous. */
  readonly by: string | undefined;
  /** What the principal may do, as `authenticate` gave it. */
  readonly grants: readonly string[];
}

/** What every handler gets beside the request. */
export interface HandlerContext {
  readonly caller: Caller;
  /** The client's session name; undefined for a client that sends none. */
  readonly session: string | undefined;
  /**
   * Aborts when the work should stop. For a query, signal or stream: the client is gone or its deadline is
   * over. For a command: only at the handler's own limit and at the end of a drain, since a cut or a try's
   * time-out ends the wait for a command, never its work.
   */
  readonly signal: AbortSignal;
  /** Ms of the server's monotonic clock at which the caller stops waiting; undefined: it waits for ever. */
  readonly deadline: number | undefined;
  /** What the client sent. */
  readonly requestHeader: Headers;
  /** Goes out with the reply; a kept reply that is given again has none of it. */
  readonly responseHeader: Headers;
  readonly responseTrailer: Headers;
  readonly log: Log;
  /** The server's clock. */
  readonly clock: Clock;
}

/** What the handler of a command gets. */
export interface CommandContext extends HandlerContext {
  /**
   * The call's ID, to hand on to another system as its idempotency key; undefined when a plain client sent
   * none, in which case nothing keeps a repeat from running again.
   */
  readonly callId: string | undefined;
}

/** What the handler of a stream gets. */
export interface StreamContext extends HandlerContext {}

/** What the handler of a method without an annotation gets when it streams. */
export interface PlainStreamContext extends HandlerContext {}
