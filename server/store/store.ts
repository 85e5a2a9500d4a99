/**
 * The seam between the journal and what outlives a run: memory, a SQLite file, a Postgres database.
 *
 * The journal decides what a try meets and what is kept; a store only finds, and writes all of one call in
 * one go. Three things are cut so that very different stores fit as they are:
 * - there is one write, {@link Store.commit}, and it calls back for what to keep, inside its transaction. A
 *   store with one writer runs the callback at once and puts many of them into one commit; a store that
 *   several servers share claims the key first, in the same transaction, and may find it taken;
 * - what a user writes through `Tx` and what the journal keeps are one write, never two that could part;
 * - quotas, fences and the time of keeping are the store's own, since only it knows what it has dropped.
 *
 * Source: design "Stores"; reliability decisions D3, D7, D8, D14-D19.
 */
import type { Code } from "@connectrpc/connect";
import type { Reason } from "../../runtime/base/reasons.ts";
import type { KeptSessions } from "./kept-sessions.ts";

/** What a request is compared by with the one that a kept call was made for. */
export interface Fingerprint {
  /** Of the way in which the digest is made. */
  readonly version: number;
  /** Digest of the request's schema: prints of two schemas are not comparable. */
  readonly schema: Uint8Array;
  /** Digest of method, scope and request. */
  readonly print: Uint8Array;
}

/** A detail of a refusal as it goes over the wire. */
export interface RefusalDetail {
  /** The full name of the message, such as `google.rpc.BadRequest`. */
  readonly type: string;
  readonly value: Uint8Array;
}

/** How a call ended, as it is kept, or that it has begun. */
export type Outcome =
  /**
   * Its handler was about to begin, and has effects that no transaction covers. What is found like this later,
   * and does not run, may or may not have had them. A later commit under the key replaces it.
   */
  | { readonly kind: "started" }
  /** It ran, and this is its reply in binary protobuf. */
  | { readonly kind: "ran"; readonly reply: Uint8Array }
  /** It ran, and its reply is not kept. */
  | { readonly kind: "marker" }
  /** The handler said no: a tombstone, so that no late copy of the call runs after all. */
  | {
      readonly kind: "refused";
      readonly code: Code;
      /** The reason, where the refusal is one of holdfast's own. */
      readonly reason: Reason | undefined;
      readonly message: string;
      readonly details: readonly RefusalDetail[];
    };

/** Names a call: the ID alone is not enough, since two callers may choose the same one. */
export interface CallKey {
  /** The space of call IDs. Any text. */
  readonly space: string;
  /** The call's ID: characters of base64url alone. */
  readonly id: string;
  /** What {@link keyText} makes of both, where that was made already. */
  readonly text?: string;
}

/** A key as one text. An ID has no space in it, so two keys never make the same one. */
export function keyText({ space, id }: CallKey): string {
  return `${id} ${space}`;
}

/** A call's place in its lane. */
export interface LaneSeat {
  readonly lane: string;
  readonly seq: number;
}

/** What a run asks to be kept under. */
export interface Claim extends CallKey {
  /** Whose quota it counts against. Any text. */
  readonly quota: string;
  /** The method's full name, `package.Service.Method`. */
  readonly method: string;
  readonly fingerprint: Fingerprint;
  /** Undefined for a plain client. */
  readonly seat: LaneSeat | undefined;
  /** What the lane is settled up to, by this call's word. 0 without a lane. */
  readonly settled: number;
  /** Server time in ms of the call's first sending; undefined for a plain client. */
  readonly firstSentMs: number | undefined;
}

/** A kept call. */
export interface Entry extends Omit<Claim, "settled" | "text"> {
  readonly outcome: Outcome;
  /** When its run ended, or for `started` began, in ms since 1970 by the store's own clock. */
  readonly endedAtMs: number;
}

/** What a store knows of a key and of the space and lane around it, as of one instant. */
export interface Found {
  readonly kept: Entry | undefined;
  /**
   * Server time in ms: the store may have forgotten calls of this space that were first sent before this.
   * Never falls.
   */
  readonly forgottenBeforeMs: number;
  /** What the lane is settled up to; 0 for a lane that is unknown, or without one. Never falls in a lane's life. */
  readonly watermark: number;
  /** Undefined: the quota has room. Else the ms after which some comes free, as far as the store can tell. */
  readonly fullForMs: number | undefined;
}

/** What a write came to. */
export type Committed =
  /** The outcome is durable. */
  | { readonly kind: "kept" }
  /** Another server was first: nothing of this write stands, and its outcome is this. */
  | { readonly kind: "taken"; readonly entry: Entry };

/** What a store is, fixed from its opening on. */
export interface StoreFacts {
  /** Random text of base64url, new whenever the store may have lost writes: an empty start, a restore, a promotion. */
  readonly epoch: string;
  /** Server time in ms from which on the store has lost nothing but what its fences tell. */
  readonly completeSinceMs: number;
  /** 32 random bytes that the store keeps, for tags that only its servers can make. Never logged. */
  readonly secret: Uint8Array;
  /** How long a call is kept from the end of its run, in ms. */
  readonly keepMs: number;
  /** Whether what is kept outlives the process. */
  readonly durable: boolean;
  /** Whether a transaction's callback must be synchronous: it holds the store's one writer. */
  readonly synchronous: boolean;
}

/**
 * Keeps calls. Every promise of it is either kept or breaks with a {@link StoreError}, unless said otherwise.
 *
 * @typeParam Tx - what a handler's own writes go through inside {@link commit}; `undefined` for a store that
 * has none.
 */
export interface Store<Tx = unknown> {
  readonly facts: StoreFacts;
  /** Sessions that began and have not ended. */
  readonly sessions: KeptSessions<Tx>;
  /** What a store that is all in memory also does at once. Absent: it has promises alone. */
  readonly atOnce?: StoreAtOnce;
  /**
   * What is known of a key. The journal asks for one key at a time, and for none that it is running, so a
   * store need not guard an answer against a later write of the same process.
   *
   * @param quota - whose quota is looked at; absent: none is.
   */
  find(key: CallKey, lane: string | undefined, quota?: string): Promise<Found>;
  /**
   * Calls `decide` once at most, inside a transaction, and writes what it returns, the lane's new watermark
   * and all that was written through `tx` in one go. Resolves when that is durable, and not before.
   *
   * When `decide` throws or rejects, nothing stands and the promise rejects with that very error; a store
   * whose transactions are synchronous does the same with a TypeError when `decide` returns a promise. Calls
   * that the watermark passes may be dropped at once. A store never refuses a commit for its quota: that is
   * looked at before a run.
   *
   * A `started` that is kept under the key does not count as taken: what `decide` returns replaces it, and
   * undefined removes it, so that the key is free. Undefined keeps nothing under a free key either; what was
   * written through `tx` stands.
   *
   * A store that several servers share must also reject, with a {@link StoreError} that is not `broken`, when the
   * key is free and its lane is settled beyond the call: another server has then ended the call, and dropped it,
   * while this one ran it. A store of one server need not, since its journal runs no call twice at once.
   */
  commit(
    claim: Claim,
    decide: (tx: Tx) => Outcome | undefined | Promise<Outcome | undefined>,
  ): Promise<Committed>;
  /** A transaction that keeps no call: durable when it resolves, and nothing of it stands when it rejects. */
  write<T>(work: (tx: Tx) => T | Promise<T>): Promise<T>;
  /**
   * Drops up to `countMost` calls, lanes and fences that are older than they need be, an hour beyond
   * `keepMs`, and resolves with how many it dropped. May run beside everything else.
   */
  purge(countMost: number): Promise<number>;
  /** Ends it. What was asked before is finished first; what is asked afterwards rejects. Twice is once. */
  close(): Promise<void>;
}

/** A store without promises: the same as {@link Store.find} and {@link Store.commit}, and throws where those reject. */
export interface StoreAtOnce {
  find(key: CallKey, lane: string | undefined, quota?: string): Found;
  /** Keeps an outcome that nothing else is written with. */
  keep(claim: Claim, outcome: Outcome): Committed;
}

/** A store could not do what was asked. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /**
   * Whether the store can no longer be trusted, such as after a failed sync to disk: the process should end.
   * Otherwise the fault may pass, such as a database that cannot be reached.
   */
  readonly broken: boolean;

  constructor(message: string, broken: boolean, cause?: unknown) {
    super(message, { cause });
    this.broken = broken;
  }
}
