/**
 * The calls that are under way on one wire, on the client's side: each is a message out and one back, matched by a
 * number. Whoever calls, a service's client or a reference, shares the numbers.
 *
 * Source: design "Which way a call goes".
 */
import type { Call, Result } from "../../gen/holdfast/link/v1/link_pb.ts";
import { ConnectionFault } from "../base/connection-fault.ts";
import type { Plain } from "../codec/codec.ts";
import type { ClientEnd } from "./client-end.ts";

/** Who waits for the result of a try. */
export interface Waiter {
  result(result: Result): void;
  /** The wire has ended: nobody knows what became of it, unless `sent` says so. */
  lost(fault: ConnectionFault): void;
}

export class CallNumbers {
  readonly end: ClientEnd;
  readonly #waiting = new Map<number, Waiter>();
  #lastId = 0;

  constructor(end: ClientEnd) {
    this.end = end;
    end.take({ result: (result) => this.#settle(result) });
    end.onClose((cause) => this.#lose(cause));
  }

  get count(): number {
    return this.#waiting.size;
  }

  /** Those who wait. */
  waiting(): Iterable<Waiter> {
    return this.#waiting.values();
  }

  /** A number for the next call to be sent, which may go unused. */
  next(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** Sends a call that was shaped with a number of {@link next}. */
  sendShaped(id: number, call: Plain, waiter: Waiter): void {
    this.#waiting.set(id, waiter);
    this.end.sendPlain(call);
  }

  /** Sends a try under a number of its own, which it sets and gives, for {@link cancel}. */
  send(call: Omit<Call, "id"> & { id?: number }, waiter: Waiter): number {
    const id = this.next();
    call.id = id;
    this.#waiting.set(id, waiter);
    this.end.send({
      $typeName: "holdfast.link.v1.ClientMessage",
      kind: { case: "call", value: call as Call },
    });
    return id;
  }

  /** Nobody waits for it any more. */
  cancel(id: number): void {
    if (!this.#waiting.delete(id)) return;
    this.end.send({
      $typeName: "holdfast.link.v1.ClientMessage",
      kind: { case: "cancel", value: { $typeName: "holdfast.link.v1.Cancel", id } },
    });
  }

  #settle(result: Result): void {
    const waiter = this.#waiting.get(result.id);
    // One that was cancelled a moment ago.
    if (waiter === undefined) return;
    this.#waiting.delete(result.id);
    waiter.result(result);
  }

  #lose(cause: Error | undefined): void {
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    if (lost.length === 0) return;
    const fault = new ConnectionFault("cut", cause?.message ?? "the wire was closed", { sent: true, cause });
    for (const waiter of lost) waiter.lost(fault);
  }
}
