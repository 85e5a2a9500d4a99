/**
 * A wire that was let in: its end, who is at the other, and the work that it still owes answers for. It leaves in
 * good order: the client is told first and begins nothing new on it, what is under way is answered, then it ends.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock, Timer } from "../../runtime/base/clock.ts";
import type { Caller } from "../../runtime/base/handlers.ts";
import { endMessage, type ServerEnd } from "../../runtime/wire/server-end.ts";
import type { WireGuest } from "./greet.ts";

/** A wire that leaves with work under way gets this long. */
const leaveWaitMs = 10_000;

export class OpenWire {
  readonly end: ServerEnd;
  readonly guest: WireGuest;
  #caller: Caller;
  readonly #clock: Clock;
  #workCount = 0;
  #leaving = false;
  readonly #renewed: (() => void)[] = [];
  #timer: Timer | undefined;

  constructor(end: ServerEnd, guest: WireGuest, clock: Clock) {
    this.end = end;
    this.guest = guest;
    this.#caller = guest.caller;
    this.#clock = clock;
    end.onClose(() => this.#timer?.cancel());
  }

  /** As of the last sign-in on this wire. */
  get caller(): Caller {
    return this.#caller;
  }

  /** The caller has signed in again, perhaps with other grants. */
  renew(caller: Caller): void {
    this.#caller = caller;
    for (const fn of this.#renewed) fn();
  }

  /** Calls `fn` after each new sign-in. */
  onRenewed(fn: () => void): void {
    this.#renewed.push(fn);
  }

  /** Answers that are owed. */
  get workCount(): number {
    return this.#workCount;
  }

  /** One more answer is owed; `done` is called when it was given, or is not to be given any more. */
  begin(): void {
    this.#workCount += 1;
  }

  done(): void {
    this.#workCount -= 1;
    if (this.#leaving && this.#workCount === 0) this.end.close();
  }

  /** Leaves: the client comes back on another wire after `afterMs`. Twice is once. */
  leave(afterMs: number): void {
    if (this.#leaving || !this.end.open) return;
    this.#leaving = true;
    this.end.send(endMessage({ again: true, afterMs: Math.round(afterMs) }));
    if (this.#workCount === 0) this.end.close();
    else this.#timer = this.#clock.timer(leaveWaitMs, () => this.end.close(), { background: true });
  }

  /** A newer wire of its slot stands: ends it, unless it is leaving and the newer one was asked for. */
  supersede(): void {
    if (this.#leaving) return;
    this.refuse(new ConnectError("a newer wire of this link took the place of this one", Code.Aborted));
  }

  /** Ends it now, for a reason that is the client's to know. */
  refuse(error: ConnectError): void {
    this.end.end({ error });
  }
}
