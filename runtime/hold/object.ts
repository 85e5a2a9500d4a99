/**
 * A served object: activates, tells its holders, fails, tries again, lingers and ends. What it is at a moment is in
 * `object-state.ts`; here are its timers, its activation and its holders.
 *
 * While one holder is told, it may do anything, so that the object may be in its next state before the others have
 * heard of this one: they are told the newer one, and the older one no more.
 *
 * Source: design "Held objects".
 */
import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Clock, Timer } from "../base/clock.ts";
import type { VariantDefinition } from "../base/definition.ts";
import { HoldfastError } from "../base/errors.ts";
import { FewSet } from "../base/few-set.ts";
import type { Stop } from "../base/late-signal.ts";
import type { Log } from "../base/log.ts";
import type { StateSource } from "../base/objects.ts";
import type { Random } from "../base/random.ts";
import type { Change } from "../delta/operation.ts";
import { Activation, type ActivationOwner, type TakeReference } from "./activation.ts";
import { type BoundState, BoundStates, stateNames } from "./bound-states.ts";
import { causeOf, isBroken } from "./failure.ts";
import type { Binding, HoldingFailure, HoldRequest } from "./holding.ts";
import type { Implementation, MemberHandler } from "./implementation.ts";
import { newIncarnation } from "./incarnation.ts";
import type { Lingerer, Lingering } from "./lingering.ts";
import { nextObjectState, type ObjectEvent, type ObjectState } from "./object-state.ts";
import { retryWindowMs } from "./retry-window.ts";
import type { ReferenceCore } from "./reference.ts";
import type { RunCommand } from "./run-call.ts";
import type { ServedType } from "./served-type.ts";

/** What the objects of a host share. */
export interface ObjectEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly run: RunCommand;
  readonly takeReference: TakeReference;
  readonly lingering: Lingering;
}

/** What keeps the objects of a type. */
export interface ObjectOwner {
  /** It has ended wholly. */
  objectEnded(object: HeldObject): void;
}

/** Who is told of an object: a holding. */
export interface ObjectHolder {
  objectLoading(): void;
  objectLive(): void;
  objectFailed(failure: HoldingFailure): void;
  objectChanged(member: string, change: Change): void;
}

const nothingBefore = Promise.resolve();
const nothing: readonly never[] = [];

export class HeldObject implements ActivationOwner, Lingerer {
  readonly served: ServedType;
  readonly params: Message;
  /** Its name within its type. */
  readonly key: string;
  readonly env: ObjectEnvironment;
  readonly #owner: ObjectOwner;
  readonly #holders = new FewSet<ObjectHolder>();
  #state: ObjectState = { kind: "waiting" };
  #timer: Timer | undefined;
  #activation: Activation | undefined;
  #implementation: Implementation | undefined;
  /** The last one made: as long as nothing changes, the next holder of its variant gets the same. */
  #binding: Binding | undefined;
  #unsubscribes: readonly (() => void)[] = nothing;
  #retryAt: number | undefined;
  /** What the failed activation waited for: there again, it is time for an attempt. */
  #awaited: readonly { readonly core: ReferenceCore; readonly unwatch: () => void }[] = nothing;
  /** The end of the activation before, or of the instance before. */
  #teardown: Promise<void>;

  /** @param before - the end of an instance with the same params, which must be over before this one begins. */
  constructor(
    served: ServedType,
    { params, key }: Pick<HoldRequest, "params" | "key">,
    env: ObjectEnvironment,
    before: Promise<void> | undefined,
    owner: ObjectOwner,
  ) {
    this.served = served;
    this.params = params;
    this.key = key;
    this.env = env;
    this.#owner = owner;
    this.#teardown = before ?? nothingBefore;
    if (before === undefined) this.#on({ kind: "cleared" });
    else void before.then(() => this.#on({ kind: "cleared" }));
  }

  get state(): ObjectState {
    return this.#state;
  }

  /** Whether anybody holds it, its dependents among them. */
  get isHeld(): boolean {
    return this.#holders.size > 0;
  }

  /** Resolves when what ended last has ended wholly. */
  get teardown(): Promise<void> {
    return this.#teardown;
  }

  /** The running activation's signal and its handlers; undefined when it is not live. */
  live(): { readonly ending: Stop; handler(member: string): MemberHandler | undefined } | undefined {
    const implementation = this.#implementation;
    const ending = this.#activation?.ending;
    if (implementation === undefined || ending === undefined) return undefined;
    return { ending, handler: (member) => implementation.handler(member) };
  }

  attach(holder: ObjectHolder): void {
    this.#holders.add(holder);
    this.#on({ kind: "held" });
    if (this.#holders.has(holder)) this.#tellState(holder);
  }

  detach(holder: ObjectHolder): void {
    if (!this.#holders.delete(holder) || this.#holders.size > 0 || this.served.lifelong) return;
    this.#on({ kind: "unheld", lingerMs: this.served.lingerMs });
  }

  /** Tries now, unless it is live or tries already. */
  attempt(): void {
    this.#on({ kind: "attempt" });
  }

  /** Ends it whoever holds it; resolves when it has ended. */
  close(): Promise<void> {
    this.#on({ kind: "closed" });
    return this.#teardown;
  }

  /** What a holder of this variant is bound to now. */
  bindingFor(variant: VariantDefinition): Binding | undefined {
    const implementation = this.#implementation;
    if (implementation === undefined || this.#activation === undefined) return undefined;
    const last = this.#binding;
    if (last?.variant === variant && this.#isOfNow(last, implementation)) return last;
    const { definition } = this.served;
    let place = 0;
    const states = BoundStates.of(definition, (name) => {
      const source = implementation.sources[place];
      place += 1;
      return source !== undefined && variant.members.includes(name) ? this.#stateOf(source) : undefined;
    });
    this.#binding = { variant, incarnation: this.#activation.incarnation, states };
    return this.#binding;
  }

  #stateOf({ version, value, failure }: StateSource<Message, Change>): BoundState {
    return failure === undefined ? { version, value } : { version, failure: this.#causeOf(failure) };
  }

  #isOfNow({ states }: Binding, { sources }: Implementation): boolean {
    const names = stateNames(this.served.definition);
    for (let place = 0; place < names.length; place += 1) {
      const bound = states.get(names[place] ?? "");
      if (bound !== undefined && bound.version !== sources[place]?.version) return false;
    }
    return true;
  }

  #on(event: ObjectEvent): void {
    const before = this.#state;
    const after = nextObjectState(before, event);
    if (after === before) return;
    this.#state = after;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (before.kind === "lingering") this.env.lingering.end(this);
    this.#enter(after, before);
  }

  #enter(state: ObjectState, before: ObjectState): void {
    switch (state.kind) {
      case "waiting":
        return;
      case "activating":
        this.#start();
        break;
      case "live":
        if (before.kind === "lingering") return;
        this.#releaseAwaited();
        break;
      case "lingering":
        this.env.lingering.begin(this, this.served.lingerMs);
        return;
      case "failed":
        this.#rest(state.windowMs);
        break;
      case "ended":
        this.#releaseAwaited();
        this.#endActivation();
        void this.#teardown.then(() => this.#owner.objectEnded(this));
        break;
    }
    for (const holder of this.#holders.all()) {
      if (this.#state !== state) return;
      if (this.#holders.has(holder)) this.#tellState(holder);
    }
  }

  #tellState(holder: ObjectHolder): void {
    const state = this.#state;
    switch (state.kind) {
      case "live":
        holder.objectLive();
        return;
      case "failed":
        holder.objectFailed({ cause: state.cause, retryAt: this.#retryAt });
        return;
      default:
        holder.objectLoading();
    }
  }

  #start(): void {
    const { readyTimeoutMs } = this.served;
    const activation = new Activation(this, newIncarnation(this.env.random));
    this.#activation = activation;
    this.#setTimer(readyTimeoutMs, () => this.activationFailed(activation, tooSlow(readyTimeoutMs), false));
    void this.#activate(activation);
  }

  async #activate(activation: Activation): Promise<void> {
    await this.#teardown;
    // It may have ended while it waited: then the factory never runs.
    if (this.#activation !== activation) return;
    try {
      const implementation = await activation.run();
      if (this.#activation === activation) this.#goLive(implementation);
    } catch (error) {
      this.activationFailed(activation, error, undefined);
    }
  }

  #goLive(implementation: Implementation): void {
    this.#implementation = implementation;
    const names = stateNames(this.served.definition);
    this.#unsubscribes = implementation.sources.map((source, place) => {
      const name = names[place] ?? "";
      return source.subscribe((change) => this.#changed(name, change));
    });
    this.#on({ kind: "activated", nowMs: this.env.clock.monotonic() });
  }

  #changed(member: string, change: Change): void {
    const told: Change =
      change.kind === "failed" ? { ...change, failure: this.#causeOf(change.failure) } : change;
    for (const holder of this.#holders.all()) {
      if (this.#holders.has(holder)) holder.objectChanged(member, told);
    }
  }

  lingerOver(): void {
    this.#on({ kind: "lingerOver" });
  }

  activationFailed(activation: Activation, thrown: unknown, broken: boolean | undefined): void {
    if (this.#activation !== activation) return;
    const cause = this.#causeOf(thrown);
    const { clock, random } = this.env;
    const awaited = activation.takeUnready();
    this.#releaseAwaited();
    this.#awaited = awaited.map((core) => {
      const stateChanged = ({ kind }: ReferenceCore["state"]): void => {
        if (kind === "live" && this.#state.kind === "failed" && this.#retryAt !== undefined) this.attempt();
      };
      return { core, unwatch: core.watch({ stateChanged }) };
    });
    this.#endActivation();
    this.#on({
      kind: "failed",
      cause,
      broken: broken ?? isBroken(cause),
      held: this.#holders.size > 0 || this.served.lifelong,
      nowMs: clock.monotonic(),
      windowMs: (failures) => retryWindowMs(failures, random),
    });
  }

  #rest(windowMs: number | undefined): void {
    this.#retryAt = windowMs === undefined ? undefined : this.env.clock.now() + windowMs;
    if (windowMs !== undefined) this.#setTimer(windowMs, () => this.attempt());
  }

  /** Begins the end of the activation, and lets the next one wait for it, but not for ever. */
  #endActivation(): void {
    const activation = this.#activation;
    if (activation === undefined) return;
    this.#activation = undefined;
    this.#implementation = undefined;
    this.#binding = undefined;
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
    this.#unsubscribes = nothing;
    this.#teardown = this.#inTime(Promise.all([this.#teardown, activation.end()]));
  }

  /** An end that hangs is left behind, with a word in the log. */
  #inTime(ending: Promise<unknown>): Promise<void> {
    const { clock, log } = this.env;
    const { definition, readyTimeoutMs } = this.served;
    return new Promise((resolve) => {
      const timer = clock.timer(
        readyTimeoutMs,
        () => {
          log.error(
            `${definition.$service.typeName} has not ended in ${readyTimeoutMs} ms, and is left behind`,
          );
          resolve();
        },
        { background: true },
      );
      void ending.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  #releaseAwaited(): void {
    const awaited = this.#awaited;
    this.#awaited = nothing;
    for (const { core, unwatch } of awaited) {
      unwatch();
      core.release();
    }
  }

  #causeOf(thrown: unknown): HoldfastError {
    return causeOf(thrown, `the object ${this.served.definition.$service.typeName}`, this.env.log);
  }

  #setTimer(delayMs: number, fn: () => void): void {
    this.#timer = this.env.clock.timer(delayMs, fn, { background: true });
  }
}

function tooSlow(readyTimeoutMs: number): HoldfastError {
  return new HoldfastError(`the object did not start in ${readyTimeoutMs} ms`, { code: Code.Unavailable });
}
