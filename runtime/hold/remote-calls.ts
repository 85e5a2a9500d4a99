/**
 * Calls on the objects of one wire. Each is sent in the order in which it was given; what the provider did not even
 * begin is sent again after a wait; everything else that it answers is the call's answer.
 *
 * A wire carries so many at once; the rest wait here, and have not left.
 *
 * Behind a command of a serial object that is to be tried again nothing of that object is sent: its provider refuses
 * what was on its way already, and all of it goes again in its order when the wait is over.
 *
 * Source: design "Held objects: Parking".
 */
import type { ConnectError } from "@connectrpc/connect";
import type { Header, Result } from "../../gen/holdfast/link/v1/link_pb.ts";
import { ConnectError as WireError, Code } from "@connectrpc/connect";
import type { Clock, Timer } from "../base/clock.ts";
import { inFlightCountMost, type Timing } from "../base/constants.ts";
import { timeoutHeaderMs } from "../base/deadline.ts";
import { HoldfastError, reasonError, reasonFrom, retryDelayMs } from "../base/errors.ts";
import type { Random } from "../base/random.ts";
import type { Mark } from "../base/reasons.ts";
import { backoffMs } from "../call/backoff.ts";
import { markOfLink, stampMessage } from "../call/link-fields.ts";
import type { Stamp } from "../call/stamp.ts";
import type { CallNumbers } from "../wire/call-numbers.ts";
import { fromLinkError } from "../wire/link-error.ts";
import { messageIn, payloadOf } from "../wire/packet.ts";
import { readHeaders } from "../wire/result-message.ts";
import type { ObjectAnswer, ObjectCall } from "./holding.ts";
import { assertFits } from "./wire-size.ts";

/** Half of what a wire takes: the rest is for calls of services. */
export const objectCallsMost: number = inFlightCountMost / 2;

export interface RemoteCallsParts {
  readonly numbers: CallNumbers;
  /** The stamp of a command: the same one at each sending of a call, on whichever wire. */
  readonly stampOf: (call: ObjectCall) => Stamp;
  /** Whom the server takes this wire for; empty: not told. */
  readonly tag: string;
  readonly anonymous: boolean;
  readonly timing: Pick<Timing, "firstWaitMs" | "waitMsMost">;
  readonly clock: Clock;
  readonly random: Random;
}

/** One call under way. */
interface Sending {
  readonly call: ObjectCall;
  readonly hold: number;
  readonly answer: (answer: ObjectAnswer) => void;
  /** A command of an object that runs one after the other. */
  readonly serial: boolean;
  /** Whether a try of it has left. */
  left: boolean;
  /** Of the try that is on the wire. */
  id: number | undefined;
  faults: number;
  /** Until the next try. */
  timer: Timer | undefined;
}

/** Until what waits behind a command of a serial object goes again. */
interface Rest {
  readonly timer: Timer;
  over: boolean;
}

export class RemoteCalls {
  readonly #parts: RemoteCallsParts;
  readonly #byHold = new Map<number, Map<ObjectCall, Sending>>();
  /** Those that have no room on the wire yet. */
  readonly #queue = new Set<Sending>();
  /** Holds of serial objects that wait before a command is tried again. */
  readonly #rests = new Map<number, Rest>();
  #sentCount = 0;
  /** Nothing new is sent; called when all that was sent is answered. */
  #leaving: (() => void) | undefined;

  constructor(parts: RemoteCallsParts) {
    this.#parts = parts;
  }

  /** @param serial - the object runs one command after the other. */
  give(hold: number, call: ObjectCall, serial: boolean): Promise<ObjectAnswer> {
    return new Promise((answer) => {
      const sending: Sending = {
        call,
        hold,
        answer,
        serial: serial && call.definition.kind === "command",
        left: false,
        id: undefined,
        faults: 0,
        timer: undefined,
      };
      let ofHold = this.#byHold.get(hold);
      if (ofHold === undefined) this.#byHold.set(hold, (ofHold = new Map<ObjectCall, Sending>()));
      ofHold.set(call, sending);
      if (!this.#isBehind(sending)) this.#sendOrQueue(sending);
    });
  }

  #sendOrQueue(sending: Sending): void {
    if (this.#queue.size > 0 || !this.#hasRoom) this.#queue.add(sending);
    else this.#send(sending);
  }

  /** Sends nothing new; `done` is called when what was sent is answered. */
  leave(done: () => void): void {
    this.#leaving = done;
    if (this.#sentCount === 0) done();
  }

  /** Whether the call has not left. */
  keeps(hold: number, call: ObjectCall): boolean {
    return this.#byHold.get(hold)?.get(call)?.left === false;
  }

  /** Nobody waits for it any more. */
  forget(hold: number, call: ObjectCall): void {
    const sending = this.#byHold.get(hold)?.get(call);
    if (sending !== undefined) this.#drop(sending);
  }

  /** The object left live: nothing that was given before is answered. */
  lose(hold: number): void {
    this.#endRest(hold);
    for (const sending of [...(this.#byHold.get(hold)?.values() ?? [])]) this.#drop(sending);
  }

  /** The wire has ended. */
  close(): void {
    for (const ofHold of this.#byHold.values()) {
      for (const { timer } of ofHold.values()) timer?.cancel();
    }
    for (const { timer } of this.#rests.values()) timer.cancel();
    this.#rests.clear();
    this.#byHold.clear();
    this.#queue.clear();
  }

  #drop(sending: Sending): void {
    if (sending.id !== undefined) {
      this.#parts.numbers.cancel(sending.id);
      this.#sentCount -= 1;
      sending.id = undefined;
    }
    this.#remove(sending);
    this.#resume(sending.hold);
    this.#next();
  }

  #remove(sending: Sending): void {
    sending.timer?.cancel();
    this.#queue.delete(sending);
    const ofHold = this.#byHold.get(sending.hold);
    if (ofHold?.get(sending.call) !== sending) return;
    ofHold.delete(sending.call);
    if (ofHold.size > 0) return;
    this.#byHold.delete(sending.hold);
    this.#endRest(sending.hold);
  }

  /** What cannot be written ends that call alone: nothing of it has left. */
  #send(sending: Sending): void {
    try {
      this.#write(sending);
    } catch (cause) {
      this.#remove(sending);
      const text = "this call cannot be written to a wire";
      const tooLarge = cause instanceof HoldfastError ? cause : undefined;
      const error = tooLarge ?? reasonError("PROGRAM_FAILED", text, { cause });
      sending.answer({ result: { error }, mark: "none", repeat: false });
    }
  }

  #write(sending: Sending): void {
    const { call, hold } = sending;
    const { numbers, tag, anonymous } = this.#parts;
    const { end } = numbers;
    const { method } = call.definition;
    const request = payloadOf(end.codec, method.input, call.request as never);
    assertFits([request], "the request has");
    const headers = headersOf(call.options.headers);
    // Nothing of it goes wrong from here on.
    const stamp = call.callId === undefined ? undefined : this.#parts.stampOf(call);
    const fields = stamp?.fields(anonymous, tag === "" ? undefined : tag);
    sending.id = numbers.send(
      {
        $typeName: "holdfast.link.v1.Call",
        hold,
        method: end.numberOf(`${method.parent.typeName}.${method.name}`),
        request,
        timeoutMs: timeoutHeaderMs(call.deadline.leftMs()) ?? 0,
        headers,
        ...(fields === undefined ? {} : { stamp: stampMessage({ ...fields, lane: "", anon: undefined }) }),
      },
      {
        result: (result) => this.#answered(sending, stamp, result),
        lost: () => undefined,
      },
    );
    sending.left = true;
    this.#sentCount += 1;
  }

  #answered(sending: Sending, stamp: Stamp | undefined, result: Result): void {
    sending.id = undefined;
    this.#sentCount -= 1;
    const mark = markOfLink(result.mark);
    const { outcome } = result;
    if (outcome.case !== "reply") {
      const error = fromLinkError(outcome.value);
      stamp?.heardTag(result.caller === "" ? this.#parts.tag : result.caller);
      if (isNotBegun(error, mark)) this.#again(sending, error);
      else this.#finish(sending, { error }, mark, result);
    } else {
      const { method } = sending.call.definition;
      try {
        const reply = messageIn(this.#parts.numbers.end.codec, method.output, outcome.value);
        this.#finish(sending, { reply }, mark, result);
      } catch (error) {
        const text = `the reply cannot be read: ${error instanceof Error ? error.message : String(error)}`;
        this.#finish(sending, { error: new WireError(text, Code.Internal) }, mark, result);
      }
    }
    this.#resume(sending.hold);
    this.#next();
  }

  #finish(
    sending: Sending,
    result: ObjectAnswer["result"],
    mark: Mark | undefined,
    { repeat, headers, trailers }: Result,
  ): void {
    this.#remove(sending);
    sending.answer({
      result,
      // The mark of a query says nothing.
      mark: sending.call.callId === undefined ? undefined : mark,
      repeat,
      header: readHeaders(headers),
      trailer: readHeaders(trailers),
    });
  }

  #again(sending: Sending, error: ConnectError): void {
    const { timing, random, clock } = this.#parts;
    sending.faults += 1;
    const ownMs = backoffMs(sending.faults, timing.firstWaitMs, timing.waitMsMost, random);
    const waitMs = Math.max(ownMs, retryDelayMs(error) ?? 0);
    if (!sending.serial) {
      sending.timer = clock.timer(waitMs, () => {
        if (this.#hasRoom) this.#send(sending);
        else this.#queue.add(sending);
      });
    } else if (!this.#rests.has(sending.hold)) {
      const { hold } = sending;
      const over = (): void => {
        rest.over = true;
        this.#resume(hold);
      };
      const rest: Rest = { timer: clock.timer(waitMs, over), over: false };
      this.#rests.set(hold, rest);
    }
  }

  /** Whether it has to wait behind a command of the same object. */
  #isBehind({ serial, hold }: Sending): boolean {
    return serial && this.#rests.has(hold);
  }

  /** All goes again in its order, once the wait is over and nothing of it is under way any more. */
  #resume(hold: number): void {
    if (this.#rests.get(hold)?.over !== true) return;
    const waiting = [...(this.#byHold.get(hold)?.values() ?? [])].filter(({ serial }) => serial);
    if (waiting.some(({ id }) => id !== undefined)) return;
    this.#rests.delete(hold);
    for (const sending of waiting) if (sending.id === undefined) this.#sendOrQueue(sending);
  }

  #endRest(hold: number): void {
    this.#rests.get(hold)?.timer.cancel();
    this.#rests.delete(hold);
  }

  get #hasRoom(): boolean {
    return this.#leaving === undefined && this.#sentCount < objectCallsMost;
  }

  #next(): void {
    if (this.#leaving !== undefined && this.#sentCount === 0) this.#leaving();
    for (const sending of this.#queue) {
      if (!this.#hasRoom) return;
      this.#queue.delete(sending);
      if (!this.#isBehind(sending)) this.#send(sending);
    }
  }
}

const notBegun: readonly unknown[] = ["OVERLOADED", "JOURNAL_FULL", "DRAINING"];

/** Only what the provider itself refuses before it begins: an object's own "not now" is its answer, as it is here. */
function isNotBegun(error: ConnectError, mark: Mark | undefined): boolean {
  return mark === "later" || notBegun.includes(reasonFrom(error));
}

function headersOf(init: HeadersInit | undefined): Header[] {
  if (init === undefined) return [];
  const headers: Header[] = [];
  new Headers(init).forEach((value, name) =>
    headers.push({ $typeName: "holdfast.link.v1.Header", name, value }),
  );
  return headers;
}
