/**
 * What a host holds over one wire: numbers of this wire for its objects, types and layouts, and the calls under way.
 * All of it goes with the wire; nothing that comes from an old one touches what the next one holds.
 *
 * Source: design "Held objects: Drops and re-holds".
 */
import type { ConnectError } from "@connectrpc/connect";
import type { Bound, ClientMessage, Failed, Have, Hold } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { ObjectDefinition } from "../base/definition.ts";
import type { Clock } from "../base/clock.ts";
import type { ClientEnd } from "../wire/client-end.ts";
import { fromLinkError } from "../wire/link-error.ts";
import { payloadOf } from "../wire/packet.ts";
import { protocolFault } from "../wire/wire-end.ts";
import { remoteCause } from "./failure.ts";
import type { ObjectAnswer, ObjectCall } from "./holding.ts";
import { bytesOf } from "./incarnation.ts";
import type { RemoteCalls } from "./remote-calls.ts";
import { readLayout, type RemoteLayout } from "./remote-layout.ts";
import type { LastBinding, RemoteObject } from "./remote-object.ts";

export class WireHolds {
  readonly end: ClientEnd;
  readonly #calls: RemoteCalls;
  readonly #clock: Clock;
  readonly #objects = new Map<number, RemoteObject>();
  /** Given back, and the provider has not said so yet: what comes of them is dropped. */
  readonly #released = new Set<number>();
  readonly #types = new Map<number, ObjectDefinition>();
  readonly #layouts = new Map<number, RemoteLayout>();
  #lastId = 0;

  /** Takes the wire's messages about holds. */
  constructor(end: ClientEnd, calls: RemoteCalls, clock: Clock) {
    this.end = end;
    this.#calls = calls;
    this.#clock = clock;
    end.take({
      layout: (message) => {
        const definition = this.#types.get(message.type);
        if (definition === undefined)
          throw protocolFault(`a layout of the type ${message.type}, which nobody holds`);
        this.#layouts.set(message.number, readLayout(definition, message));
      },
      bound: (message) => this.#bound(message),
      failed: (message) => this.#failed(message),
      loading: ({ hold }) => {
        const object = this.#object(hold);
        if (object === undefined) return;
        this.#lost(hold, () => object.loading());
      },
      frame: ({ hold, member, change }) => this.#object(hold)?.frame(member, change, end.codec),
      released: ({ hold }) => {
        if (!this.#released.delete(hold)) throw protocolFault(`the hold ${hold} was not given back`);
      },
    });
  }

  /** Holds an object; what is known of it from before goes along. */
  hold(object: RemoteObject): void {
    const { last, request } = object;
    const { type, params } = request;
    const { end } = this;
    const id = (this.#lastId += 1);
    this.#objects.set(id, object);
    object.held = this;
    object.hold = id;
    const number = end.numberOf(type.$service.typeName);
    this.#types.set(number, type);
    const value: Hold = {
      $typeName: "holdfast.link.v1.Hold",
      // What is held again is often much: its numbers, which only count on, are left out.
      hold: last === undefined ? id : 0,
      type: number,
      params: payloadOf(end.codec, type.$params, params as never),
      ...(last === undefined ? {} : { have: this.#have(last) }),
    };
    this.#say({ case: "hold", value });
  }

  #have({ incarnation, layout, versions }: LastBinding): Have {
    const { name } = layout.variant;
    return {
      $typeName: "holdfast.link.v1.Have",
      incarnation: bytesOf(incarnation),
      variant: name === "" ? 0 : this.end.numberOf(name),
      versions,
    };
  }

  /** Gives an object back. */
  release(object: RemoteObject): void {
    const id = this.#idOf(object);
    if (id === undefined) return;
    this.#calls.lose(id);
    this.#objects.delete(id);
    object.held = undefined;
    this.#released.add(id);
    this.#say({ case: "release", value: { $typeName: "holdfast.link.v1.Release", hold: id } });
  }

  retry(object: RemoteObject): void {
    const id = this.#idOf(object);
    if (id !== undefined)
      this.#say({ case: "retry", value: { $typeName: "holdfast.link.v1.Retry", hold: id } });
  }

  /** A promise that settles only with the provider's answer. */
  call(object: RemoteObject, call: ObjectCall): Promise<ObjectAnswer> {
    const id = this.#idOf(object);
    return id === undefined
      ? new Promise(() => undefined)
      : this.#calls.give(id, call, object.request.type.$serial);
  }

  forget(object: RemoteObject, call: ObjectCall): void {
    const id = this.#idOf(object);
    if (id !== undefined) this.#calls.forget(id, call);
  }

  keeps(object: RemoteObject, call: ObjectCall): boolean {
    const id = this.#idOf(object);
    return id !== undefined && this.#calls.keeps(id, call);
  }

  /** Another wire is there: this one ends as soon as what was sent on it is answered. */
  leave(): void {
    this.#calls.leave(() => this.end.close());
  }

  /** The wire is gone: tells each object. */
  drop(cause: ConnectError): void {
    const objects = [...this.#objects.values()];
    for (const object of objects) if (object.held === this) object.dropped(cause);
    for (const object of this.#objects.values()) object.held = undefined;
    this.#calls.close();
    this.#objects.clear();
    this.#released.clear();
    this.#layouts.clear();
  }

  #bound(message: Bound): void {
    const { hold, more } = message;
    if (more > 0 && !message.unchanged) throw protocolFault("one value for several holds");
    for (let id = hold; id <= hold + more; id += 1) {
      // Who was told of one of them may have closed the wire.
      if (!this.end.open) return;
      const object = this.#object(id);
      if (object === undefined) continue;
      const layout = this.#layouts.get(message.layout);
      if (layout === undefined) throw protocolFault(`the layout ${message.layout} was not told`);
      object.bound(message, layout, this.end.codec);
    }
  }

  #failed({ hold, cause, retryInMs }: Failed): void {
    const object = this.#object(hold);
    if (object === undefined) return;
    const retryAt = retryInMs === undefined ? undefined : this.#clock.now() + retryInMs;
    this.#lost(hold, () => object.failed({ cause: remoteCause(fromLinkError(cause)), retryAt }));
  }

  /** Tells the object that it left live; who holds asks meanwhile which calls have not left. */
  #lost(hold: number, tell: () => void): void {
    tell();
    this.#calls.lose(hold);
  }

  /** Undefined: it was given back a moment ago. */
  #object(hold: number): RemoteObject | undefined {
    const object = this.#objects.get(hold);
    if (object === undefined && !this.#released.has(hold)) throw protocolFault(`there is no hold ${hold}`);
    return object;
  }

  /** Undefined: it is not held over this wire. */
  #idOf(object: RemoteObject): number | undefined {
    return object.held === this ? object.hold : undefined;
  }

  #say(kind: ClientMessage["kind"]): void {
    this.end.send({ $typeName: "holdfast.link.v1.ClientMessage", kind });
  }
}
