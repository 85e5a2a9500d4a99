/**
 * An object behind a wire, as one host holds it: however many references the program has to it, on the wire it is one
 * hold. It outlives wires: what it was last bound to is kept, and offered to the next provider that answers.
 *
 * Source: design "Held objects: Drops and re-holds".
 */
import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { Bound, MemberValue, Payload } from "../../gen/holdfast/link/v1/link_pb.ts";
import { PayloadSchema } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { ObjectDefinition } from "../base/definition.ts";
import { FewSet } from "../base/few-set.ts";
import type { Codec } from "../codec/codec.ts";
import { openSlot } from "../codec/slot.ts";
import { readChange, readValue } from "../delta/from-wire.ts";
import type { Change } from "../delta/operation.ts";
import { fromLinkError } from "../wire/link-error.ts";
import { protocolFault } from "../wire/wire-end.ts";
import { type BoundState, BoundStates } from "./bound-states.ts";
import { remoteCause } from "./failure.ts";
import type { Binding, Holder, HoldingFailure, HoldRequest } from "./holding.ts";
import { incarnationBytes, incarnationOf } from "./incarnation.ts";
import type { LaidState, RemoteLayout } from "./remote-layout.ts";

/** What the provider last said of it. */
type RemoteState =
  /** Or nothing yet, or there is no wire. */
  | { readonly kind: "loading" }
  | { readonly kind: "bound" }
  | { readonly kind: "failed"; readonly failure: HoldingFailure };

const loading: RemoteState = { kind: "loading" };

/** What it was bound to, brought up to now by the frames since. */
export interface LastBinding {
  readonly incarnation: string;
  readonly layout: RemoteLayout;
  /** Of each state, by its place. */
  readonly versions: number[];
  /** As of now; references share it. */
  states: BoundStates;
}

/** A reference's part in it. */
export interface Sharer {
  readonly holder: Holder;
  /** Whether it may be told. */
  readonly opened: boolean;
}

export class RemoteObject {
  readonly request: HoldRequest;
  /** Its name among the objects of all types. */
  readonly name: string;
  /** The wire over which it is held, by whom that wire is; and its number there. */
  held: unknown;
  hold = 0;
  readonly #sharers = new FewSet<Sharer>();
  #state: RemoteState = loading;
  #last: LastBinding | undefined;

  constructor(request: HoldRequest, name: string) {
    this.request = request;
    this.name = name;
  }

  get state(): RemoteState["kind"] {
    return this.#state.kind;
  }

  /** Undefined: it was never bound. */
  get last(): LastBinding | undefined {
    return this.#last;
  }

  join(sharer: Sharer): void {
    this.#sharers.add(sharer);
  }

  /** Whether that was the last one. */
  leave(sharer: Sharer): boolean {
    return this.#sharers.delete(sharer) && this.#sharers.size === 0;
  }

  /** Tells one who is new what is known. */
  greet({ holder }: Sharer): void {
    const state = this.#state;
    if (state.kind === "failed") holder.failed(state.failure);
    else if (state.kind === "bound" && this.#last !== undefined) holder.bound(bindingOf(this.#last));
    else holder.loading();
  }

  // What the wire brings ----------------------------------------------------------------------------------------------

  bound(message: Bound, layout: RemoteLayout, codec: Codec): void {
    if (this.#state.kind !== "loading") throw protocolFault("a bound came with no loading before it");
    const last = adopted(this.request.type, message, layout, codec, this.#last);
    this.#last = last;
    const binding = bindingOf(last);
    this.#move({ kind: "bound" }, (holder) => holder.bound(binding));
  }

  failed(failure: HoldingFailure): void {
    this.#move({ kind: "failed", failure }, (holder) => holder.failed(failure));
  }

  loading(): void {
    if (this.#state.kind === "loading") return;
    this.#move({ kind: "loading" }, (holder) => holder.loading());
  }

  /** The wire is gone. */
  dropped(cause: ConnectError): void {
    this.#move({ kind: "loading" }, (holder) => holder.loading(cause));
  }

  frame(place: number, payload: Payload | undefined, codec: Codec): void {
    const last = this.#last;
    if (this.#state.kind !== "bound" || last === undefined) {
      throw protocolFault("a frame came for an object that is not bound");
    }
    if (place >= last.layout.places.length || payload === undefined) {
      throw protocolFault(`a frame came for the member ${place}, which its layout does not have`);
    }
    const state = last.layout.places[place];
    if (state === undefined) return;
    const was = last.states.get(state.name);
    const replica = { version: was?.version ?? 0, value: was?.value };
    const change: Change = readChange(codec, state.desc, openSlot(PayloadSchema, payload), replica, (error) =>
      remoteCause(fromLinkError(error)),
    );
    const { version } = change;
    last.versions[place] = version;
    last.states = last.states.with(
      state.name,
      change.kind === "value" ? { version, value: change.value } : { version, failure: change.failure },
    );
    for (const sharer of this.#sharers.all()) {
      if (this.#last !== last || this.state !== "bound") return;
      if (sharer.opened && this.#sharers.has(sharer)) sharer.holder.changed(state.name, change);
    }
  }

  /** While one is told it may do anything: then the others hear what is newer, and the older no more. */
  #move(state: RemoteState, tell: (holder: Holder) => void): void {
    this.#state = state;
    for (const sharer of this.#sharers.all()) {
      if (this.#state !== state) return;
      if (sharer.opened && this.#sharers.has(sharer)) tell(sharer.holder);
    }
  }
}

function bindingOf({ layout, incarnation, states }: LastBinding): Binding {
  return { variant: layout.variant, incarnation, states };
}

/** All of a binding is read before anything of it is taken. */
function adopted(
  definition: ObjectDefinition,
  message: Bound,
  layout: RemoteLayout,
  codec: Codec,
  before: LastBinding | undefined,
): LastBinding {
  if (message.unchanged) {
    if (before === undefined) throw protocolFault("unchanged, of an object that was never bound");
    // The layout is the same; its number, and so the object, is this wire's.
    return { ...before, layout };
  }
  if (message.incarnation.length !== incarnationBytes) {
    throw protocolFault(`an incarnation of ${message.incarnation.length} bytes`);
  }
  const versions = message.states.map(({ version }) => version);
  const states = BoundStates.of(definition, (name) => {
    const place = layout.places.findIndex((laid) => laid?.name === name);
    const laid = layout.places[place];
    const value = message.states[place];
    return laid === undefined || value === undefined ? undefined : boundState(codec, laid, value, before);
  });
  return { incarnation: incarnationOf(message.incarnation), layout, versions, states };
}

function boundState(
  codec: Codec,
  { name, desc }: NonNullable<LaidState>,
  { version, kind }: MemberValue,
  before: LastBinding | undefined,
): BoundState {
  switch (kind.case) {
    case "value": {
      const value: Message = readValue(codec, desc, kind.value);
      return { version, value };
    }
    case "failed":
      return { version, failure: remoteCause(fromLinkError(kind.value)) };
    case "unchanged": {
      const kept = before?.states.get(name);
      if (kept === undefined) throw protocolFault(`${name} is unchanged, and there is no value of it`);
      return kept;
    }
    case undefined:
      throw protocolFault(`${name} was bound to nothing`);
  }
}
