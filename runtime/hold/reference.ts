/**
 * What stands behind a reference: it follows its object until the program releases it, holds calls back while the
 * object is not there, and keeps the last values.
 *
 * It hears of the object by the events of `Holder`, and reaches it through the `Holding`; whether the object lives
 * in this process or behind a wire is not seen here. See `holding.ts` for what both sides owe each other.
 *
 * Everything that a program may not use is made when it is first used: ten thousand references of which a screen
 * shows three cost little.
 *
 * Source: design "Held objects".
 */
import type { Message } from "@bufbuild/protobuf";
import { Code, type ConnectError } from "@connectrpc/connect";
import type { CallOptions } from "../base/calls.ts";
import type { Clock, Timer } from "../base/clock.ts";
import { foreignTimeoutMsMost, type Timing } from "../base/constants.ts";
import { chooseBudgetMs } from "../base/deadline.ts";
import type { ObjectDefinition } from "../base/definition.ts";
import { HoldfastError } from "../base/errors.ts";
import { liveError } from "../base/live-reasons.ts";
import type { ReferenceState } from "../base/objects.ts";
import type { Random } from "../base/random.ts";
import { snapshot } from "../base/snapshot.ts";
import { newId } from "../call/call-id.ts";
import { assertKeyFits, hasOutbox } from "../call/keep.ts";
import type { Change } from "../delta/operation.ts";
import { adoptionsOf } from "./binding.ts";
import { type BoundState, BoundStates, stateNames } from "./bound-states.ts";
import type { Binding, CallableDefinition, Holder, Holding, HoldingFailure } from "./holding.ts";
import { HeldMember, type MemberOwner, type MemberReading } from "./member.ts";
import { Parking, type Way } from "./parking.ts";
import { loading, nextReferenceState, type ReferenceEvent } from "./reference-state.ts";
import { StateSource } from "./state-source.ts";

/** What references have in common that were taken in the same way. */
export interface ReferenceParts {
  readonly definition: ObjectDefinition;
  readonly clock: Clock;
  readonly random: Random;
  readonly timing: Pick<Timing, "budgetMs" | "shortBudgetMs">;
  readonly readyTimeoutMs: number;
  /** The one variant that the program is written for; undefined: any. */
  readonly variant: string | undefined;
  /** It was released: whoever keeps references lets go of it. */
  readonly onReleased: (core: ReferenceCore) => void;
}

/** Who wants to know of a reference besides its program: a `get` that waits, an object that depends on it. */
export interface ReferenceWatcher {
  stateChanged(state: ReferenceState): void;
  /** The connection to its object is gone. */
  dropped?(cause: ConnectError): void;
}

export class ReferenceCore implements Holder, MemberOwner {
  readonly #parts: ReferenceParts;
  #state: ReferenceState = loading;
  #variant: string | undefined;
  /** Those of the binding, which others share, until the first change. */
  #states: BoundStates;
  /** Whether frames are of what was adopted. */
  #adopted = false;
  #binding: Binding | undefined;
  #holding: Holding | undefined;
  #source: StateSource | undefined;
  #members: Map<string, HeldMember> | undefined;
  #parking: Parking | undefined;
  #watchers: Set<ReferenceWatcher> | undefined;

  constructor(parts: ReferenceParts) {
    this.#parts = parts;
    this.#states = BoundStates.none(parts.definition);
  }

  get state(): ReferenceState {
    return this.#state;
  }

  /** The state as a program watches it. */
  get watchable(): StateSource {
    if (this.#source === undefined) {
      this.#source = new StateSource(this.#state, () => this.awake());
      if (this.#state.kind === "released") this.#source.close({ dropWaiting: true });
    }
    return this.#source;
  }

  get variant(): string | undefined {
    return this.#variant;
  }

  /** Why it is not live, where more is known than its state. */
  trouble(): string | undefined {
    return this.#holding?.trouble?.();
  }

  watch(watcher: ReferenceWatcher): () => void {
    this.#watchers ??= new Set();
    this.#watchers.add(watcher);
    return () => this.#watchers?.delete(watcher);
  }

  /** Takes the holding that it stands on from now on, and lets it speak. */
  attach(holding: Holding): void {
    if (this.#state.kind === "released") {
      holding.release();
      return;
    }
    this.#holding = holding;
    holding.open();
  }

  // What a program asks for ---------------------------------------------------------------------------------------

  member(name: string): HeldMember {
    this.#members ??= new Map();
    let member = this.#members.get(name);
    if (member === undefined) this.#members.set(name, (member = new HeldMember(name, this)));
    return member;
  }

  async call(
    member: string,
    definition: CallableDefinition,
    init: unknown,
    options: CallOptions = {},
  ): Promise<Message> {
    const { input } = definition.method;
    const { random, timing, readyTimeoutMs } = this.#parts;
    const short = definition.kind === "signal" || options.short === true;
    const general = definition.kind === "command" ? readyTimeoutMs : timing.budgetMs;
    const budgetMs = chooseBudgetMs(
      options.timeoutMs,
      definition.budgetMs,
      short ? timing.shortBudgetMs : general,
    );
    assertKeyFits(definition, options);
    // What cannot be sent is said here, wherever the object lives.
    if (options.headers !== undefined) new Headers(options.headers);
    const refusal = this.#refusal(member);
    if (refusal !== undefined) throw refusal;
    // A program that changes its message after the call must not change what is sent later.
    const request = snapshot(input, init as Message);
    const post = this.#holding?.post;
    if (hasOutbox(definition) && post !== undefined) {
      const its = { ...options, timeoutMs: budgetMs };
      return this.#calls().post((turn) => post({ definition, request, options: its, turn }));
    }
    const callId = definition.kind === "command" ? newId(random) : undefined;
    return this.#calls().make({ member, definition, request, callId, options, budgetMs, readyTimeoutMs });
  }

  retry(): void {
    if (this.#state.kind === "failed") this.#holding?.retry();
  }

  release(): void {
    if (this.#state.kind === "released") return;
    const error = liveError("RELEASED");
    const holding = this.#holding;
    this.#move({ kind: "released" });
    this.#adopted = false;
    this.#parking?.end(error);
    this.#holding = undefined;
    holding?.release();
    for (const member of this.#members?.values() ?? []) member.released(error);
    this.#tell();
    this.#source?.close({ dropWaiting: true });
    this.#watchers = undefined;
    this.#parts.onReleased(this);
  }

  // What the provider says ------------------------------------------------------------------------------------------

  loading(dropped?: ConnectError): void {
    if (this.#state.kind === "released") return;
    this.#adopted = false;
    const changed = this.#move({ kind: "loading" });
    this.#parking?.close();
    if (dropped !== undefined) for (const watcher of [...(this.#watchers ?? [])]) watcher.dropped?.(dropped);
    if (changed) this.#tell();
  }

  bound(binding: Binding): void {
    if (this.#state.kind === "released") return;
    const wanted = this.#parts.variant;
    if (wanted !== undefined && binding.variant.name !== wanted) {
      this.failed({ cause: otherVariant(wanted, binding.variant.name), retryAt: undefined });
      return;
    }
    if (!this.#move({ kind: "bound" })) return;
    const adoptions = this.#adoptionsOf(binding);
    this.#states = binding.states;
    this.#variant = binding.variant.name;
    this.#binding = binding;
    this.#adopted = true;
    // What is told may lead anywhere: to a release, and even to the next binding.
    const current = (): boolean => this.#adopted && this.#binding === binding;
    // The state first: who is told of a value reads a state that fits it.
    this.#tell();
    for (const adoption of adoptions) {
      if (!current()) return;
      const member = this.#members?.get(adoption.member);
      if (adoption.kind === "value") member?.offer(adoption.value);
      else if (adoption.kind === "failed") member?.fail(adoption.failure);
      else member?.lost();
    }
    if (current() && this.#parking !== undefined) this.#openWay(this.#parking);
  }

  /** What is of interest to nobody costs nothing. */
  #adoptionsOf({ states }: Binding): ReturnType<typeof adoptionsOf> {
    if (this.#members === undefined || states === this.#states) return [];
    return adoptionsOf(stateNames(this.#parts.definition), this.#states, states);
  }

  failed(failure: HoldingFailure): void {
    if (this.#state.kind === "released") return;
    this.#adopted = false;
    this.#move({ kind: "failed", failure });
    this.#parking?.end(failure.cause);
    for (const member of this.#members?.values() ?? []) member.referenceFailed(failure.cause);
    this.#tell();
  }

  changed(name: string, change: Change): void {
    const was = this.#states.get(name);
    if (!this.#adopted || was === undefined || change.version <= was.version) return;
    const { version } = change;
    const is: BoundState =
      change.kind === "value" ? { version, value: change.value } : { version, failure: change.failure };
    this.#states = this.#states.with(name, is);
    const member = this.#members?.get(name);
    if (change.kind === "value") member?.offer(change.value);
    else member?.fail(change.failure);
  }

  // What members ask ------------------------------------------------------------------------------------------------

  reading(name: string): MemberReading {
    const bound = this.#states.get(name);
    const last = bound?.value;
    const state = this.#state;
    if (state.kind === "released") return { kind: "error", error: liveError("RELEASED"), last };
    if (state.kind === "failed") return { kind: "error", error: state.cause, last };
    if (bound?.failure !== undefined) return { kind: "error", error: bound.failure, last };
    if (bound !== undefined) return { kind: "value", value: bound.value };
    if (this.#variant === undefined) return { kind: "none" };
    return { kind: "error", error: liveError("NO_SUCH_MEMBER"), last };
  }

  notReady(name: string): Error {
    return liveError("NOT_READY", `${name} of ${this.#parts.definition.$service.typeName} has no value yet`);
  }

  awake(): Timer {
    const { clock } = this.#parts;
    let timer: Timer;
    const again = (): void => {
      timer = clock.timer(foreignTimeoutMsMost, again);
    };
    again();
    return { cancel: () => timer.cancel() };
  }

  #refusal(member: string): HoldfastError | undefined {
    const facts = { outcome: "not-run", progress: "parked" } as const;
    const state = this.#state;
    if (state.kind === "released") return liveError("RELEASED", undefined, facts);
    if (state.kind === "failed") {
      const { cause } = state;
      const { reason, code, details } = cause;
      return new HoldfastError(cause.rawMessage, { ...facts, reason, code, details, cause });
    }
    if (state.kind === "live" && this.#binding?.variant.members.includes(member) === false) {
      return liveError("NO_SUCH_MEMBER", undefined, facts);
    }
    return undefined;
  }

  #calls(): Parking {
    if (this.#parking === undefined) {
      this.#parking = new Parking(this.#parts.clock, () => this.trouble());
      if (this.#adopted) this.#openWay(this.#parking);
    }
    return this.#parking;
  }

  #openWay(parking: Parking): void {
    const holding = this.#holding;
    const members = this.#binding?.variant.members;
    if (holding === undefined || members === undefined) return;
    const way: Way = { holding, has: (member) => members.includes(member) };
    parking.open(way);
  }

  /** Goes on to the state after the event; false when it stays where it is. */
  #move(event: ReferenceEvent): boolean {
    const next = nextReferenceState(this.#state, event);
    if (next === "fault")
      throw new TypeError(`a provider says ${event.kind} to a reference that is ${this.#state.kind}`);
    if (next === this.#state) return false;
    this.#state = next;
    return true;
  }

  #tell(): void {
    const state = this.#state;
    this.#source?.set(state);
    for (const watcher of [...(this.#watchers ?? [])]) {
      if (this.#watchers?.has(watcher) === true) watcher.stateChanged(state);
    }
  }
}

function otherVariant(wanted: string, given: string): HoldfastError {
  return new HoldfastError(`the object is held as "${given}", and the program is written for "${wanted}"`, {
    code: Code.PermissionDenied,
  });
}
