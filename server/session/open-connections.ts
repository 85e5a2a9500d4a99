/**
 * Everything that stays open after a sign-in was looked at: streams and wires. A sign-in ends, is revoked, or its
 * session is gone; then what rests on it ends, whoever keeps it open.
 *
 *   wire:    open ──until − 60 s──▶ asked for a new token ──until + 30 s──▶ ended
 *   stream:  open ──until──▶ ended with `again`: it comes back, and is authorised anew
 *
 * Instants become monotonic when a connection is added: a clock that jumps later ends nothing and prolongs nothing.
 *
 * Source: design "Sessions"; reliability decisions D46, D52, D55.
 */
import type { Clock, Timer } from "../../runtime/base/clock.ts";

/** How long before its end a wire is asked for a new sign-in. */
export const reauthAheadMs = 60_000;
/** How long after its end a wire waits for it: the token may be under way. */
export const reauthLateMs = 30_000;

/**
 * Why a connection ends.
 * - `sessionGone`: no sign of life came for too long;
 * - `signInEnded`: its `until` is over;
 * - `revoked`: the server's program said so.
 *
 * A stream ends with `again` in every case, for each resume is authorised anew. A wire ends with `again` for
 * `sessionGone`, else with an error `unauthenticated`.
 */
export type ConnectionEnd = "sessionGone" | "signInEnded" | "revoked";

/** A stream or a wire, as whoever keeps it open describes it. */
export interface OpenConnection {
  readonly kind: "stream" | "wire";
  /** The principal; undefined: anonymous. */
  readonly by: string | undefined;
  /** The caller's space, as `CallerKey` has it. */
  readonly space: string;
  /** The client's session name; undefined: it has none. */
  readonly session: string | undefined;
  /** Ms since 1970 at which the sign-in ends; undefined: never. */
  readonly until: number | undefined;
  /** Ends it now. Called once at most, and never after `leave`. */
  end(why: ConnectionEnd): void;
  /** Of a wire: asks the client for a new token. Called again for each new `until`. */
  askReauth?(withinMs: number): void;
}

/** What the keeper of a connection does with its place. */
export interface Seat {
  /** The client has signed in anew: the same principal, until then. */
  renew(until: number | undefined): void;
  /** It is over. Twice is once. */
  leave(): void;
}

/** Names a session: its own name is not enough, since another caller may choose the same one. */
export interface SessionKey {
  readonly space: string;
  readonly name: string;
}

/** Neither a space nor a session's name, which is a header's value, has a NUL in it. */
export function sessionKeyText({ space, name }: SessionKey): string {
  return `${name}\0${space}`;
}

export class OpenConnections {
  readonly #clock: Clock;
  readonly #open = new Set<Place>();
  /** Those that have a session, by its key. */
  readonly #bySession = new Map<string, Set<Place>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes in a connection that was just opened. */
  add(connection: OpenConnection): Seat {
    const place = new Place(connection, this.#clock, () => this.#remove(place));
    this.#open.add(place);
    const key = keyOf(connection);
    if (key !== undefined) {
      const its = this.#bySession.get(key) ?? new Set();
      this.#bySession.set(key, its.add(place));
    }
    place.renew(connection.until);
    return place;
  }

  /** Open streams of a session. */
  streamCount(key: SessionKey): number {
    let count = 0;
    for (const { connection } of this.#bySession.get(sessionKeyText(key)) ?? []) {
      if (connection.kind === "stream") count += 1;
    }
    return count;
  }

  /** Ends all that belongs to a session that is gone. */
  endSession(key: SessionKey): void {
    for (const place of [...(this.#bySession.get(sessionKeyText(key)) ?? [])]) place.end("sessionGone");
  }

  /** Ends all of a principal, and says how many there were. */
  revoke(by: string): number {
    const its = [...this.#open].filter(({ connection }) => connection.by === by);
    for (const place of its) place.end("revoked");
    return its.length;
  }

  #remove(place: Place): void {
    this.#open.delete(place);
    const key = keyOf(place.connection);
    const its = key === undefined ? undefined : this.#bySession.get(key);
    if (key === undefined || its === undefined) return;
    its.delete(place);
    if (its.size === 0) this.#bySession.delete(key);
  }
}

function keyOf({ space, session }: OpenConnection): string | undefined {
  return session === undefined ? undefined : sessionKeyText({ space, name: session });
}

class Place implements Seat {
  readonly connection: OpenConnection;
  readonly #clock: Clock;
  readonly #left: () => void;
  #timer: Timer | undefined;
  #asked = false;

  constructor(connection: OpenConnection, clock: Clock, left: () => void) {
    this.connection = connection;
    this.#clock = clock;
    this.#left = left;
  }

  renew(until: number | undefined): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (until === undefined) return;
    const leftMs = until - this.#clock.now();
    if (this.connection.askReauth === undefined) {
      this.#endIn(leftMs);
      return;
    }
    // A client whose sign-ins are short would be asked again as soon as it has answered.
    const aheadMs = this.#asked ? Math.min(reauthAheadMs, leftMs / 2) : reauthAheadMs;
    this.#wait(leftMs - aheadMs, () => this.#ask(Math.min(leftMs, aheadMs)));
  }

  leave(): void {
    this.#timer?.cancel();
    this.#left();
  }

  end(why: ConnectionEnd): void {
    this.leave();
    this.connection.end(why);
  }

  #ask(leftMs: number): void {
    this.#asked = true;
    const withinMs = leftMs + reauthLateMs;
    this.#endIn(withinMs);
    this.connection.askReauth?.(Math.max(0, withinMs));
  }

  #endIn(waitMs: number): void {
    this.#wait(waitMs, () => this.end("signInEnded"));
  }

  #wait(waitMs: number, fn: () => void): void {
    this.#timer = this.#clock.timer(waitMs, fn, { background: true });
  }
}
