/**
 * Held objects as generated code, holders and factories see them. The types live here because generated files
 * name them, and a file that only holds must load no code that serves.
 *
 * Source: design "Held objects".
 */
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Clock } from "./clock.ts";
import type { ObjectDefinition } from "./definition.ts";
import type { HoldfastError } from "./errors.ts";
import type { Log } from "./log.ts";
import type { Watchable } from "./watchable.ts";

/** Where a reference stands. */
export type ReferenceState =
  /** Not bound yet, or not any more: calls are held back, values are the last ones. */
  | { readonly kind: "loading" }
  | { readonly kind: "live" }
  /**
   * The object failed and no attempt runs: calls and reads fail with the cause. `retryAt` is the wall time in ms
   * of the next attempt, to show; undefined: there is none until `$retry`.
   */
  | { readonly kind: "failed"; readonly cause: HoldfastError; readonly retryAt: number | undefined }
  | { readonly kind: "released" };

/** A live value of an object. A loop that is slow skips to the newest; it never ends with an old one. */
export interface Member<T> extends AsyncIterable<T> {
  /**
   * The present value.
   *
   * @throws HoldfastError `NOT_READY` before the first value, `RELEASED` after the release, `NO_SUCH_MEMBER` when
   * the variant lacks it; the object's or the member's own cause when that has failed.
   */
  readonly value: T;
  /** The present or last value; undefined before the first. Never throws; bound, for `useSyncExternalStore`. */
  readonly get: () => T | undefined;
  /** Calls `fn` at every new value from now on, until the returned function is called. */
  readonly subscribe: (fn: (value: T) => void) => () => void;
  /**
   * The present value, then each new one. Without a value yet it waits, and rejects when the reference fails or
   * is released before one came. It ends at the release and when a new variant lacks the member, and throws the
   * member's error when the member failed.
   */
  [Symbol.asyncIterator](): AsyncIterator<T, undefined>;
}

/**
 * What every reference has beside its members. Names that start with `$` are no member's.
 *
 * @typeParam Variant - what `variant` can be, by which a union of references is told apart.
 */
export interface Reference<Variant extends string | undefined = string | undefined> extends AsyncDisposable {
  /** Every change of the state, in order. */
  readonly $state: Watchable<ReferenceState>;
  /**
   * The variant that it is bound as; undefined before the first binding, and kept while it is not live. It is ""
   * for an object whose schema declares none.
   */
  readonly variant: Variant;
  /** Asks for an attempt now. Does nothing on a reference that is live or released, or tries already. */
  $retry(): void;
  /** Gives it back: calls that wait reject `RELEASED`, loops end. Twice is once. */
  $release(): Promise<void>;
}

/**
 * How a reference is taken.
 *
 * @typeParam Variant - the names that `variant` takes; never: it is left out.
 */
export interface HoldOptions<Variant extends string = never> {
  /** Ms that a parked call, and a `get`, wait for the object. Above zero. Default: the type's, 60 s. */
  readonly readyTimeoutMs?: number;
  /**
   * The one variant that the program is written for; the reference then has that variant's members. It asks for
   * no right: the provider chooses the variant, and when it binds another one the reference goes failed with
   * `permission_denied`, broken. Default: any variant.
   */
  readonly variant?: Variant;
}

/** How a live reference is waited for. */
export interface GetOptions<Variant extends string = never> extends HoldOptions<Variant> {
  /** Releases the reference and rejects `ABORTED`. */
  readonly signal?: AbortSignal;
}

/** What gives references: a host, a link, an object that depends on others. */
export interface Holds {
  /**
   * A reference, at once. It follows its object until it is released, and never rejects.
   *
   * @throws HoldfastError `invalid_argument` for params that do not fit; TypeError for a type that is neither
   * served here nor held from elsewhere.
   */
  hold<Params extends DescMessage, Ref extends Reference>(
    type: ObjectDefinition<Params, Ref>,
    params: MessageInitShape<Params>,
    options?: HoldOptions,
  ): Ref;
  /** The same for a program that is written for one variant; see {@link HoldOptions}. */
  hold<Params extends DescMessage, Variants, Variant extends keyof Variants & string>(
    type: ObjectDefinition<Params, Reference, never, Variants>,
    params: MessageInitShape<Params>,
    options: HoldOptions<Variant>,
  ): Variants[Variant];
  /**
   * A reference once it is live. Has one deadline, across drops; when that passes it releases the reference and
   * rejects with the last cause.
   */
  get<Params extends DescMessage, Ref extends Reference>(
    type: ObjectDefinition<Params, Ref>,
    params: MessageInitShape<Params>,
    options?: GetOptions,
  ): Promise<Ref>;
  /** The same for a program that is written for one variant: another one rejects `permission_denied`. */
  get<Params extends DescMessage, Variants, Variant extends keyof Variants & string>(
    type: ObjectDefinition<Params, Reference, never, Variants>,
    params: MessageInitShape<Params>,
    options: GetOptions<Variant>,
  ): Promise<Variants[Variant]>;
}

/** What a served object's factory gets. */
export interface ObjectContext<Params extends DescMessage = DescMessage> {
  readonly params: MessageShape<Params>;
  readonly self: Self;
}

/** An object, seen from inside. */
export interface Self extends Holds {
  /** Aborts when the object ends. */
  readonly signal: AbortSignal;
  /** Runs when the object ends, the last one first; its end waits for what they return. */
  onEnd(fn: () => void | Promise<void>): void;
  /** Ends this activation as failed: a transient one is tried again, a broken one waits for `$retry`. */
  fail(cause: Error, options?: { readonly broken?: boolean }): void;
  readonly log: Log;
  readonly clock: Clock;
}

/** A state of a served object, which its factory makes with `state(schema, first)`. */
export interface StateMember<T> {
  /** The present value. Frozen, or to be treated so. */
  readonly value: T;
  /** Changes a draft of it; what changed goes to the holders as small operations. Throws when it has failed. */
  update(change: (draft: T) => void): void;
  /** Puts another value in its place. */
  replace(value: T): void;
  /** It has no value any more: loops over it throw this. The object stays live. */
  fail(cause: Error): void;
  /** Hears of every change; for hosts. */
  readonly source: StateSource<T>;
}

/** How a host listens to a state. The shape of `C` is the host's and the state's affair. */
export interface StateSource<T, C = unknown> {
  readonly schema: DescMessage;
  readonly value: T;
  readonly version: number;
  readonly failure: Error | undefined;
  subscribe(fn: (change: C) => void): () => void;
}
