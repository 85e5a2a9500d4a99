/**
 * What every try of a command carries, the same in all of them: the call's ID, its place in the lane, when
 * it was first sent, and the tag of the caller in whose name that was.
 *
 * Source: design "Commands run once"; reliability decisions D1, D3, D7, D9.
 */
import type { Clock } from "../base/clock.ts";
import { formatCallHeader, headerNames } from "./headers.ts";
import type { Lane } from "./lane.ts";
import type { Ticket } from "./ticket.ts";

export interface StampOptions {
  readonly clock: Clock;
  readonly lane: Lane;
  readonly ticket: Ticket;
  /** The secret that tells this link from other anonymous ones. */
  readonly anonymous: string;
}

export class Stamp {
  readonly callId: string;
  readonly #options: StampOptions;
  #first: { readonly seq: number; readonly at: number } | undefined;
  #firstServerMs: number | undefined;
  #tag: string | undefined;

  constructor(callId: string, options: StampOptions) {
    this.callId = callId;
    this.#options = options;
  }

  /**
   * Writes the headers of one try. The first one takes the number in the lane.
   *
   * @param tag - what is known of the caller that this try's token stands for; counts at the first try only.
   */
  write(headers: Headers, tries: number, anonymous: boolean, tag: string | undefined): void {
    const { clock, lane, ticket } = this.#options;
    const now = clock.monotonic();
    if (this.#first === undefined) {
      this.#first = { seq: lane.next(), at: now };
      this.#tag = tag;
    } else if (this.#tag !== undefined) {
      headers.set(headerNames.for, this.#tag);
    }
    const { seq, at } = this.#first;
    this.#firstServerMs ??= ticket.serverMsAt(at);
    const firstSent =
      this.#firstServerMs === undefined ? { agoMs: now - at } : { serverMs: this.#firstServerMs };
    const position = { lane: lane.id, seq, settled: lane.settled, tries, firstSent };
    headers.set(headerNames.call, formatCallHeader({ id: this.callId, lane: position }));
    if (anonymous) headers.set(headerNames.anon, this.#options.anonymous);
  }

  /** An answer to this call named its caller. */
  heardTag(tag: string | null): void {
    this.#tag = tag ?? this.#tag;
  }

  /** No try of it will be sent any more, whatever its outcome. */
  settle(): void {
    if (this.#first !== undefined) this.#options.lane.settle(this.#first.seq);
  }
}
