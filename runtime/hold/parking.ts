/**
 * The calls of one reference, in the order in which the program made them: those that wait for the object, and those
 * that are under way to it.
 *
 * When the object is there, one pass over all of them, oldest first, sends what may be sent: first come those that
 * were sent before and got no answer, since no call overtakes an earlier one, then those that never were. Calls that
 * the program makes from then on go straight.
 *
 * Source: design "Held objects: Parking".
 */
import type { ConnectError } from "@connectrpc/connect";
import type { Message } from "@bufbuild/protobuf";
import type { Clock } from "../base/clock.ts";
import { parkedCountMost } from "../base/constants.ts";
import { liveError } from "../base/live-reasons.ts";
import type { Holding } from "./holding.ts";
import { PendingCall, type PendingCallInit, type PendingCallOwner } from "./pending-call.ts";

/** Where calls go while the reference is live. */
export interface Way {
  readonly holding: Holding;
  /** Whether the variant that is bound has the member. */
  has(member: string): boolean;
}

export class Parking implements PendingCallOwner {
  readonly #clock: Clock;
  readonly #troubleOf: () => string | undefined;
  /** Those that are not over, in their order. */
  readonly #calls = new Set<PendingCall>();
  #way: Way | undefined;

  constructor(clock: Clock, trouble: () => string | undefined) {
    this.#clock = clock;
    this.#troubleOf = trouble;
  }

  /** A new call: sent at once when the object is there, else it waits, as do all that are not over. */
  make(init: PendingCallInit): Promise<Message> {
    if (this.#way === undefined && this.#calls.size >= parkedCountMost) {
      const text = `${parkedCountMost} calls wait for this object already`;
      return Promise.reject(liveError("TOO_MANY_PARKED", text, { outcome: "not-run" }));
    }
    const call = new PendingCall(init, this.#clock, this);
    if (call.isOver) return call.promise;
    this.#calls.add(call);
    if (this.#way === undefined) call.park();
    else this.#send(call, this.#way);
    return call.promise;
  }

  /** The object is there. Sends what waits; ends early when what a call leads to closes the way again. */
  open(way: Way): void {
    this.#way = way;
    for (const call of [...this.#calls]) {
      if (this.#way !== way) return;
      if (!call.isOver && !call.isSent) this.#send(call, way);
    }
  }

  /** The object is not there any more. */
  close(): void {
    const holding = this.#way?.holding;
    this.#way = undefined;
    for (const call of [...this.#calls]) call.lose(holding?.keeps?.(call) === true);
  }

  /** The reference is failed or released: nothing waits any longer. */
  end(cause: ConnectError): void {
    // While they end, what was sent still counts as sent, and its holding is told.
    for (const call of [...this.#calls]) call.endWith(cause);
    this.#way = undefined;
  }

  over(call: PendingCall, unanswered: boolean): void {
    this.#calls.delete(call);
    if (unanswered) this.#way?.holding.forget(call);
  }

  trouble(): string | undefined {
    return this.#troubleOf();
  }

  #send(call: PendingCall, way: Way): void {
    if (way.has(call.member)) call.send((sent) => way.holding.call(sent));
    else call.endWithoutMember();
  }
}
