/**
 * The one error class. It is a ConnectError, so that programs which know Connect need to learn nothing, and
 * says in addition why the call failed, and which of five outcomes is true of it.
 *
 * Source: design "The API of a call"; reliability decision "Outcome is one of five".
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { readErrorInfo, readRetryDelay, writeErrorInfo, writeRetryDelay } from "./error-details.ts";
import {
  type ClientReason,
  type Outcome,
  type Reason,
  type ReasonInfo,
  reasonNumber,
  reasonOf,
  reasons,
} from "./reasons.ts";

/** How far a call got when it ended. */
export type Progress = "waiting" | "signing-in" | "parked" | "sent" | "answered";

/** What a link adds to an error about the call that it ends. */
export interface CallEnd {
  /** Which of five is true of the call. Undefined on a server, where the call has not ended yet. */
  readonly outcome: Outcome | undefined;
  /** The call's ID, for the server's log and for another system; undefined for calls without one. */
  readonly callId: string | undefined;
  /** How often the call was sent, or began to be. */
  readonly tries: number;
  readonly progress: Progress;
}

export interface HoldfastErrorInit extends Partial<CallEnd> {
  readonly reason?: Reason | undefined;
  readonly code?: Code;
  readonly metadata?: HeadersInit;
  readonly details?: ConnectError["details"];
  readonly cause?: unknown;
}

/** Survives two copies of the package in one program, which class identity does not. */
const brand = Symbol.for("holdfast.HoldfastError");

/** An error of a call. Its name stays "ConnectError", by which Connect recognises its own. */
export class HoldfastError extends ConnectError implements CallEnd {
  /** Why; undefined where a handler, an interceptor or a foreign server said so in its own words. */
  readonly reason: Reason | undefined;
  readonly outcome: Outcome | undefined;
  readonly callId: string | undefined;
  readonly tries: number;
  readonly progress: Progress;

  constructor(message: string, init: HoldfastErrorInit = {}) {
    super(message, init.code ?? Code.Unknown, init.metadata, undefined, init.cause);
    this.details = init.details ?? [];
    this.reason = init.reason;
    this.outcome = init.outcome;
    this.callId = init.callId;
    this.tries = init.tries ?? 0;
    this.progress = init.progress ?? "waiting";
    Object.defineProperty(this, brand, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && brand in value;
  }
}

/**
 * The error of a reason that a client finds by itself.
 *
 * @param what - what happened, in place of the reason's own sentence.
 */
export function reasonError(
  reason: ClientReason,
  what?: string,
  init: HoldfastErrorInit = {},
): HoldfastError {
  return errorOf(reason, reasons[reason], what, init);
}

/**
 * The error of a reason, with what happened and what to do next in its text, and the reason as a detail that
 * goes over every protocol.
 */
export function errorOf(
  reason: Reason,
  { code, text, advice }: ReasonInfo,
  what: string | undefined,
  init: HoldfastErrorInit,
): HoldfastError {
  const detail = { type: errorInfoType, value: writeErrorInfo(reasonNumber(reason), advice) };
  return new HoldfastError(`${what ?? text}. ${advice}`, {
    code,
    ...init,
    reason,
    details: [detail, ...(init.details ?? [])],
  });
}

/** The reason that an error carries, from any protocol; undefined for an error of somebody else. */
export function reasonFrom(error: ConnectError): Reason | undefined {
  if (error instanceof HoldfastError && error.reason !== undefined) return error.reason;
  const number = readDetail(error, errorInfoType, readErrorInfo);
  return number === undefined ? undefined : reasonOf(number);
}

const errorInfoType = "holdfast.v1.ErrorInfo";
const retryInfoType = "google.rpc.RetryInfo";

/** A detail that every gRPC client reads as "wait at least this long". */
export function retryDetail(delayMs: number): ConnectError["details"][number] {
  return { type: retryInfoType, value: writeRetryDelay(delayMs) };
}

/** The wait in ms that an error's RetryInfo asks for; undefined without one. */
export function retryDelayMs(error: ConnectError): number | undefined {
  return readDetail(error, retryInfoType, readRetryDelay);
}

function readDetail(
  error: ConnectError,
  typeName: string,
  read: (bytes: Uint8Array) => number | undefined,
): number | undefined {
  for (const detail of error.details) {
    if (!("type" in detail) || detail.type !== typeName) continue;
    try {
      return read(detail.value);
    } catch {
      return undefined; // bytes under that name that are not it say nothing
    }
  }
  return undefined;
}
