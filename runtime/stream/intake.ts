/**
 * Takes in what one connection brings, one after the other: holds it to its numbers, moves the resume point, and
 * puts into the inbox what the program has not got yet.
 *
 * Source: design "Streams: The client".
 */
import { Code } from "@connectrpc/connect";
import { ConnectionFault } from "../base/connection-fault.ts";
import { HoldfastError } from "../base/errors.ts";
import type { Inbox } from "./inbox.ts";
import { Numbering, NumberingBreach } from "./numbering.ts";
import {
  pointAfterItem,
  pointAfterReady,
  pointAtFirst,
  type Position,
  type ResumePoint,
  wantedAfter,
} from "./resume-point.ts";
import type { StreamBatch, StreamMessage } from "./stream-connection.ts";
import type { StreamEvent } from "./stream-state.ts";

/** How the server ends a connection in its own words. */
export type SaidEnd = Extract<StreamEvent, { kind: "again" | "over" }>;

/** What a connection brings about beside items. */
export interface Told {
  /** It is open. */
  readonly onReady: () => void;
  /** It has given its first item. */
  readonly onItem: () => void;
}

export class Intake<T> {
  readonly #inbox: Inbox<T>;
  readonly #numbering = new Numbering();
  #point: ResumePoint = pointAtFirst;
  #asked: Position | undefined;
  #open = false;
  #gave = false;
  /** What was wrong with the numbers of an earlier connection, while none has given an item since. */
  #breach: string | undefined;

  constructor(inbox: Inbox<T>) {
    this.#inbox = inbox;
  }

  /** Whether the present connection has said `ready`. */
  get open(): boolean {
    return this.#open;
  }

  /** A connection begins; gives the place behind which it shall go on. */
  begin(): Position | undefined {
    this.#open = false;
    this.#gave = false;
    this.#asked = wantedAfter(this.#point);
    return this.#asked;
  }

  /** The program has taken this item. */
  taken(at: Position | undefined): void {
    if (at !== undefined) this.#point = pointAfterItem(this.#point, at);
  }

  /**
   * @returns how the server ends the connection; undefined: it goes on.
   * @throws ConnectionFault for numbers out of order, which a new connection may put right; HoldfastError when
   * they are wrong again; the error that the server ends the stream with.
   */
  take({ messages, byteCount }: StreamBatch<T>, told: Told): SaidEnd | undefined {
    const share = byteCount / Math.max(1, messages.length);
    try {
      for (const message of messages) {
        if (message.kind === "end") return endOf(message);
        if (message.kind === "ready") this.#ready(message, told);
        else if (!this.#open) throw new NumberingBreach(`${message.kind} came before ready`);
        else if (message.kind === "lost") this.#gap(this.#numbering.lost(message.count, message.seq));
        else if (this.#item(message.seq, message.item, share)) told.onItem();
      }
      return undefined;
    } catch (error) {
      if (error instanceof NumberingBreach) throw this.#breached(error);
      throw error;
    }
  }

  /** Takes an item in its place, with nothing to tell beside it; false: it is for {@link take}. */
  offer(seq: number, item: T, byteCount: number): boolean {
    if (!this.#gave || !this.#numbering.isNext(seq)) return false;
    this.#item(seq, item, byteCount);
    return true;
  }

  #ready({ at, restarted }: Extract<StreamMessage<T>, { kind: "ready" }>, told: Told): void {
    if (this.#open) throw new NumberingBreach("ready came twice");
    this.#open = true;
    const gap = this.#numbering.ready(this.#asked, at, restarted);
    this.#point = pointAfterReady(this.#point, at, gap?.$gap === "restarted");
    this.#gap(gap);
    told.onReady();
  }

  #gap(gap: ReturnType<Numbering["lost"]>): void {
    if (gap !== undefined) this.#inbox.put({ kind: "gap", gap });
  }

  /** True for the first of its connection. */
  #item(seq: number, item: T, byteCount: number): boolean {
    const numbered = this.#numbering.item(seq);
    if (numbered.kind === "new") {
      this.#breach = undefined;
      this.#inbox.put({ kind: "item", item, at: numbered.at, byteCount });
    }
    const first = !this.#gave;
    this.#gave = true;
    return first;
  }

  #breached(breach: NumberingBreach): Error {
    const text = `the server's numbers are out of order: ${breach.message}`;
    if (this.#breach === breach.message) {
      return new HoldfastError(`${text}, and again after a new connect`, {
        code: Code.DataLoss,
        cause: breach,
      });
    }
    this.#breach = breach.message;
    return new ConnectionFault("unknown", text, { sent: true, cause: breach });
  }
}

function endOf({ error, again, afterMs, lagged }: Extract<StreamMessage<unknown>, { kind: "end" }>): SaidEnd {
  if (error !== undefined) throw error;
  return again || lagged ? { kind: "again", afterMs } : { kind: "over", cause: undefined };
}
