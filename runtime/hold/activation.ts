/**
 * One activation of a served object: its factory's run, what it depends on, and what has to be done at its end.
 *
 * Source: design "Held objects: Failure and retry"; D50.
 */
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import type { ObjectDefinition } from "../base/definition.ts";
import { FewSet } from "../base/few-set.ts";
import { LateSignal } from "../base/late-signal.ts";
import type { Log } from "../base/log.ts";
import type { GetOptions, HoldOptions, Reference, Self } from "../base/objects.ts";
import { checkedImplementation, type Implementation } from "./implementation.ts";
import { referenceTo } from "./reference-class.ts";
import type { ReferenceCore } from "./reference.ts";
import type { TakenReference } from "./references.ts";
import { whenLive } from "./when-live.ts";

/** Any object's factory; the public type ties params and implementation to the definition. */
export type AnyFactory = (context: { readonly params: Message; readonly self: Self }) => unknown;

/** Takes a reference from its host for an object. */
export type TakeReference = (
  definition: ObjectDefinition,
  params: unknown,
  options: HoldOptions<string> | undefined,
) => TakenReference;

/** The object that is activated. */
export interface ActivationOwner {
  readonly served: { readonly definition: ObjectDefinition; readonly factory: AnyFactory };
  readonly params: Message;
  readonly env: { readonly takeReference: TakeReference; readonly clock: Clock; readonly log: Log };
  /** The object says that it fails, or what it depends on was dropped while it activates. */
  activationFailed(activation: Activation, cause: unknown, broken: boolean | undefined): void;
}

/** What most objects have no use for is made at its first use: a host may have very many of them. */
export class Activation {
  /** Names this activation; never the same again. */
  readonly incarnation: string;
  readonly #owner: ActivationOwner;
  #stop: LateSignal | undefined;
  /** What is done at the end, in the order in which it was said. */
  readonly #ends = new FewSet<() => void | Promise<void>>();
  #dependencies: Map<ReferenceCore, () => void> | undefined;
  /** Those of them that the factory waited for in vain. */
  #unmet: Set<ReferenceCore> | undefined;
  /** Undefined: it does not run. */
  #factory: Promise<unknown> | undefined;
  #activating = true;
  #ended = false;

  constructor(owner: ActivationOwner, incarnation: string) {
    this.#owner = owner;
    this.incarnation = incarnation;
  }

  /** Aborts when it ends. */
  get ending(): LateSignal {
    if (this.#stop === undefined) {
      this.#stop = new LateSignal();
      if (this.#ended) this.#stop.abort(hasEnded());
    }
    return this.#stop;
  }

  /** Runs the factory. Rejects with whatever it threw, or with what is wrong with what it returned. */
  async run(): Promise<Implementation> {
    const { served, params } = this.#owner;
    const made = (async (): Promise<unknown> => served.factory({ params, self: this.#self() }))();
    this.#factory = made.catch(() => undefined);
    const implementation = checkedImplementation(served.definition, await made);
    this.#factory = undefined;
    this.#activating = false;
    for (const core of this.#unmet ?? []) core.release();
    return implementation;
  }

  /**
   * Takes what it depends on and is not live out of its hands, for the next attempt, which need not wait for its
   * window when that is there again. Whoever takes them releases them.
   */
  takeUnready(): readonly ReferenceCore[] {
    const unready = [...(this.#dependencies?.keys() ?? [])].filter(
      ({ state }) => state.kind === "loading" || (state.kind === "failed" && state.retryAt !== undefined),
    );
    for (const core of unready) this.#forget(core);
    return unready;
  }

  /** Ends it: resolves when all that was said with `onEnd` is done. A throw there is logged and stops nothing. */
  async end(): Promise<void> {
    this.#activating = false;
    this.#ended = true;
    this.#stop?.abort(hasEnded());
    await this.#factory;
    for (const end of [...this.#ends.all()].reverse()) {
      this.#ends.delete(end);
      await this.#runEnd(end);
    }
  }

  async #runEnd(end: () => void | Promise<void>): Promise<void> {
    try {
      await end();
    } catch (error) {
      const { served, env } = this.#owner;
      env.log.error(`an onEnd of ${served.definition.$service.typeName} failed`, { error });
    }
  }

  #self(): Self {
    const { clock, log } = this.#owner.env;
    // As an arrow function it may stand in the getter, where `this` is another one.
    const signal = (): AbortSignal => this.ending.signal;
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
      get signal() {
        return signal();
      },
      onEnd: (fn) => {
        // Said too late, it is done at once: what it is to undo was made after the end.
        if (this.#ended) void this.#runEnd(fn);
        else this.#ends.add(() => fn());
      },
      fail: (cause, options) => this.#owner.activationFailed(this, cause, options?.broken),
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
        clock: this.#owner.env.clock,
        readyTimeoutMs,
        signals: [this.ending, options?.signal],
        failsOnDrop: this.#activating,
      });
    } catch (error) {
      // While it activates the reference stays in its hands: when the object is there again, so is the next attempt.
      if (this.#activating) (this.#unmet ??= new Set()).add(core);
      else if (this.#dependencies?.has(core) === true) core.release();
      throw error;
    }
    return referenceTo(definition, core);
  }

  /** Takes a reference that this activation releases at its end. */
  #depend(
    definition: ObjectDefinition,
    params: unknown,
    options: HoldOptions<string> | undefined,
  ): TakenReference {
    if (this.#ended) throw new ConnectError("the object has ended: it holds nothing any more", Code.Canceled);
    const held = this.#owner.env.takeReference(definition, params, options);
    const { core } = held;
    const release = (): void => core.release();
    const unwatch = core.watch({
      stateChanged: ({ kind }) => {
        if (kind === "released") this.#forget(core);
      },
      dropped: (cause) => {
        if (this.#activating) this.#owner.activationFailed(this, cause, false);
      },
    });
    this.#ends.add(release);
    this.#dependencies ??= new Map();
    this.#dependencies.set(core, () => {
      unwatch();
      this.#ends.delete(release);
    });
    return held;
  }

  #forget(core: ReferenceCore): void {
    this.#dependencies?.get(core)?.();
    this.#dependencies?.delete(core);
  }
}

function hasEnded(): ConnectError {
  return new ConnectError("the object has ended", Code.Canceled);
}
