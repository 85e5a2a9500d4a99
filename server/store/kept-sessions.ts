/**
 * The part of a store that keeps which sessions began and have not ended, so that what is to be done at a session's
 * end is done also when the server is restarted between its last sign of life and its end.
 *
 * Signs of life are not kept: after a start every session gets its whole time anew.
 *
 * Source: design "Sessions"; reliability decision D52.
 */

/** A session that began. */
export interface KeptSession {
  /** Of this one life of the session; 22 random characters of base64url. */
  readonly id: string;
  /** The caller's space. Any text. */
  readonly space: string;
  /** The client's name for it. Any text. */
  readonly name: string;
  /** Whose quota it counts against. Any text. */
  readonly quota: string;
  /** The principal; undefined: anonymous. */
  readonly by: string | undefined;
  /** As `authenticate` gave them at its first sign of life. */
  readonly grants: readonly string[];
  /** Ms since 1970. */
  readonly beganAtMs: number;
}

export interface KeptSessions<Tx = unknown> {
  /** All that began and did not end. Asked once, before anything else. */
  list(): Promise<readonly KeptSession[]>;
  /**
   * Keeps one. Durable when it resolves, and no later than any commit that is asked for after it. Twice is once.
   */
  begin(session: KeptSession): Promise<void>;
  /**
   * Removes one together with what `work` writes, both or neither; resolves when that is durable. A throw of `work`
   * removes nothing and rejects with that very error. One that is not kept (any more) still has its work done.
   */
  end<T>(id: string, work: (tx: Tx) => T | Promise<T>): Promise<T>;
}
