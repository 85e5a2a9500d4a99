/**
 * The holder's side of wires: what a host holds from elsewhere. References belong to the host and not to a wire: each
 * wire that opens holds all objects again that somebody still has a reference to.
 *
 * Source: design "Held objects: Drops and re-holds"; D49.
 */
import { type Message, toJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import type { Timing } from "../base/constants.ts";
import type { Random } from "../base/random.ts";
import { headerNames } from "../call/headers.ts";
import { Stamp, type StampOptions } from "../call/stamp.ts";
import type { CallNumbers } from "../wire/call-numbers.ts";
import type {
  Holder,
  Holding,
  HoldRequest,
  ObjectAnswer,
  ObjectCall,
  PostedCommand,
  Provider,
} from "./holding.ts";
import { RemoteCalls } from "./remote-calls.ts";
import { RemoteObject } from "./remote-object.ts";
import { WireHolds } from "./wire-holds.ts";

export interface HolderSideParts extends StampOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly timing: Pick<Timing, "firstWaitMs" | "waitMsMost">;
  /** Why there is no wire, for the texts of errors; undefined: nothing is known. */
  readonly trouble: () => string | undefined;
  /** Whether anything is held, each time that changes. */
  readonly onWanted: (wanted: boolean) => void;
  /** Makes a call of the link, which its outbox sees to. Absent: there is none. */
  readonly post?: (command: PostedCommand) => Promise<Message>;
}

/** A wire that opened. */
export interface OpenedWire {
  readonly numbers: CallNumbers;
  /** The caller's tag, as welcome said it. */
  readonly tag: string;
  /** Whether hello had no token. */
  readonly anonymous: boolean;
}

export class HolderSide implements Provider {
  readonly #parts: HolderSideParts;
  readonly #objects = new Map<string, RemoteObject>();
  /** Of commands that are not over. */
  readonly #stamps = new WeakMap<ObjectCall, Stamp>();
  #wire: WireHolds | undefined;
  /** Opened while the one before still answers what is under way on it. */
  #next: WireHolds | undefined;
  /** What all claims have in common: there may be very many. */
  readonly #claims: ClaimParts;

  constructor(parts: HolderSideParts) {
    this.#parts = parts;
    this.#claims = {
      wire: () => this.#wire,
      post: parts.post,
      trouble: parts.trouble,
      released: (object) => this.#released(object),
    };
  }

  /** Objects that are held. */
  get objectCount(): number {
    return this.#objects.size;
  }

  acquire(request: HoldRequest, holder: Holder): Holding {
    const name = `${request.type.$service.typeName} ${request.key}`;
    let object = this.#objects.get(name);
    if (object === undefined) {
      object = new RemoteObject(request, name);
      this.#objects.set(name, object);
      this.#wire?.hold(object);
      if (this.#objects.size === 1) this.#parts.onWanted(true);
    }
    return new RemoteHolding(object, holder, this.#claims);
  }

  #released(object: RemoteObject): void {
    if (this.#objects.get(object.name) !== object) return;
    this.#objects.delete(object.name);
    this.#wire?.release(object);
    if (this.#objects.size === 0) this.#parts.onWanted(false);
  }

  /** A wire opened. To be called before a message can come on it. */
  attach(opened: OpenedWire): void {
    const { end } = opened.numbers;
    const calls = new RemoteCalls({ ...this.#parts, ...opened, stampOf: (call) => this.#stampOf(call) });
    const wire = new WireHolds(end, calls, this.#parts.clock);
    end.onClose((cause) => this.#closed(wire, cause));
    if (this.#wire === undefined) this.#use(wire);
    else {
      this.#next = wire;
      this.#wire.leave();
    }
  }

  #use(wire: WireHolds): void {
    this.#wire = wire;
    for (const object of [...this.#objects.values()]) wire.hold(object);
  }

  #closed(wire: WireHolds, cause: Error | undefined): void {
    if (this.#next === wire) this.#next = undefined;
    if (this.#wire !== wire) return;
    const text = cause === undefined ? "the wire was closed" : `the wire was closed: ${cause.message}`;
    wire.drop(new ConnectError(text, Code.Unavailable, undefined, undefined, cause));
    this.#wire = undefined;
    const next = this.#next;
    this.#next = undefined;
    if (next?.end.open === true) this.#use(next);
  }

  #stampOf(call: ObjectCall): Stamp {
    const known = this.#stamps.get(call);
    if (known !== undefined) return known;
    const stamp = new Stamp(call.callId ?? "", this.#parts);
    this.#stamps.set(call, stamp);
    call.whenOver(() => stamp.settle());
    return stamp;
  }
}

interface ClaimParts {
  readonly wire: () => WireHolds | undefined;
  readonly trouble: () => string | undefined;
  readonly post: HolderSideParts["post"];
  /** The last reference to an object went. */
  readonly released: (object: RemoteObject) => void;
}

/** A reference's claim on an object behind a wire. */
class RemoteHolding implements Holding {
  readonly holder: Holder;
  opened = false;
  readonly #object: RemoteObject;
  readonly #parts: ClaimParts;
  #released = false;

  constructor(object: RemoteObject, holder: Holder, parts: ClaimParts) {
    this.#object = object;
    this.holder = holder;
    this.#parts = parts;
    object.join(this);
  }

  get post(): NonNullable<Holding["post"]> | undefined {
    const { post } = this.#parts;
    if (post === undefined) return undefined;
    return (command) => post(toObject(this.#object.request, command));
  }

  open(): void {
    if (this.#released) return;
    this.opened = true;
    this.#object.greet(this);
  }

  retry(): void {
    if (!this.#released && this.#object.state === "failed") this.#parts.wire()?.retry(this.#object);
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (this.#object.leave(this)) this.#parts.released(this.#object);
  }

  call(call: ObjectCall): Promise<ObjectAnswer> {
    return this.#parts.wire()?.call(this.#object, call) ?? new Promise(() => undefined);
  }

  forget(call: ObjectCall): void {
    this.#parts.wire()?.forget(this.#object, call);
  }

  keeps(call: ObjectCall): boolean {
    return this.#parts.wire()?.keeps(this.#object, call) === true;
  }

  trouble(): string | undefined {
    return this.#parts.trouble();
  }
}

/** The command as a call of its own, which names its object. */
function toObject({ type, params }: HoldRequest, command: PostedCommand): PostedCommand {
  const headers = new Headers(command.options.headers);
  headers.set(headerNames.params, headerText(toJsonString(type.$params, params as never)));
  return { ...command, options: { ...command.options, headers } };
}

/** JSON in the letters that a header can have. */
function headerText(json: string): string {
  return json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
