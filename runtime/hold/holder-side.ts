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

  constructor(parts: HolderSideParts) {
    this.#parts = parts;
  }

  /** Objects that are held. */
  get objectCount(): number {
    return this.#objects.size;
  }

  acquire(request: HoldRequest, holder: Holder): Holding {
    const name = `${request.type.$service.typeName} ${request.key}`;
    let object = this.#objects.get(name);
    if (object === undefined) {
      object = new RemoteObject(request);
      this.#objects.set(name, object);
      this.#wire?.hold(object);
      if (this.#objects.size === 1) this.#parts.onWanted(true);
    }
    return new RemoteHolding(object, holder, {
      wire: () => this.#wire,
      post: this.#parts.post,
      trouble: this.#parts.trouble,
      released: (released) => {
        if (this.#objects.get(name) !== released) return;
        this.#objects.delete(name);
        this.#wire?.release(released);
        if (this.#objects.size === 0) this.#parts.onWanted(false);
      },
    });
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

interface RemoteHoldingParts {
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
  readonly post?: NonNullable<Holding["post"]>;
  readonly #object: RemoteObject;
  readonly #parts: RemoteHoldingParts;
  #released = false;

  constructor(object: RemoteObject, holder: Holder, parts: RemoteHoldingParts) {
    this.#object = object;
    this.holder = holder;
    this.#parts = parts;
    const { post } = parts;
    if (post !== undefined) this.post = (command) => post(toObject(object.request, command));
    object.join(this);
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

  readonly keeps = (call: ObjectCall): boolean => this.#parts.wire()?.keeps(this.#object, call) === true;

  readonly trouble = (): string | undefined => this.#parts.trouble();
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
