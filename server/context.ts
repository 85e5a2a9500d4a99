/**
 * What a handler is given beside the request.
 *
 * Source: design "Server: What a user writes".
 */
import type { Clock } from "../runtime/base/clock.ts";
import type { Caller, CommandContext } from "../runtime/base/handlers.ts";
import type { Stop } from "../runtime/base/late-signal.ts";
import type { Log } from "../runtime/base/log.ts";

/** One try as whoever carries it shows it: Connect's handler context is one. */
export interface Carried {
  /** Aborts when the client is gone, its deadline is over, or the server ends. */
  readonly signal: AbortSignal;
  /** Tells the same for less. Absent: only {@link signal} does. */
  readonly stop?: Stop;
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

/**
 * Makes the context of a handler; `run` in place of the carrier's signal for what outlives its try. What a carrier or
 * a run makes only when somebody looks at it, most handlers never look at.
 */
export function createContext(
  parts: ContextParts,
  carried: Carried,
  run: Pick<AbortController, "signal"> = carried,
): Omit<CommandContext, "mayHaveRun" | "transaction"> {
  return {
    caller: parts.caller,
    session: parts.session,
    deadline: parts.deadline,
    callId: parts.callId,
    log: parts.log,
    clock: parts.clock,
    get signal() {
      return run.signal;
    },
    get requestHeader() {
      return carried.requestHeader;
    },
    get responseHeader() {
      return carried.responseHeader;
    },
    get responseTrailer() {
      return carried.responseTrailer;
    },
  };
}
