/**
 * Two ends of a wire in one process: for tests, and for a program that talks to a server of its own.
 *
 * Source: design "Wires".
 */
import { nextTurn } from "../base/turn.ts";
import type { Wire } from "./wire.ts";

/**
 * A packet arrives as soon as the sender's work is over: in virtual time nothing else may come in between. Two ends
 * that answer each other without a rest would keep the event loop from its other business, so there is a most.
 */
const deliveriesInTurnMost = 1_000;
let inTurn = 0;

function newTurn(): void {
  inTurn = 0;
}

class MemoryWire implements Wire {
  readonly name = "memory";
  bufferedAmount = 0;
  /** Set once, right after both are made. */
  other: MemoryWire | undefined;
  #onPacket: (packet: Uint8Array) => void = () => undefined;
  #onClose: (cause: Error | undefined) => void = () => undefined;
  /** What the other end has sent, and how it ended. */
  #arriving: Uint8Array[] = [];
  #ending: { readonly cause: Error | undefined } | undefined;
  #closed = false;
  #scheduled = false;

  send(packet: Uint8Array): void {
    if (this.#closed || this.#ending !== undefined) return;
    this.bufferedAmount += packet.length;
    this.other?.arrive(packet);
  }

  onPacket(fn: (packet: Uint8Array) => void): void {
    this.#onPacket = fn;
  }

  onClose(fn: (cause: Error | undefined) => void): void {
    this.#onClose = fn;
  }

  close(): void {
    this.#end(undefined, false);
  }

  cut(cause: Error): void {
    this.#end(cause, true);
  }

  arrive(packet: Uint8Array): void {
    this.#arriving.push(packet);
    this.#schedule();
  }

  /** The wire ends, after what arrived before; `now`: without it. */
  end(cause: Error | undefined, now: boolean): void {
    if (this.#ending !== undefined) return;
    this.#ending = { cause };
    if (now) this.#arriving = [];
    this.#schedule();
  }

  #end(cause: Error | undefined, now: boolean): void {
    if (this.#ending !== undefined) return;
    this.#arriving = [];
    this.end(cause, true);
    this.other?.end(cause === undefined ? undefined : new Error("the other end cut the wire"), now);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (inTurn < deliveriesInTurnMost) queueMicrotask(() => this.#deliver());
    else nextTurn(() => this.#deliver());
  }

  #deliver(): void {
    this.#scheduled = false;
    inTurn += 1;
    if (inTurn === 1) nextTurn(newTurn);
    const arrived = this.#arriving;
    this.#arriving = [];
    for (const packet of arrived) {
      if (this.other !== undefined) this.other.bufferedAmount -= packet.length;
      if (!this.#closed) this.#onPacket(packet);
    }
    if (this.#ending === undefined || this.#closed || this.#arriving.length > 0) return;
    this.#closed = true;
    this.#onClose(this.#ending.cause);
  }
}

/** A wire in memory: its two ends. A packet arrives when what its sender does is over. */
export function memoryPair(): readonly [Wire, Wire] {
  const one = new MemoryWire();
  const two = new MemoryWire();
  one.other = two;
  two.other = one;
  return [one, two];
}
