/**
 * What a handler throws, made fit for a client: a ConnectError is its answer, everything else is a fault whose
 * text may hold anything and is for the log alone.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { MethodDefinition } from "../runtime/base/definition.ts";
import type { Log } from "../runtime/base/log.ts";

/** The error that the client gets. */
export function errorOfThrow(thrown: unknown, definition: MethodDefinition, log: Log): ConnectError {
  if (thrown instanceof ConnectError) return withoutForeignHeaders(thrown);
  log.error("a handler failed", { method: definition.method.toString(), error: thrown });
  return new ConnectError("the handler failed; the server's log says why", Code.Internal);
}

/** Headers of HTTP and of the protocols, which belong to the answer that they came with. */
const ownHeaders =
  /^(holdfast-|grpc-|connect-|content-|access-control-|transfer-encoding$|connection$|keep-alive$|date$|server$|trailer$|te$|upgrade$|vary$|set-cookie$)/;

/**
 * A handler that called another server and lets its error through hands on all headers of that answer, whose
 * marks and types are not those of this one.
 */
function withoutForeignHeaders(error: ConnectError): ConnectError {
  const foreign = [...error.metadata.keys()].filter((name) => ownHeaders.test(name));
  if (foreign.length === 0) return error;
  const clean = new ConnectError(error.rawMessage, error.code, error.metadata, undefined, error.cause);
  clean.details = error.details;
  for (const name of foreign) clean.metadata.delete(name);
  return clean;
}
