/**
 * A value that is there, or a promise of it. What most calls find at once then costs them no promise: a handler that
 * answers by return is answered in the turn of its packet.
 */
export type Soon<T> = T | Promise<T>;

/** What follows from a value, at once where it is there. */
export function andThen<T, U>(value: Soon<T>, fn: (value: T) => Soon<U>): Soon<U> {
  return value instanceof Promise ? value.then(fn) : fn(value);
}

/** Whether a handler's result is to be awaited. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
