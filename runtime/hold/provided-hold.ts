/**
 * One hold of one wire, on the provider's side: turns what the object says into messages.
 *
 * Source: design "Held objects: Drops and re-holds".
 */
import { Code, type ConnectError } from "@connectrpc/connect";
import type { Bound, Have, MemberValue, ServerMessage } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { ObjectDefinition } from "../base/definition.ts";
import type { Clock } from "../base/clock.ts";
import { HoldfastError } from "../base/errors.ts";
import { shapedChange, shapedValue } from "../delta/to-wire.ts";
import { wholeChange } from "../delta/join.ts";
import type { Change } from "../delta/operation.ts";
import { toLinkError } from "../wire/link-error.ts";
import { payloadOfPlain } from "../wire/packet.ts";
import type { ServerEnd } from "../wire/server-end.ts";
import type { BoundState } from "./bound-states.ts";
import type { Binding, Holder, HoldingFailure } from "./holding.ts";
import type { LocalHolding } from "./local-holding.ts";
import { asWireError } from "./failure.ts";
import { bytesOf, isIncarnation } from "./incarnation.ts";
import type { SlowFrames, SlowHolder } from "./slow-frames.ts";
import type { WireLayout, WireLayouts } from "./wire-layouts.ts";
import { assertFits } from "./wire-size.ts";

const noBytes = new Uint8Array();
const statesHave = "the object's states have";

/** What the holds of one wire share. */
export interface ProvidedWire {
  readonly end: ServerEnd;
  readonly layouts: WireLayouts;
  readonly slow: SlowFrames;
  readonly clock: Clock;
  /** The last message that said of a hold that nothing has changed. */
  unchanged: { readonly message: ServerMessage; readonly bound: Bound } | undefined;
}

/** Which hold it is. */
export interface HoldName {
  readonly id: number;
  /** The number of the type's name. */
  readonly type: number;
  readonly definition: ObjectDefinition;
  /** The object's key, to tell the same hold from another one. */
  readonly key: string;
}

/** What the holder still has from an earlier wire. */
export interface Known extends Pick<Have, "incarnation" | "versions"> {
  /** The variant's name. */
  readonly variant: string;
}

export class ProvidedHold implements Holder, SlowHolder {
  readonly type: number;
  readonly key: string;
  readonly definition: ObjectDefinition;
  readonly #id: number;
  readonly #wire: ProvidedWire;
  #have: Known | undefined;
  #layout: WireLayout | undefined;
  #holding: LocalHolding | undefined;
  #released = false;
  /** It was told that its object is failed, though the object is not. */
  #unwritable = false;

  constructor(wire: ProvidedWire, { id, type, definition, key }: HoldName, have: Known | undefined) {
    this.#wire = wire;
    this.#id = id;
    this.type = type;
    this.key = key;
    this.definition = definition;
    this.#have = have;
  }

  get holding(): LocalHolding | undefined {
    return this.#holding;
  }

  /** The object is found: it may speak. */
  take(holding: LocalHolding): void {
    if (this.#released) {
      holding.release();
      return;
    }
    this.#holding = holding;
    holding.open();
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#wire.slow.forget(this);
    this.#holding?.release();
  }

  // What the object says ----------------------------------------------------------------------------------------------

  loading(): void {
    this.#unwritable = false;
    this.#wire.slow.forget(this);
    this.#say({ case: "loading", value: { $typeName: "holdfast.link.v1.Loading", hold: this.#id } });
  }

  failed({ cause, retryAt }: HoldingFailure): void {
    const { slow, clock } = this.#wire;
    slow.forget(this);
    const retryInMs = retryAt === undefined ? undefined : Math.max(0, Math.ceil(retryAt - clock.now()));
    this.#say({
      case: "failed",
      value: {
        $typeName: "holdfast.link.v1.Failed",
        hold: this.#id,
        cause: toLinkError(cause),
        ...(retryInMs === undefined ? {} : { retryInMs }),
      },
    });
  }

  bound(binding: Binding): void {
    this.#written(() => this.#bound(binding));
  }

  #bound(binding: Binding): void {
    const { layouts, slow } = this.#wire;
    slow.forget(this);
    const layout = layouts.of(this.definition, binding.variant, this.type);
    this.#layout = layout;
    const known = sameActivation(this.#have, binding) ? this.#have?.versions : undefined;
    this.#have = undefined;
    if (known !== undefined && hasAll(known, layout, binding)) {
      this.#sayUnchanged(layout);
      return;
    }
    const states = layout.states.map(({ name, desc }, place) =>
      this.#value(binding.states.get(name), desc, known?.[place]),
    );
    assertFits(
      states.map(({ kind }) => (kind.case === "value" ? kind.value : undefined)),
      statesHave,
    );
    this.#sayBound(layout, bytesOf(binding.incarnation), states);
  }

  /** After a drop that is said of a great many at once. */
  #sayUnchanged({ number }: WireLayout): void {
    if (this.#released) return;
    const wire = this.#wire;
    const last = wire.unchanged;
    if (last !== undefined && wire.end.isOpen(last.message)) {
      const { bound } = last;
      if (bound.layout === number && bound.hold + bound.more + 1 === this.#id) {
        bound.more += 1;
        return;
      }
    }
    const bound = newBound(this.#id, number, noBytes, []);
    bound.unchanged = true;
    const message: ServerMessage = {
      $typeName: "holdfast.link.v1.ServerMessage",
      kind: { case: "bound", value: bound },
    };
    wire.unchanged = { message, bound };
    wire.end.sendOpen(message);
  }

  #sayBound({ number }: WireLayout, incarnation: Uint8Array<ArrayBuffer>, states: MemberValue[]): void {
    this.#say({ case: "bound", value: newBound(this.#id, number, incarnation, states) });
  }

  changed(member: string, change: Change): void {
    if (!this.#wire.slow.take(this, member, change)) this.#frame(member, change);
  }

  /** A change that waited: nobody needs what lay between. */
  frame(member: string, change: Change): void {
    this.#frame(member, wholeChange(change));
  }

  #frame(member: string, change: Change): void {
    const { end } = this.#wire;
    const place = this.#layout?.places.get(member);
    const desc = place === undefined ? undefined : this.#layout?.states[place]?.desc;
    if (place === undefined || desc === undefined) return;
    this.#written(() => {
      const payload = payloadOfPlain(shapedChange(end.codec, desc, change, writeError));
      assertFits([payload], statesHave);
      this.#say({
        case: "frame",
        value: { $typeName: "holdfast.link.v1.Frame", hold: this.#id, member: place, change: payload },
      });
    });
  }

  /** A value that no wire can carry fails this holder alone, and for good. */
  #written(write: () => void): void {
    if (this.#unwritable) return;
    try {
      write();
    } catch (error) {
      this.#unwritable = true;
      const cause =
        error instanceof HoldfastError
          ? error
          : new HoldfastError("a state of the object cannot be written to a wire", {
              code: Code.Internal,
              cause: error,
            });
      this.failed({ cause, retryAt: undefined });
    }
  }

  #value(
    bound: BoundState | undefined,
    desc: WireLayout["states"][number]["desc"],
    known: number | undefined,
  ): MemberValue {
    const version = bound?.version ?? 0;
    const $typeName = "holdfast.link.v1.MemberValue";
    if (bound === undefined) throw new TypeError("a binding has every state of its variant");
    if (known === version) return { $typeName, version, kind: { case: "unchanged", value: true } };
    if (bound.failure !== undefined) {
      return { $typeName, version, kind: { case: "failed", value: writeError(bound.failure) } };
    }
    const value = payloadOfPlain(shapedValue(this.#wire.end.codec, desc, bound.value));
    return { $typeName, version, kind: { case: "value", value } };
  }

  #say(kind: ServerMessage["kind"]): void {
    if (this.#released) return;
    this.#wire.end.send({ $typeName: "holdfast.link.v1.ServerMessage", kind });
  }
}

function newBound(
  hold: number,
  layout: number,
  incarnation: Uint8Array<ArrayBuffer>,
  states: MemberValue[],
): Bound {
  const $typeName = "holdfast.link.v1.Bound";
  return { $typeName, hold, layout, incarnation, states, unchanged: false, more: 0 };
}

function sameActivation(have: Known | undefined, binding: Binding): boolean {
  if (have === undefined || have.variant !== binding.variant.name) return false;
  return isIncarnation(have.incarnation, binding.incarnation);
}

/** Whether the holder has all of it already. */
function hasAll(known: readonly number[], { states }: WireLayout, binding: Binding): boolean {
  for (let place = 0; place < states.length; place += 1) {
    if (binding.states.get(states[place]?.name ?? "")?.version !== known[place]) return false;
  }
  return true;
}

function writeError(failure: Error): ReturnType<typeof toLinkError> {
  const error: ConnectError = asWireError(failure);
  return toLinkError(error);
}
