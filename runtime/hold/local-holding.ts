/**
 * A holding of an object of this host, whoever holds it: a reference of this process, or the end of a wire.
 *
 * Source: design "Held objects".
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { VariantDefinition } from "../base/definition.ts";
import { HoldfastError } from "../base/errors.ts";
import type { Caller } from "../base/handlers.ts";
import { LateSignal, type Stop } from "../base/late-signal.ts";
import { liveError } from "../base/live-reasons.ts";
import type { Change } from "../delta/operation.ts";
import type {
  Binding,
  Holder,
  Holding,
  HoldingFailure,
  HoldRequest,
  ObjectAnswer,
  ObjectCall,
} from "./holding.ts";
import type { HeldObject, ObjectEnvironment, ObjectHolder } from "./object.ts";
import { type CallPlace, runCall } from "./run-call.ts";
import { type ServedType, variantFor } from "./served-type.ts";
import { StartOrder, type UntilOver } from "./start-order.ts";

/** The type that the object is of. */
export interface HoldingType {
  readonly served: ServedType;
  readonly env: ObjectEnvironment;
  /** The present object of these params; a new one when the last has ended. */
  objectFor(request: HoldRequest): HeldObject;
}

export class LocalHolding implements Holding, ObjectHolder {
  readonly #type: HoldingType;
  readonly #request: HoldRequest;
  readonly #holder: Holder;
  /** Made for the first call: most holdings of a server have none. */
  #order: StartOrder | undefined;
  #running: Map<ObjectCall, LateSignal> | undefined;
  /** Of a serial object: the call ID of a command that is to come again, and of those that wait behind it. */
  #behind: Set<string> | undefined;
  #caller: Caller;
  /** Undefined: refused, or not open yet. */
  #variant: VariantDefinition | undefined;
  #object: HeldObject | undefined;
  #binding: Binding | undefined;
  #released = false;

  constructor(type: HoldingType, request: HoldRequest, holder: Holder) {
    this.#type = type;
    this.#request = request;
    this.#holder = holder;
    this.#caller = request.caller;
  }

  open(): void {
    if (!this.#released) this.#enter(this.#choose());
  }

  retry(): void {
    if (this.#released) return;
    if (this.#object !== undefined) {
      this.#object.attempt();
      return;
    }
    this.#holder.loading();
    this.open();
  }

  /** The caller has other grants than before: the variant is chosen again. */
  regranted(caller: Caller): void {
    this.#caller = caller;
    if (this.#released) return;
    const chosen = this.#choose();
    if (chosen === this.#variant) return;
    this.#binding = undefined;
    this.#holder.loading();
    this.#enter(chosen);
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#leave();
    for (const stop of this.#running?.values() ?? []) stop.abort();
  }

  // Calls -----------------------------------------------------------------------------------------------------------

  async call(call: ObjectCall): Promise<ObjectAnswer> {
    if (this.#variant?.members.includes(call.member) === false) return notRun(liveError("NO_SUCH_MEMBER"));
    const forgotten = new LateSignal();
    this.#running ??= new Map();
    this.#running.set(call, forgotten);
    this.#order ??= new StartOrder(this.#type.served.definition.$serial);
    try {
      return await this.#order.start(call.definition.kind === "command", (started, until) =>
        this.#run(call, forgotten, started, until),
      );
    } finally {
      if (this.#running.get(call) === forgotten) this.#running.delete(call);
    }
  }

  forget(call: ObjectCall): void {
    this.#running?.get(call)?.abort();
  }

  async #run(
    call: ObjectCall,
    forgotten: Stop,
    started: () => void,
    until: UntilOver,
  ): Promise<ObjectAnswer> {
    const live = this.#object?.live();
    const handler = live?.handler(call.member);
    // It waited for its turn, and meanwhile nobody waits for it or the object is gone.
    if (live === undefined || handler === undefined || forgotten.aborted) {
      return notRun(liveError("NOT_READY", "the object is not live any more"));
    }
    if (!this.#isNext(call)) return { result: { error: notItsTurn() }, mark: "later", repeat: false };
    const { type, params, key, session } = this.#request;
    const { run, clock, log } = this.#type.env;
    const { ending } = live;
    const place: CallPlace = {
      type,
      params,
      key,
      caller: this.#caller,
      session,
      ending,
      handler,
      started,
      until,
      run,
      clock,
      log,
    };
    const answer = await runCall(call, place, forgotten);
    if (answer.mark === "later" && this.#isSerial(call)) this.#behind ??= new Set([call.callId ?? ""]);
    return answer;
  }

  /**
   * A command of a serial object starts when the one before it is settled. One that failed for now is not: what its
   * caller had sent behind it is refused, and comes again behind it. If the caller has given it up, what comes again
   * first is one of those.
   */
  #isNext(call: ObjectCall): boolean {
    const behind = this.#behind;
    if (behind === undefined || !this.#isSerial(call) || call.callId === undefined) return true;
    if (behind.has(call.callId)) {
      this.#behind = undefined;
      return true;
    }
    behind.add(call.callId);
    return false;
  }

  #isSerial({ definition }: ObjectCall): boolean {
    return definition.kind === "command" && this.#type.served.definition.$serial;
  }

  // What the object says ----------------------------------------------------------------------------------------------

  objectLoading(): void {
    this.#behind = undefined;
    this.#binding = undefined;
    this.#holder.loading();
  }

  objectLive(): void {
    if (this.#variant === undefined || this.#binding !== undefined) return;
    const binding = this.#object?.bindingFor(this.#variant);
    if (binding === undefined) return;
    this.#binding = binding;
    this.#holder.bound(binding);
  }

  objectFailed(failure: HoldingFailure): void {
    this.#behind = undefined;
    this.#binding = undefined;
    this.#holder.failed(failure);
  }

  objectChanged(member: string, change: Change): void {
    const bound = this.#binding?.states.get(member);
    // A holder that was bound while a change is being told has it already.
    if (bound !== undefined && change.version > bound.version) this.#holder.changed(member, change);
  }

  #choose(): VariantDefinition | HoldfastError {
    const { served, env } = this.#type;
    return variantFor(served, this.#caller, this.#request.params, env.log);
  }

  #enter(chosen: VariantDefinition | HoldfastError): void {
    if (chosen instanceof HoldfastError) {
      this.#variant = undefined;
      this.#leave();
      this.#holder.failed({ cause: chosen, retryAt: undefined });
      return;
    }
    this.#variant = chosen;
    if (this.#object !== undefined) {
      if (this.#object.state.kind === "live") this.objectLive();
      return;
    }
    this.#object = this.#type.objectFor(this.#request);
    this.#object.attach(this);
  }

  #leave(): void {
    this.#binding = undefined;
    const object = this.#object;
    this.#object = undefined;
    object?.detach(this);
  }
}

function notItsTurn(): ConnectError {
  return new ConnectError(
    "a command before this one failed for now, and is tried again first",
    Code.Unavailable,
  );
}

function notRun(error: HoldfastError): ObjectAnswer {
  return { result: { error }, mark: "none", repeat: false };
}
