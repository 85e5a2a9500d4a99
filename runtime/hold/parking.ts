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
import { PostedCall } from "./posted-call.ts";

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
  readonly #calls = new Set<PendingCall | PostedCall>();
  /** Those of them that an outbox sees to. */
  #postedCount = 0;
  #way: Way | undefined;

  constructor(clock: Clock, trouble: () => string | undefined) {
    this.#clock = clock;
    this.#troubleOf = trouble;
  }

  /** A new call: sent at once when the object is there, else it waits, as do all that are not over. */
  make(init: PendingCallInit): Promise<Message> {
    const way = this.#postedCount > 0 ? undefined : this.#way;
    if (way === undefined && this.#calls.size >= parkedCountMost) {
      const text = `${parkedCountMost} calls wait for this object already`;
      return Promise.reject(liveError("TOO_MANY_PARKED", text, { outcome: "not-run" }));
    }
    const call = new PendingCall(init, this.#clock, this);
    if (call.isOver) return call.promise;
    this.#calls.add(call);
    if (way === undefined) call.park();
    else this.#send(call, way);
    return call.promise;
  }

  /** A command that goes by an outbox, when those before it have gone; those behind it wait for its end. */
  async post(give: (turn: PostedCall["turn"]) => Promise<Message>): Promise<Message> {
    const posted = new PostedCall();
    this.#calls.add(posted);
    this.#postedCount += 1;
    try {
      const reply = give(posted.turn);
      this.#letPostedGo();
      return await reply;
    } finally {
      this.#postedCount -= 1;
      this.#calls.delete(posted);
      if (this.#way !== undefined) this.open(this.#way);
      this.#letPostedGo();
    }
  }

  /** The object is there. Sends what waits; ends early when what a call leads to closes the way again. */
  open(way: Way): void {
    this.#way = way;
    for (const call of [...this.#calls]) {
      if (this.#way !== way || call instanceof PostedCall) break;
      if (!call.isOver && !call.isSent) this.#send(call, way);
    }
    this.#letPostedGo();
  }

  /** The object is not there any more. */
  close(): void {
    const holding = this.#way?.holding;
    this.#way = undefined;
    for (const call of [...this.#calls]) {
      if (call instanceof PendingCall) call.lose(holding?.keeps?.(call) === true);
    }
  }

  /** The reference is failed or released: nothing waits any longer. */
  end(cause: ConnectError): void {
    // While they end, what was sent still counts as sent, and its holding is told.
    for (const call of [...this.#calls]) if (call instanceof PendingCall) call.endWith(cause);
    this.#way = undefined;
  }

  over(call: PendingCall, unanswered: boolean): void {
    this.#calls.delete(call);
    if (unanswered) this.#way?.holding.forget(call);
    this.#letPostedGo();
  }

  trouble(): string | undefined {
    return this.#troubleOf();
  }

  /** Behind a command its handler starts only when that has its answer: the two go different ways. */
  #letPostedGo(): void {
    if (this.#postedCount === 0) return;
    for (const call of this.#calls) {
      if (call instanceof PostedCall) {
        call.letGo();
        return;
      }
      if (!call.isSent || call.definition.kind === "command") return;
    }
  }

  #send(call: PendingCall, way: Way): void {
    if (way.has(call.member)) call.send((sent) => way.holding.call(sent));
    else call.endWithoutMember();
  }
}
