/**
 * A try that ended without an answer of the server. Whatever sends bytes (the HTTP clients of Node and of
 * browsers, a wire) ends a request with one of these or with an answer, and with nothing else; what its
 * platform's own errors mean is its business (`node-errors.ts`, `fetch-errors.ts`).
 *
 * Source: design "One rule for a new try".
 */
export type FaultKind =
  /** Nobody listens at the address. */
  | "connect-refused"
  /** The name, the route or the handshake failed. */
  | "connect-failed"
  /** No connection inside the time for it. */
  | "connect-timeout"
  /** The connection ended with the request under way. */
  | "cut"
  /** The server said that it has not begun with this request (REFUSED_STREAM, or a GOAWAY before it). */
  | "refused-stream"
  /** The time of the try was over. */
  | "no-reply"
  /** Something answered that is not our server: a proxy, a sign-in page. */
  | "not-our-answer"
  /** In words that the platform's list does not know. */
  | "unknown";

export class ConnectionFault extends Error {
  override readonly name = "ConnectionFault";
  readonly kind: FaultKind;
  /**
   * Whether the server may have received the request: false only where that is certain, since a command
   * that is sent at most once is then sent again.
   */
  readonly sent: boolean;

  constructor(
    kind: FaultKind,
    message: string,
    options: { readonly sent: boolean; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.sent = options.sent;
  }
}

/** The fault in an error or among its causes: Connect wraps what its HTTP client throws. */
export function faultIn(error: unknown): ConnectionFault | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof ConnectionFault) return at;
  }
  return undefined;
}
