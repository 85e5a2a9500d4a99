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
import type { Codec } from "../codec/codec.ts";
import { openSlot } from "../codec/slot.ts";
import { readChange, readValue } from "../delta/from-wire.ts";
import type { Change } from "../delta/operation.ts";
import { fromLinkError } from "../wire/link-error.ts";
import { protocolFault } from "../wire/wire-end.ts";
import { remoteCause } from "./failure.ts";
import type { Binding, BoundState, Holder, HoldingFailure, HoldRequest } from "./holding.ts";
import type { LaidState, RemoteLayout } from "./remote-layout.ts";

/** What the provider last said of it. */
type RemoteState =
  /** Or nothing yet, or there is no wire. */
  | { readonly kind: "loading" }
  | { readonly kind: "bound" }
  | { readonly kind: "failed"; readonly failure: HoldingFailure };

/** What it was bound to, brought up to now by the frames since. */
export interface LastBinding {
  readonly incarnation: Uint8Array;
  readonly layout: RemoteLayout;
  /** Of each state, by its place. */
  readonly versions: number[];
  /** As of now; never changed in place, since references share it. */
  states: ReadonlyMap<string, BoundState>;
}

/** A reference's part in it. */
export interface Sharer {
  readonly holder: Holder;
  /** Whether it may be told. */
  readonly opened: boolean;
}

export class RemoteObject {
  readonly request: HoldRequest;
  readonly #sharers = new Set<Sharer>();
  #state: RemoteState = { kind: "loading" };
  #last: LastBinding | undefined;

  constructor(request: HoldRequest) {
    this.request = request;
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
    const last = adopted(message, layout, codec, this.#last);
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
    last.states = new Map(last.states).set(
      state.name,
      change.kind === "value" ? { version, value: change.value } : { version, failure: change.failure },
    );
    for (const sharer of [...this.#sharers]) {
      if (this.#last !== last || this.state !== "bound") return;
      if (sharer.opened && this.#sharers.has(sharer)) sharer.holder.changed(state.name, change);
    }
  }

  /** While one is told it may do anything: then the others hear what is newer, and the older no more. */
  #move(state: RemoteState, tell: (holder: Holder) => void): void {
    this.#state = state;
    for (const sharer of [...this.#sharers]) {
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
  const states = new Map<string, BoundState>();
  const versions = message.states.map(({ version }) => version);
  for (const [place, value] of message.states.entries()) {
    const state = layout.places[place];
    if (state !== undefined) states.set(state.name, boundState(codec, state, value, before));
  }
  return { incarnation: Uint8Array.from(message.incarnation), layout, versions, states };
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
