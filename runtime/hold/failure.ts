/**
 * What made an object or a state fail, as its holders hear it, and whether trying again can help.
 *
 * As with a handler: a ConnectError is meant for the holders; any other throw may hold anything, and is for the log
 * alone. Its holders in this process find it as the cause.
 *
 * Source: design "Held objects: Failure and retry".
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { HoldfastError, reasonFrom } from "../base/errors.ts";
import { isHandlerRefusal } from "../base/handler-refusal.ts";
import type { Log } from "../base/log.ts";

const causes = new WeakMap<object, HoldfastError>();

/**
 * The error that holders get for whatever was thrown: the same one each time.
 *
 * @param what - what failed, for the text and the log: "the object notes.v1.NotebookService".
 */
export function causeOf(thrown: unknown, what: string, log: Log): HoldfastError {
  if (thrown instanceof HoldfastError) return thrown;
  const known = typeof thrown === "object" && thrown !== null ? causes.get(thrown) : undefined;
  if (known !== undefined) return known;
  const made = newCause(thrown, what, log);
  if (typeof thrown === "object" && thrown !== null) causes.set(thrown, made);
  return made;
}

function newCause(thrown: unknown, what: string, log: Log): HoldfastError {
  if (thrown instanceof ConnectError) {
    return new HoldfastError(thrown.rawMessage, {
      reason: reasonFrom(thrown),
      code: thrown.code,
      metadata: thrown.metadata,
      details: thrown.details,
      cause: thrown,
    });
  }
  log.error(`${what} failed`, { error: thrown });
  return new HoldfastError(`${what} failed; its provider's log says why`, {
    code: Code.Internal,
    cause: thrown,
  });
}

/**
 * Whether a new attempt would meet the same again: the object is not there, is not allowed, or was asked for what
 * it cannot be. What holdfast itself says of a dependency that is not there yet passes.
 */
export function isBroken(cause: HoldfastError): boolean {
  if (cause.reason === "NOT_READY") return false;
  return cause.code === Code.Unauthenticated || isHandlerRefusal(cause);
}

/** What a provider elsewhere said, as a reference here has it. */
export function remoteCause(error: ConnectError): HoldfastError {
  const { code, details } = error;
  return new HoldfastError(error.rawMessage, { reason: reasonFrom(error), code, details, cause: error });
}

/** The failure of a state, as somebody elsewhere may hear it. */
export function asWireError(failure: Error): ConnectError {
  return failure instanceof ConnectError ? failure : new ConnectError("the state failed", Code.Internal);
}
