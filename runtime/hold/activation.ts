/**
 * One activation of a served object: its factory's run, what it depends on, and what has to be done at its end.
 *
 * Source: design "Held objects: Failure and retry"; D50.
 */
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import type { ObjectDefinition } from "../base/definition.ts";
import type { Log } from "../base/log.ts";
import type { GetOptions, HoldOptions, Reference, Self } from "../base/objects.ts";
import { checkedImplementation, type Implementation } from "./implementation.ts";
import { referenceTo } from "./reference-class.ts";
import type { ReferenceCore } from "./reference.ts";
import { whenLive } from "./when-live.ts";

/** Any object's factory; the public type ties params and implementation to the definition. */
export type AnyFactory = (context: { readonly params: Message; readonly self: Self }) => unknown;

/** A hold of this host in which the program's part is still to be made. */
export type HoldCore = (
  definition: ObjectDefinition,
  params: unknown,
  options: HoldOptions<string> | undefined,
) => { readonly core: ReferenceCore; readonly readyTimeoutMs: number };

export interface ActivationParts {
  readonly definition: ObjectDefinition;
  readonly params: Message;
  readonly factory: AnyFactory;
  readonly holdCore: HoldCore;
  /** Names this activation; never the same again. */
  readonly incarnation: Uint8Array;
  readonly clock: Clock;
  readonly log: Log;
  /** The object says that it fails, or what it depends on was dropped while it activates. */
  readonly onFailed: (cause: unknown, broken: boolean | undefined) => void;
}

export class Activation {
  readonly incarnation: Uint8Array;
  readonly #parts: ActivationParts;
  readonly #ending = new AbortController();
  /** What is done at the end, in the order in which it was said. */
  readonly #ends = new Set<() => void | Promise<void>>();
  readonly #dependencies = new Map<ReferenceCore, () => void>();
  /** Those of them that the factory waited for in vain. */
  readonly #unmet = new Set<ReferenceCore>();
  #factory: Promise<unknown> = Promise.resolve();
  #activating = true;

  constructor(parts: ActivationParts) {
    this.#parts = parts;
    this.incarnation = parts.incarnation;
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Runs the factory. Rejects with whatever it threw, or with what is wrong with what it returned. */
  async run(): Promise<Implementation> {
    const { factory, params, definition } = this.#parts;
    const made = (async (): Promise<unknown> => factory({ params, self: this.#self() }))();
    this.#factory = made.catch(() => undefined);
    const implementation = checkedImplementation(definition, await made);
    this.#activating = false;
    for (const core of this.#unmet) core.release();
    return implementation;
  }

  /**
   * Takes what it depends on and is not live out of its hands, for the next attempt, which need not wait for its
   * window when that is there again. Whoever takes them releases them.
   */
  takeUnready(): readonly ReferenceCore[] {
    const unready = [...this.#dependencies.keys()].filter(
      ({ state }) => state.kind === "loading" || (state.kind === "failed" && state.retryAt !== undefined),
    );
    for (const core of unready) this.#forget(core);
    return unready;
  }

  /** Ends it: resolves when all that was said with `onEnd` is done. A throw there is logged and stops nothing. */
  async end(): Promise<void> {
    this.#activating = false;
    this.#ending.abort(new ConnectError("the object has ended", Code.Canceled));
    await this.#factory;
    for (const end of [...this.#ends].reverse()) {
      this.#ends.delete(end);
      await this.#runEnd(end);
    }
  }

  async #runEnd(end: () => void | Promise<void>): Promise<void> {
    try {
      await end();
    } catch (error) {
      const { definition, log } = this.#parts;
      log.error(`an onEnd of ${definition.$service.typeName} failed`, { error });
    }
  }

  #self(): Self {
    const { clock, log, onFailed } = this.#parts;
    const hold = (definition: ObjectDefinition, params: unknown, options?: HoldOptions<string>): Reference =>
      referenceTo(definition, this.#depend(definition, params, options).core);
    const get = (
      definition: ObjectDefinition,
      params: unknown,
      options?: GetOptions<string>,
    ): Promise<Reference> => this.#get(definition, params, options);
    return {
      // The overloads are those of `Holds`; here all types are any object's.
      hold,
      get,
      signal: this.signal,
      onEnd: (fn) => {
        // Said too late, it is done at once: what it is to undo was made after the end.
        if (this.signal.aborted) void this.#runEnd(fn);
        else this.#ends.add(() => fn());
      },
      fail: (cause, options) => onFailed(cause, options?.broken),
      log,
      clock,
    };
  }

  async #get(
    definition: ObjectDefinition,
    params: unknown,
    options?: GetOptions<string>,
  ): Promise<Reference> {
    const { core, readyTimeoutMs } = this.#depend(definition, params, options);
    try {
      await whenLive(core, {
        clock: this.#parts.clock,
        readyTimeoutMs,
        signals: [this.signal, options?.signal],
        failsOnDrop: this.#activating,
      });
    } catch (error) {
      // While it activates the reference stays in its hands: when the object is there again, so is the next attempt.
      if (this.#activating) this.#unmet.add(core);
      else if (this.#dependencies.has(core)) core.release();
      throw error;
    }
    return referenceTo(definition, core);
  }

  /** Takes a reference that this activation releases at its end. */
  #depend(
    definition: ObjectDefinition,
    params: unknown,
    options: HoldOptions<string> | undefined,
  ): ReturnType<HoldCore> {
    if (this.signal.aborted)
      throw new ConnectError("the object has ended: it holds nothing any more", Code.Canceled);
    const held = this.#parts.holdCore(definition, params, options);
    const { core } = held;
    const release = (): void => core.release();
    const unwatch = core.watch({
      stateChanged: ({ kind }) => {
        if (kind === "released") this.#forget(core);
      },
      dropped: (cause) => {
        if (this.#activating) this.#parts.onFailed(cause, false);
      },
    });
    this.#ends.add(release);
    this.#dependencies.set(core, () => {
      unwatch();
      this.#ends.delete(release);
    });
    return held;
  }

  #forget(core: ReferenceCore): void {
    this.#dependencies.get(core)?.();
    this.#dependencies.delete(core);
  }
}
