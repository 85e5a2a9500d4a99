/**
 * How the dispatcher learns that a handler's replies are made on the state of now: the engine's handlers carry
 * the function that makes them, under a symbol, since a handler is otherwise a plain function of the user's.
 */
import type { Message } from "@bufbuild/protobuf";
import type { CallKey } from "../store/store.ts";

/**
 * Makes the reply of a call that ran, for any of its tries; undefined when nothing is known of the call any more,
 * and what is kept is the reply.
 */
export type ReplyAgain = (key: CallKey, request: Message) => Promise<Message | undefined>;

const symbol = Symbol.for("holdfast.replyAgain");

/** An engine's handler: the last argument names the call, if it has an ID. */
export type EngineHandler = (request: Message, context: never, key: CallKey | undefined) => Promise<Message>;

export function withReplyAgain(handler: EngineHandler, again: ReplyAgain): EngineHandler {
  return Object.assign(handler, { [symbol]: again });
}

/** Undefined for a handler that is not an engine's. */
export function replyAgainOf(handler: unknown): ReplyAgain | undefined {
  if (typeof handler !== "function") return undefined;
  return (handler as { [symbol]?: ReplyAgain })[symbol];
}
