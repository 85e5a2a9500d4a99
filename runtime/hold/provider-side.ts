/**
 * The provider's side of one wire: its holds, and the objects that they are of. When the wire closes all are given
 * back, and linger alone keeps an object warm until its holder is back.
 *
 * Source: design "Held objects: Drops and re-holds"; D49, D51.
 */
import { Code } from "@connectrpc/connect";
import {
  type Have,
  type Hold,
  PayloadSchema,
  type ServerMessage,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import type { Clock } from "../base/clock.ts";
import type { CallableDefinition } from "./holding.ts";
import type { Caller } from "../base/handlers.ts";
import { HoldfastError } from "../base/errors.ts";
import { openSlot } from "../codec/slot.ts";
import { toLinkError } from "../wire/link-error.ts";
import { messageIn, payloadOfPlain } from "../wire/packet.ts";
import type { ServerEnd } from "../wire/server-end.ts";
import { protocolFault } from "../wire/wire-end.ts";
import type { HostInside } from "./host-inside.ts";
import type { LocalHolding } from "./local-holding.ts";
import { type KeyedParams, keyedMessage } from "./params-key.ts";
import { type Known, ProvidedHold, type ProvidedWire } from "./provided-hold.ts";
import { SlowFrames } from "./slow-frames.ts";
import { WireLayouts } from "./wire-layouts.ts";

/** Holds of one wire: more than a screen, or a host in the middle, has. */
export const holdsPerWireMost = 100_000;

export interface ProviderSideParts {
  readonly end: ServerEnd;
  readonly host: HostInside;
  /** Who holds, as of now. */
  readonly caller: () => Caller;
  readonly session: string | undefined;
  readonly clock: Clock;
}

/** A method of a held object that a call names. */
export interface ProvidedMethod {
  readonly member: string;
  readonly definition: CallableDefinition;
}

export class ProviderSide {
  readonly #parts: ProviderSideParts;
  readonly #wire: ProvidedWire;
  readonly #holds = new Map<number, ProvidedHold>();
  /** Asked for before it is known what is served here. */
  readonly #unloaded = new Map<number, () => void>();
  #lastId = 0;

  /** Takes the wire's messages about holds; calls come to it by {@link method} and {@link holding}. */
  constructor(parts: ProviderSideParts) {
    const { end, clock } = parts;
    this.#parts = parts;
    this.#wire = {
      end,
      clock,
      slow: new SlowFrames(end, clock),
      layouts: new WireLayouts((layout) => this.#say({ case: "layout", value: layout })),
      unchanged: undefined,
    };
    end.take({
      hold: (message) => this.#hold(message),
      retry: ({ hold }) => this.#holds.get(this.#given(hold))?.holding?.retry(),
      release: ({ hold }) => this.#release(hold),
    });
    end.onClose(() => this.#close());
  }

  get holdCount(): number {
    return this.#holds.size;
  }

  /**
   * The object of a hold; undefined: it was given back, or is not there yet.
   *
   * @throws ConnectError a protocol fault, for a hold that there never was.
   */
  holding(hold: number): LocalHolding | undefined {
    return this.#holds.get(this.#given(hold))?.holding;
  }

  /** The method of a name such as "notes.v1.NotebookService.Add" of an object; undefined: it has none such. */
  method(hold: number, name: string): ProvidedMethod | undefined {
    const definition = this.#holds.get(this.#given(hold))?.definition;
    if (definition === undefined) return undefined;
    const at = name.lastIndexOf(".");
    if (name.slice(0, at) !== definition.$service.typeName) return undefined;
    const rpc = name.slice(at + 1);
    for (const [member, its] of Object.entries(definition.$members)) {
      if (its.method.name !== rpc) continue;
      return its.kind === "state" ? undefined : { member, definition: its };
    }
    return undefined;
  }

  /** The caller has other grants than before: variants are chosen again. */
  regranted(): void {
    const caller = this.#parts.caller();
    for (const hold of [...this.#holds.values()]) hold.holding?.regranted(caller);
  }

  #hold(message: Hold): void {
    const { end, host } = this.#parts;
    const typeName = end.nameOf(message.type);
    const id = message.hold === 0 ? this.#lastId + 1 : message.hold;
    const before = this.#holds.get(id);
    if (before === undefined && id <= this.#lastId) {
      throw protocolFault(`the hold ${id} does not come after ${this.#lastId}`);
    }
    this.#lastId = Math.max(this.#lastId, id);
    if (host.loading === undefined || before !== undefined) {
      this.#holdKnown(id, message, typeName);
      return;
    }
    if (message.params === undefined) throw protocolFault("a hold without params");
    // What a packet holds is good until it is read; this waits longer.
    const { codec } = end;
    const bytes = codec.pack(openSlot(PayloadSchema, message.params));
    this.#unloaded.set(id, () => {
      this.#holdKnown(id, { ...message, params: payloadOfPlain(codec.unpack(bytes)) }, typeName);
    });
    if (this.#unloaded.size === 1) void host.loading.then(() => this.#loaded());
  }

  #loaded(): void {
    const waiting = [...this.#unloaded.values()];
    this.#unloaded.clear();
    try {
      for (const hold of waiting) hold();
    } catch (error) {
      this.#parts.end.fault(error);
    }
  }

  #holdKnown(id: number, message: Hold, typeName: string): void {
    const { end, host } = this.#parts;
    const { type } = message;
    const definition = host.definition(typeName);
    if (definition === undefined) {
      this.#refuse(id, `${typeName.slice(0, 200)} is not served here`, Code.Unimplemented);
      return;
    }
    let keyed: KeyedParams;
    const given = messageIn(end.codec, definition.$params, message.params);
    try {
      keyed = keyedMessage(definition.$params, given);
    } catch (error) {
      this.#refuse(id, error instanceof Error ? error.message : String(error), Code.InvalidArgument);
      return;
    }
    const { params, key } = keyed;
    const before = this.#holds.get(id);
    if (before !== undefined) {
      if (before.type === type && before.key === key) return;
      throw protocolFault(`the hold ${id} is of another object already`);
    }
    if (this.#holds.size >= holdsPerWireMost) {
      this.#refuse(id, `more than ${holdsPerWireMost} holds of one wire`, Code.ResourceExhausted);
      return;
    }
    const have = message.have === undefined ? undefined : this.#known(message.have);
    const hold = new ProvidedHold(this.#wire, { id, type, definition, key }, have);
    this.#holds.set(id, hold);
    const { caller, session } = this.#parts;
    hold.take(host.acquire({ type: definition, params, key, caller: caller(), session }, hold));
  }

  /** Nobody serves it: it is failed, broken. Its holder gives it back as any other. */
  #refuse(id: number, what: string, code: Code): void {
    const cause = new HoldfastError(what, { code });
    const value = {
      $typeName: "holdfast.link.v1.Failed",
      hold: id,
      cause: toLinkError(cause),
    } as const;
    this.#say({ case: "failed", value });
  }

  #release(id: number): void {
    const hold = this.#holds.get(this.#given(id));
    this.#holds.delete(id);
    this.#unloaded.delete(id);
    hold?.release();
    this.#say({ case: "released", value: { $typeName: "holdfast.link.v1.Released", hold: id } });
  }

  #known({ incarnation, variant, versions }: Have): Known {
    return { incarnation, variant: variant === 0 ? "" : this.#parts.end.nameOf(variant), versions };
  }

  #given(hold: number): number {
    if (hold === 0 || hold > this.#lastId) throw protocolFault(`there is no hold ${hold}`);
    return hold;
  }

  #say(kind: ServerMessage["kind"]): void {
    this.#parts.end.send({ $typeName: "holdfast.link.v1.ServerMessage", kind });
  }

  #close(): void {
    this.#unloaded.clear();
    this.#wire.slow.close();
    for (const hold of [...this.#holds.values()]) hold.release();
    this.#holds.clear();
  }
}
