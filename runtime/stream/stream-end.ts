/**
 * How a stream's connection ended, in the words of a try of a call, so that one table decides for both what is a
 * fault and what is a refusal.
 *
 * Source: design "One rule for a new try", "What counts as the server's answer".
 */
import { ConnectError } from "@connectrpc/connect";
import { ConnectionFault } from "../base/connection-fault.ts";
import { HoldfastError, reasonError } from "../base/errors.ts";
import { type CallFacts, errorOfTry } from "../call/call-error.ts";
import { headerNames } from "../call/headers.ts";
import { errorEnd, type HttpProgress, type TryEnd } from "../call/outcome.ts";
import type { StreamEnvironment } from "./stream-environment.ts";

export type StreamTryEnd = Exclude<TryEnd, { kind: "reply" }>;

/** Whatever the connection threw. */
export function connectionEnd(
  error: unknown,
  env: StreamEnvironment,
  http: HttpProgress | undefined,
  opened: boolean,
  token: string | undefined,
): StreamTryEnd {
  if (error instanceof ConnectError && !(error instanceof HoldfastError)) env.heard(error.metadata, token);
  const { server, seen } = env;
  const end = errorEnd(error, { once: false, server, seen, http }) as StreamTryEnd;
  if (end.kind === "program-fault" && opened && isBare(end.error)) {
    // Its body broke off in good order, or is garbled: a proxy's doing. An open stream was no refusal.
    const text = `the stream broke off: ${end.error.rawMessage}`;
    return {
      kind: "connection-fault",
      fault: new ConnectionFault("cut", text, { sent: true, cause: error }),
    };
  }
  if (
    server === "holdfast" &&
    !seen &&
    end.kind === "refusal" &&
    !end.error.metadata.has(headerNames.server)
  ) {
    return { kind: "not-holdfast", error: end.error };
  }
  return end;
}

/** An end that would be the same next time. */
export function isRefusal(
  end: StreamTryEnd,
): end is Extract<StreamTryEnd, { kind: "refusal" | "not-holdfast" | "program-fault" }> {
  return end.kind === "refusal" || end.kind === "not-holdfast" || end.kind === "program-fault";
}

/** The error that the loop throws. */
export function refusalOf(
  end: Extract<StreamTryEnd, { kind: "refusal" | "not-holdfast" | "program-fault" | "unauthenticated" }>,
  tries: number,
): Error {
  if (end.kind === "program-fault") {
    if (end.error instanceof HoldfastError) return end.error;
    return errorOfTry(end, "unknown", "PROGRAM_FAILED", streamFacts(tries));
  }
  if (end.kind === "not-holdfast") {
    const what = "the answer does not carry the header holdfast-server, so that this stream cannot resume";
    return reasonError("NOT_HOLDFAST", what, { ...streamFacts(tries), outcome: "unknown", cause: end.error });
  }
  return errorOfTry(end, "refused", undefined, streamFacts(tries));
}

/** What an error says of the stream that it ends. */
export function streamFacts(tries: number): CallFacts {
  return {
    callId: undefined,
    tries,
    progress: tries === 0 ? "waiting" : "answered",
    budgetMs: Number.POSITIVE_INFINITY,
    mayHaveRun: tries > 0,
    lastFault: undefined,
  };
}

function isBare(error: unknown): error is ConnectError {
  return error instanceof ConnectError && !(error instanceof HoldfastError);
}
