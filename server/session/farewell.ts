/** What is done once at the end of a session, together with its removal. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../runtime/base/clock.ts";
import { handlerMostMs } from "../../runtime/base/constants.ts";
import type { Log } from "../../runtime/base/log.ts";
import type { Tx } from "../../runtime/base/register.ts";
import { onAbort, untilAborted } from "../../runtime/base/signals.ts";
import type { KeptSessions } from "../store/kept-sessions.ts";
import type { SessionInfo } from "./session.ts";

/** A session that is over. */
export type GoneSession = Omit<SessionInfo, "state" | "streamCount">;

/** What `onSessionGone` gets beside the session. */
export interface SessionGoneContext {
  /**
   * Writes to the server's store: what the callback writes through `tx` and the end of the session are one commit, or
   * neither is, as with a command's. Without it the session is removed when `onSessionGone` has ended, so that it runs
   * again after a crash in between. Rejects with TypeError at a second use.
   */
  transaction<T>(write: (tx: Tx) => T | Promise<T>): Promise<T>;
  /** Aborts after 60 s, when the session is not gone after all, and when the server closes. */
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly clock: Clock;
}

/**
 * Is told once of each session that is gone. Calls with the session's name wait until it has ended, and begin the
 * session anew. When it throws, or rejects, the session is not gone: it is tried again a minute later, unless a sign
 * of life comes before.
 */
export type OnSessionGone = (session: GoneSession, context: SessionGoneContext) => void | Promise<void>;

/** A session at its end. */
export interface Parting {
  readonly id: string;
  /** Whether the store knows of it. */
  readonly kept: boolean;
  readonly session: GoneSession;
}

export interface FarewellParts {
  readonly kept: KeptSessions;
  readonly onGone: OnSessionGone;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly clock: Clock;
}

/** Says goodbye to a session; when it rejects, the session is still there. */
export async function farewell({ id, kept: known, session }: Parting, parts: FarewellParts): Promise<void> {
  const { kept, onGone, log, clock } = parts;
  let used = false;
  let late = false;
  let removed = !known;
  const transaction = async <T>(write: (tx: Tx) => T | Promise<T>): Promise<T> => {
    if (used) throw new TypeError("onSessionGone: ctx.transaction was used already; a session has one end");
    if (late) throw tooLong();
    used = true;
    const value = await kept.end(id, write);
    removed = true;
    return value;
  };
  const stop = new AbortController();
  const limit = new AbortController();
  const tooLate = (): void => {
    late = true;
    stop.abort(tooLong());
    limit.abort(tooLong());
  };
  const timer = clock.timer(handlerMostMs, tooLate, { background: true });
  const forget = onAbort(parts.signal, (reason) => stop.abort(reason));
  try {
    const work = onGone(session, { transaction, signal: stop.signal, log, clock });
    await untilAborted(Promise.resolve(work), limit.signal);
  } finally {
    timer.cancel();
    forget();
  }
  if (!removed) await kept.end(id, () => undefined);
}

function tooLong(): ConnectError {
  return new ConnectError("onSessionGone took longer than it may", Code.DeadlineExceeded);
}
