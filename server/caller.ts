/**
 * Signing in: from what a request carries to who it is.
 *
 * Source: design "Server: What a user writes".
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../runtime/base/clock.ts";
import { serverError } from "../runtime/base/server-reasons.ts";
import type { Caller } from "../runtime/base/handlers.ts";
import type { Log } from "../runtime/base/log.ts";

/** What a sign-in is judged by. */
export interface SignInRequest {
  /** The token of `authorization: Bearer …`; undefined without one. */
  readonly token: string | undefined;
  /** All that the client sent. */
  readonly headers: Headers;
  /** The address of the connection; undefined where the adapter does not tell it. Behind a proxy, the proxy's. */
  readonly address: string | undefined;
  /** "http": asked for each request. "wire": asked once for a connection. */
  readonly via: "http" | "wire";
}

/** Who it is. */
export interface SignIn {
  /** The principal's name: its commands are kept under it. Not empty. */
  readonly by: string;
  /** What it may do: for the handlers. Default: nothing. */
  readonly grants?: readonly string[];
  /**
   * Ms since 1970 at which the sign-in ends, such as a token's `exp` times 1000. Requests are judged one by one; a
   * stream that is open then comes back and is judged anew, and a wire is asked for a new token a minute before.
   * Default: never.
   */
  readonly until?: number;
}

/**
 * Says who sends a request. Undefined: anonymous.
 *
 * What it throws is a refused sign-in (`unauthenticated`), and its text goes to the log alone. A ConnectError
 * goes out as it is: throw one with `permission_denied` for somebody known who may not, and one with
 * `unavailable` when the sign-in could not be looked at, so that clients wait and do not sign out.
 */
export type Authenticate = (request: SignInRequest) => SignIn | undefined | Promise<SignIn | undefined>;

/** An `authenticate` that takes longer is a fault of the server. */
export const signInMsMost = 5_000;

/** A sign-in that was accepted. */
export interface SignedIn {
  readonly caller: Caller;
  /** Ms since 1970 at which it ends; undefined: never. */
  readonly until: number | undefined;
}

const anonymous: SignedIn = { caller: { by: undefined, grants: [] }, until: undefined };

/** Asks `authenticate` within its time, and reads what it says. Rejects with a ConnectError. */
export async function signIn(
  request: SignInRequest,
  parts: { readonly authenticate: Authenticate | undefined; readonly clock: Clock; readonly log: Log },
): Promise<SignedIn> {
  const { authenticate, clock, log } = parts;
  if (authenticate === undefined) return anonymous;
  const found = await asked(authenticate, request, clock).catch((error: unknown) => {
    throw refusal(error, log);
  });
  if (found === undefined) return anonymous;
  if (typeof found.by !== "string" || found.by === "") {
    log.error('authenticate must return { by: "a name" }, undefined, or throw');
    throw new ConnectError("the server could not look at the sign-in", Code.Unavailable);
  }
  if (found.until !== undefined && found.until <= clock.now()) {
    throw serverError("SIGN_IN_REFUSED", "the sign-in has ended");
  }
  return { caller: { by: found.by, grants: found.grants ?? [] }, until: found.until };
}

/** The token of a request. */
export function bearerToken(headers: Pick<Headers, "get">): string | undefined {
  return /^bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1];
}

function asked(
  authenticate: Authenticate,
  request: SignInRequest,
  clock: Clock,
): Promise<SignIn | undefined> {
  return new Promise((resolve, reject) => {
    const late = (): void =>
      reject(new ConnectError("the server could not look at the sign-in in time", Code.Unavailable));
    const timer = clock.timer(signInMsMost, late, { background: true });
    Promise.resolve()
      .then(() => authenticate(request))
      .then(resolve, reject)
      .finally(() => timer.cancel());
  });
}

function refusal(error: unknown, log: Log): ConnectError {
  if (error instanceof ConnectError && error.code !== Code.Unauthenticated) return error;
  log.info("a sign-in was refused", {
    error: error instanceof Error ? error.message : "a throw that is no Error",
  });
  const what = error instanceof ConnectError ? error.rawMessage : undefined;
  return serverError("SIGN_IN_REFUSED", what, { cause: error });
}
