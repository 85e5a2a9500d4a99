/**
 * What a handler is given beside the request.
 *
 * Source: design "Server: What a user writes".
 */
import type { Clock } from "../runtime/base/clock.ts";
import type { Caller, CommandContext } from "../runtime/base/handlers.ts";
import type { Log } from "../runtime/base/log.ts";

/** One try as whoever carries it shows it: Connect's handler context is one. */
export interface Carried {
  /** Aborts when the client is gone, its deadline is over, or the server ends. */
  readonly signal: AbortSignal;
  readonly requestHeader: Headers;
  readonly responseHeader: Headers;
  readonly responseTrailer: Headers;
}

export interface ContextParts {
  readonly caller: Caller;
  readonly session: string | undefined;
  readonly deadline: number | undefined;
  readonly callId: string | undefined;
  readonly log: Log;
  readonly clock: Clock;
}

/** Makes the context of a handler; `signal` in place of the carrier's for what outlives its try. */
export function createContext(
  parts: ContextParts,
  carried: Carried,
  signal = carried.signal,
): Omit<CommandContext, "mayHaveRun" | "transaction"> {
  const { requestHeader, responseHeader, responseTrailer } = carried;
  return { ...parts, signal, requestHeader, responseHeader, responseTrailer };
}
