/**
 * Every wire's way in: hello within its time, the greeting, welcome, and then its users. Of one slot of a link the
 * newest wire stands, so that a late connect cannot push out its successor.
 *
 *   accepted ──hello──▶ greeting ──welcome──▶ open ──age, drain──▶ leaving ──▶ closed
 *
 * Source: design "Wires", "Drops and re-holds", "Quality: Security"; reliability decisions D46, D48, D55.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Hello, ServerMessage } from "../../gen/holdfast/link/v1/link_pb.ts";
import { type Clock, type Timer } from "../../runtime/base/clock.ts";
import { streamAgeMs, streamIdleMs } from "../../runtime/base/constants.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import type { Log } from "../../runtime/base/log.ts";
import type { Random } from "../../runtime/base/random.ts";
import type { Codec } from "../../runtime/codec/codec.ts";
import { jsonCodec } from "../../runtime/codec/json.ts";
import {
  codecOfHello,
  firstPacket,
  helloWaitMs,
  readHello,
  welcomeMessage,
} from "../../runtime/wire/handshake.ts";
import { toLinkError } from "../../runtime/wire/link-error.ts";
import { endMessage, ServerEnd } from "../../runtime/wire/server-end.ts";
import { protocolFault } from "../../runtime/wire/wire-end.ts";
import type { Wire } from "../../runtime/wire/wire.ts";
import type { OpenConnections } from "../session/open-connections.ts";
import { greet, type GreetParts, type WireGuest } from "./greet.ts";
import { OpenWire } from "./open-wire.ts";
import { keepSignedIn } from "./signed-in.ts";
import { Slots } from "./slots.ts";

export interface AcceptParts extends GreetParts {
  /** What goes over a wire: each takes its kinds of messages. Called before the first can come. */
  readonly users: readonly ((wire: OpenWire) => void)[];
  readonly connections: OpenConnections;
  readonly limits: Pick<Limits, "wiresPerCallerMost" | "greetingsPerAddressMost">;
  /** The value of `holdfast-server`. */
  readonly serverHeader: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Where a wire comes from. */
export interface WireSource {
  readonly header: Headers;
  readonly address: string | undefined;
  /** The codec that its client has said it reads, before hello. */
  readonly codec?: Codec;
}

/** A server ends wires at an age between 90 and 110 % of `streamAgeMs`, so that they do not end together. */
const ageSpread = 0.2;

export class Wires {
  readonly #parts: AcceptParts;
  readonly #slots = new Slots();
  readonly #open = new Set<OpenWire>();
  /** How to refuse each wire that has no welcome yet. */
  readonly #greeting = new Set<(error: unknown) => void>();
  readonly #greetingByAddress = new Map<string, number>();
  readonly #countByQuota = new Map<string, number>();
  readonly #timers = new Set<Timer>();
  #idle: (() => void)[] = [];

  constructor(parts: AcceptParts) {
    this.#parts = parts;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** Takes a wire that has said nothing yet. */
  accept(wire: Wire, source: WireSource): void {
    const { clock } = this.#parts;
    const address = source.address ?? "";
    let codec = source.codec ?? jsonCodec;
    let state: "silent" | "greeting" | "over" = "silent";
    count(this.#greetingByAddress, address, 1);
    const settle = (): void => {
      if (state === "over") return;
      state = "over";
      timer.cancel();
      this.#greeting.delete(refuse);
      count(this.#greetingByAddress, address, -1);
    };
    const refuse = (thrown: unknown): void => {
      if (state === "over") return;
      settle();
      const error = ConnectError.from(thrown, Code.Internal);
      wire.send(firstPacket(codec, refusalOf(error)));
      wire.close();
    };
    const late = (): void => refuse(new ConnectError("no hello came in time", Code.DeadlineExceeded));
    const timer = clock.timer(helloWaitMs, late, { background: true });
    wire.onClose(settle);
    wire.onPacket((packet) => {
      if (state === "greeting") refuse(protocolFault("nothing may be said before the welcome"));
      else if (state === "silent") {
        state = "greeting";
        codec = codecOfHello(packet);
        timer.cancel(); // the sign-in has a limit of its own
        this.#greet(packet, source).then((guest) => {
          if (state === "over") return;
          settle();
          this.#welcome(wire, guest, codec);
        }, refuse);
      }
    });
    this.#greeting.add(refuse);
    const most = this.#parts.limits.greetingsPerAddressMost;
    if ((this.#greetingByAddress.get(address) ?? 0) > most) {
      refuse(
        new ConnectError(`more than ${most} wires of one address say hello at once`, Code.ResourceExhausted),
      );
    }
  }

  /** Each leaves after a wait of its own, and its client comes back. */
  drain(waitMs: () => number): void {
    for (const wire of this.#open) this.#after(waitMs(), () => wire.leave(0));
  }

  /** Resolves when no wire is open. */
  idle(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Ends all of them now. */
  close(): void {
    for (const timer of this.#timers) timer.cancel();
    for (const refuse of [...this.#greeting]) refuse(this.#parts.refusal());
    for (const wire of [...this.#open]) {
      wire.leave(0);
      wire.end.close();
    }
  }

  async #greet(packet: Uint8Array, source: WireSource): Promise<WireGuest> {
    const { hello, rest } = readHello(packet);
    if (rest.length > 0) throw protocolFault("nothing may be said before the welcome");
    return this.#admit(hello, source);
  }

  async #admit(hello: Hello, source: WireSource): Promise<WireGuest> {
    const guest = await greet(hello, { ...source, via: "wire" }, this.#parts);
    this.#slots.check(guest);
    const most = this.#parts.limits.wiresPerCallerMost;
    if ((this.#countByQuota.get(guest.key.quota) ?? 0) >= most) {
      throw new ConnectError(`more than ${most} wires of one caller`, Code.ResourceExhausted);
    }
    return guest;
  }

  /** Lets the wire in. From here on nothing keeps what belongs to its greeting. */
  #welcome(wire: Wire, guest: WireGuest, first: Codec): void {
    const { clock, log, random, serverHeader, users, connections } = this.#parts;
    const { codec, idleMs, key } = guest;
    const nowMs = Math.floor(clock.now());
    wire.send(
      firstPacket(
        first,
        welcomeMessage({ server: serverHeader, nowMs, caller: guest.tag, idleMs: streamIdleMs }),
      ),
    );
    const end = new ServerEnd({ wire, codec, clock, log, idleMs: streamIdleMs, otherIdleMs: idleMs });
    wire.onPacket((packet) => end.receive(packet));
    wire.onClose((cause) => end.gone(cause));
    const open = new OpenWire(end, guest, clock);
    this.#slots.take(open);
    this.#open.add(open);
    count(this.#countByQuota, key.quota, 1);
    const ageMs = streamAgeMs * (1 - ageSpread / 2 + random.fraction() * ageSpread);
    const age = this.#after(ageMs, () => open.leave(0));
    end.onClose(() => {
      age.cancel();
      this.#slots.leave(open);
      count(this.#countByQuota, key.quota, -1);
      this.#open.delete(open);
      if (this.#open.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
    });
    keepSignedIn(open, connections, this.#parts);
    for (const use of users) use(open);
  }

  #after(waitMs: number, fn: () => void): Timer {
    const timer = this.#parts.clock.timer(
      waitMs,
      () => {
        this.#timers.delete(timer);
        fn();
      },
      { background: true },
    );
    this.#timers.add(timer);
    return {
      cancel: () => {
        this.#timers.delete(timer);
        timer.cancel();
      },
    };
  }
}

/** What a client that is not let in is told. */
function refusalOf(error: ConnectError): ServerMessage {
  return endMessage({ error: toLinkError(error) });
}

function count(counts: Map<string, number>, name: string, by: number): void {
  const now = (counts.get(name) ?? 0) + by;
  if (now > 0) counts.set(name, now);
  else counts.delete(name);
}
