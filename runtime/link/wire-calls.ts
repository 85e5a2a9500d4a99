/**
 * Calls over one wire, on the client's side: each is a message out and one back, matched by a number.
 *
 * Source: design "Which way a call goes".
 */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { Call, Header, Payload } from "../../gen/holdfast/link/v1/link_pb.ts";
import { stampMessage } from "../call/link-fields.ts";
import type { StampFields } from "../call/stamp.ts";
import { CallNumbers, type Waiter } from "../wire/call-numbers.ts";
import type { ClientEnd } from "../wire/client-end.ts";

/** One try of a call. */
export interface WireTry {
  readonly method: DescMethodUnary;
  /** Shaped by the wire's codec. */
  readonly request: Payload;
  /** Ms that the caller waits; undefined: without end. */
  readonly timeoutMs: number | undefined;
  readonly stamp: StampFields | undefined;
  /** The link's ID: hello told it, so a lane of that name is left out. */
  readonly link: string;
  readonly headers: Header[];
}

export class WireCalls {
  readonly end: ClientEnd;
  /** Shared with whoever else calls on this wire. */
  readonly numbers: CallNumbers;
  readonly #methods = new Map<DescMethodUnary, number>();

  constructor(end: ClientEnd) {
    this.end = end;
    this.numbers = new CallNumbers(end);
  }

  get count(): number {
    return this.numbers.count;
  }

  /** Sends a try; gives its number, for {@link cancel}. */
  send(one: WireTry, waiter: Waiter): number {
    return this.numbers.send(callOf(this.numberOf(one.method), one), waiter);
  }

  /** Nobody waits for it any more. */
  cancel(id: number): void {
    this.numbers.cancel(id);
  }

  /** The number that stands for a method on this wire. */
  numberOf(method: DescMethodUnary): number {
    let number = this.#methods.get(method);
    if (number === undefined) {
      number = this.end.numberOf(`${method.parent.typeName}.${method.name}`);
      this.#methods.set(method, number);
    }
    return number;
  }
}

function callOf(method: number, one: WireTry): Call {
  const call: Call = {
    $typeName: "holdfast.link.v1.Call",
    id: 0,
    hold: 0,
    method,
    request: one.request,
    timeoutMs: one.timeoutMs ?? 0,
    headers: one.headers,
  };
  if (one.stamp !== undefined) {
    call.stamp = stampMessage(one.stamp);
    if (one.stamp.lane === one.link) call.stamp.lane = "";
  }
  return call;
}
