/**
 * Calls over one wire, on the client's side: each is a message out and one back, matched by a number.
 *
 * Source: design "Which way a call goes".
 */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type {
  Call,
  ClientMessage,
  Header,
  Payload,
  Result,
  Stamp,
} from "../../gen/holdfast/link/v1/link_pb.ts";
import { ConnectionFault } from "../base/connection-fault.ts";
import type { StampFields } from "../call/stamp.ts";
import type { ClientEnd } from "../wire/client-end.ts";

/** One try of a call. */
export interface WireTry {
  readonly method: DescMethodUnary;
  /** Shaped by the wire's codec. */
  readonly request: Payload;
  /** Ms that the caller waits; undefined: without end. */
  readonly timeoutMs: number | undefined;
  readonly stamp: StampFields | undefined;
  readonly headers: Header[];
}

/** Who waits for the result of a try. */
export interface Waiter {
  result(result: Result): void;
  /** The wire has ended: nobody knows what became of it, unless `sent` says so. */
  lost(fault: ConnectionFault): void;
}

export class WireCalls {
  readonly end: ClientEnd;
  readonly #waiting = new Map<number, Waiter>();
  readonly #numbers = new Map<DescMethodUnary, number>();
  #lastId = 0;

  constructor(end: ClientEnd) {
    this.end = end;
    end.take({ result: (result) => this.#settle(result) });
    end.onClose((cause) => this.#lose(cause));
  }

  get count(): number {
    return this.#waiting.size;
  }

  /** Sends a try; gives its number, for {@link cancel}. */
  send(one: WireTry, waiter: Waiter): number {
    const id = (this.#lastId += 1);
    this.#waiting.set(id, waiter);
    this.end.send(callMessage(id, this.#numberOf(one.method), one));
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

  #numberOf(method: DescMethodUnary): number {
    let number = this.#numbers.get(method);
    if (number === undefined) {
      number = this.end.numberOf(`${method.parent.typeName}.${method.name}`);
      this.#numbers.set(method, number);
    }
    return number;
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

function callMessage(id: number, method: number, one: WireTry): ClientMessage {
  const value: Call = {
    $typeName: "holdfast.link.v1.Call",
    id,
    hold: 0,
    method,
    request: one.request,
    timeoutMs: one.timeoutMs ?? 0,
    headers: one.headers,
  };
  if (one.stamp !== undefined) value.stamp = stampMessage(one.stamp);
  return { $typeName: "holdfast.link.v1.ClientMessage", kind: { case: "call", value } };
}

function stampMessage(stamp: StampFields): Stamp {
  const { callId, lane, seq, settled, tries, firstSent, expectedCaller, anon } = stamp;
  return {
    $typeName: "holdfast.link.v1.Stamp",
    callId,
    lane,
    seq,
    settled,
    tries,
    firstSent:
      "serverMs" in firstSent
        ? { case: "serverMs", value: Math.floor(firstSent.serverMs) }
        : { case: "agoMs", value: Math.ceil(firstSent.agoMs) },
    expectedCaller: expectedCaller ?? "",
    anon: anon ?? "",
  };
}
