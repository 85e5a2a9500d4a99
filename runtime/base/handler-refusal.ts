/**
 * What a handler's "no" is, as against a fault: it changed nothing, and the same request would meet it again.
 * So it is an outcome, and is kept as one.
 *
 * Source: design "The journal".
 */
import { Code, type ConnectError } from "@connectrpc/connect";

const refusalCodes: ReadonlySet<Code> = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.AlreadyExists,
  Code.PermissionDenied,
  Code.FailedPrecondition,
  Code.OutOfRange,
  Code.Unimplemented,
  Code.Aborted, // unless it asks for a new try
]);

/** Whether the error says "no"; everything else may pass, and keeps nothing. */
export function isHandlerRefusal(error: ConnectError): boolean {
  if (!refusalCodes.has(error.code)) return false;
  return error.code !== Code.Aborted || !asksForNewTry(error);
}

/** Whether the error carries `google.rpc.RetryInfo`, in either form in which Connect holds a detail. */
export function asksForNewTry(error: ConnectError): boolean {
  return error.details.some(
    (detail) => ("type" in detail ? detail.type : detail.desc.typeName) === "google.rpc.RetryInfo",
  );
}
