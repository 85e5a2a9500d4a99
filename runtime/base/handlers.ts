/**
 * What a server's handler is given. The types live here and not in the server because generated stubs name
 * them, and a client that imports a generated file must not load a server.
 */
import type { Clock } from "./clock.ts";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Log } from "./log.ts";
import type { Tx } from "./register.ts";
import type { AnyTopic, FollowOptions, NumberedSource, Publish } from "./topics.ts";

/** Who makes a call. */
export interface Caller {
  /** The name of the authenticated principal; undefined: anonymous. */
  readonly by: string | undefined;
  /** What the principal may do, as `authenticate` gave it. */
  readonly grants: readonly string[];
}

/**
 * What every handler gets beside the request. Its parts may be taken apart by their names; a spread leaves out those that
 * are made when somebody looks at them: the signal, the headers, and `transaction`.
 */
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
  /**
   * Whether an earlier run of this call began and its end is not known, so that its effects elsewhere may be
   * there: ask the other system by {@link callId}. True only for a method with `effects: EXTERNAL` that was
   * implemented with `rerun: true`.
   */
  readonly mayHaveRun: boolean;
  /**
   * Writes to the server's store: what the callback writes through `tx`, its value as the kept reply, and the
   * call's key are one commit, or none of them is. Do what takes time before, then
   * `return ctx.transaction((tx) => …)`; it resolves with the callback's value once that is durable.
   *
   * A throw inside rolls back what was written: a refusal (a ConnectError such as `not_found`) is kept as the
   * call's outcome, anything else keeps nothing and a new try runs the handler again. With SQLite the callback
   * must be synchronous. `tx` is the store's own database; declare its type once, see `Register` of holdfast/server.
   *
   * What is published through `publish` is seen by followers when all of it is durable, and else never.
   *
   * Rejects with TypeError at a second use in one run, and with HoldfastError `REPLY_TOO_LARGE` when the reply
   * is larger than the journal keeps.
   */
  transaction<Reply>(write: (tx: Tx, publish: Publish) => Reply | Promise<Reply>): Promise<Reply>;
}

/**
 * What the handler of a stream gets. A handler that returns what {@link follow} or {@link numbered} gives has a
 * stream that resumes: a client that was cut gets what it has missed, once and in order, or is told how much is
 * lost. Any other iterable starts over at a reconnect, and the client is told that it did.
 */
export interface StreamContext extends HandlerContext {
  /**
   * Follows a topic, for `return ctx.follow(topic)`. Nothing that is published from this call on is missed. A client
   * that resumes gets what it has not taken yet.
   *
   * To iterate it instead gives the bare messages from now on (after `options.backlog`), without their numbers: so
   * `yield*` makes a stream that cannot resume. A reader that falls behind gets HoldfastError `LAGGED` there.
   *
   * @throws RangeError for a `backlog` that is not a whole number from 0.
   */
  follow<Item extends DescMessage>(
    topic: AnyTopic<Item>,
    options?: FollowOptions,
  ): AsyncIterable<MessageShape<Item>>;
  /** Follows a numbered source of the program's own, for `return ctx.numbered({ after: … })`. */
  numbered<Item>(source: NumberedSource<Item>): AsyncIterable<Item>;
}

/** What the handler of a method without an annotation gets when it streams. */
export interface PlainStreamContext extends HandlerContext {}
