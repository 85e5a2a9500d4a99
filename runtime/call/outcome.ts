/**
 * How a try ended. Everything that a transport may give or throw is sorted here, once, into the few ends
 * that the rule for a new try (`retry.ts`) knows.
 *
 * Source: design "One rule for a new try", "What counts as the server's answer".
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { Code, ConnectError, type UnaryResponse } from "@connectrpc/connect";
import { ConnectionFault, faultIn } from "../base/connection-fault.ts";
import { reasonFrom, retryDelayMs } from "../base/errors.ts";
import type { Mark, Reason } from "../base/reasons.ts";
import { headerNames } from "./headers.ts";

/** How a try ended. */
export type TryEnd<O extends DescMessage = DescMessage> =
  /** The server answered the request. */
  | { readonly kind: "reply"; readonly response: UnaryResponse<DescMessage, O> }
  /** No answer of the server. */
  | { readonly kind: "connection-fault"; readonly fault: ConnectionFault }
  /** An answer that says "not now". */
  | {
      readonly kind: "server-fault";
      readonly error: ConnectError;
      /** The least wait that the server asks for. */
      readonly hintMs: number | undefined;
      /** The server has too much work and asks for no new try. */
      readonly never: boolean;
      readonly throttled: boolean;
      /** Whether the request may have been worked on. */
      readonly mayHaveRun: boolean;
    }
  /** The token is not accepted. */
  | { readonly kind: "unauthenticated"; readonly error: ConnectError; readonly mark: Mark | undefined }
  /** A "no" that would be the same next time; `mark` is undefined for what carries none (a query's). */
  | { readonly kind: "refusal"; readonly error: ConnectError; readonly mark: Mark | undefined }
  /** An answer of a server that keeps no journal, to a command that needs one. */
  | { readonly kind: "not-holdfast"; readonly error: unknown }
  /** The program's own interceptor failed, or its request cannot be sent as it is. */
  | { readonly kind: "program-fault"; readonly error: unknown; readonly sent: boolean };

/** What decides besides the answer itself. */
export interface TryFacts {
  /** A command with a call ID, on a link to a holdfast server: only a marked answer settles it. */
  readonly once: boolean;
  /** Whether the server is a holdfast server or any Connect server. */
  readonly server: "holdfast" | "plain";
  /** Whether this link has seen `holdfast-server` before. */
  readonly seen: boolean;
  /**
   * How far the try got in the link's own HTTP layer. Undefined over a transport that the program gave, where
   * only the error itself speaks.
   */
  readonly http: HttpProgress | undefined;
}

/**
 * Not handed to the HTTP client yet; handed over; bytes have left; an answer of the protocol has come; and it
 * carries `holdfast-server`.
 */
export type HttpProgress = "idle" | "connecting" | "sent" | "answered" | "ours";

/** A success: the server's own, or one that only looks so. */
export function replyEnd<O extends DescMessage>(
  response: UnaryResponse<DescMessage, O>,
  facts: TryFacts,
): TryEnd<O> {
  if (facts.server === "plain" || has(response, headerNames.server)) return { kind: "reply", response };
  if (facts.once) return { kind: "not-holdfast", error: undefined };
  // Once the server has shown itself, an answer without its mark is somebody else's.
  return facts.seen ? { kind: "connection-fault", fault: notOurs(undefined) } : { kind: "reply", response };
}

/** Whatever a transport threw. */
export function errorEnd(error: unknown, facts: TryFacts): TryEnd<never> {
  const fault = faultIn(error);
  if (fault !== undefined) return { kind: "connection-fault", fault };
  if (facts.http === "idle" || !(error instanceof ConnectError)) {
    return { kind: "program-fault", error, sent: facts.http !== "idle" };
  }
  if (error.metadata.has(headerNames.server)) return ourError(error, facts);
  // Our server's answer came whole, and the error is not in it: an interceptor made it, or cannot read the reply.
  if (facts.http === "ours") return { kind: "program-fault", error, sent: true };
  // A transport of the program's own tells a cut from an answer by nothing but this header.
  if (facts.http === undefined && facts.server === "holdfast") {
    return { kind: "connection-fault", fault: notOurs(error) };
  }
  return foreignError(error, facts);
}

/** An error that carries `holdfast-server`. */
function ourError(error: ConnectError, facts: TryFacts): TryEnd<never> {
  const mark = readMark(error.metadata);
  if (error.code === Code.Unauthenticated && mark !== "refused")
    return { kind: "unauthenticated", error, mark };
  if (mark === "later" || (facts.once && mark === undefined)) return serverFault(error);
  if (mark === undefined && isServerFault(error)) return serverFault(error);
  return { kind: "refusal", error, mark };
}

/** A well-formed error of the protocol without our header. */
function foreignError(error: ConnectError, facts: TryFacts): TryEnd<never> {
  if (error.code === Code.Unavailable || error.code === Code.ResourceExhausted) return serverFault(error);
  if (facts.server === "holdfast") {
    if (facts.seen) return { kind: "connection-fault", fault: notOurs(error) };
    if (facts.once) return { kind: "not-holdfast", error };
  }
  if (error.code === Code.Unauthenticated) return { kind: "unauthenticated", error, mark: undefined };
  return isServerFault(error) ? serverFault(error) : { kind: "refusal", error, mark: undefined };
}

function isServerFault(error: ConnectError): boolean {
  switch (error.code) {
    case Code.Unavailable:
    case Code.ResourceExhausted:
    case Code.DeadlineExceeded:
      return true;
    case Code.Aborted:
      return retryDelayMs(error) !== undefined;
    default:
      return false;
  }
}

/** What the server says of itself when it did not even begin. */
const notBegun: readonly (Reason | undefined)[] = ["OVERLOADED", "JOURNAL_FULL", "DRAINING"];

function serverFault(error: ConnectError): TryEnd<never> {
  const hints = [retryDelayMs(error), retryAfterMs(error.metadata.get("retry-after")), pushbackMs(error)];
  const known = hints.filter((hint) => hint !== undefined);
  return {
    kind: "server-fault",
    error,
    hintMs: known.length === 0 ? undefined : Math.max(...known),
    never: error.metadata.get(headerNames.retry) === "never" || known.some((hint) => hint < 0),
    throttled: error.code === Code.ResourceExhausted,
    mayHaveRun: !notBegun.includes(reasonFrom(error)),
  };
}

/** `retry-after` in seconds. Its other form, a date, needs the server's clock and is left out. */
function retryAfterMs(value: string | null): number | undefined {
  return value !== null && /^\d{1,9}$/.test(value) ? Number(value) * 1000 : undefined;
}

/** gRPC's own: a negative number, or one that cannot be read, means never. */
function pushbackMs(error: ConnectError): number | undefined {
  const value = error.metadata.get("grpc-retry-pushback-ms");
  if (value === null) return undefined;
  return /^\d{1,12}$/.test(value) ? Number(value) : -1;
}

/** What the end of a try says of the connection. */
export function gateReport(end: TryEnd): "answered" | "fault" | "nothing" {
  if (end.kind === "connection-fault") return "fault";
  return end.kind === "program-fault" ? "nothing" : "answered";
}

/** Whether bytes of a try may have left. */
export function hasLeft(http: HttpProgress | undefined): boolean {
  return http !== "idle" && http !== "connecting";
}

function notOurs(cause: unknown): ConnectionFault {
  return new ConnectionFault("not-our-answer", "an answer without the header holdfast-server", {
    sent: true,
    cause,
  });
}

function has(response: UnaryResponse, name: string): boolean {
  return response.header.has(name) || response.trailer.has(name);
}

const marks: readonly string[] = ["ran", "refused", "unknown", "none", "later"] satisfies Mark[];

function readMark(metadata: Headers): Mark | undefined {
  const value = metadata.get(headerNames.settled);
  return value !== null && marks.includes(value) ? (value as Mark) : undefined;
}
