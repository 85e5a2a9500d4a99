/**
 * What every try of a command carries, the same in all of them: the call's ID, its place in the lane, when
 * it was first sent, and the tag of the caller in whose name that was.
 *
 * Source: design "Commands run once"; reliability decisions D1, D3, D7, D9.
 */
import type { Clock } from "../base/clock.ts";
import { ticketMarginMs } from "../base/constants.ts";
import { formatCallHeader, headerNames, type LanePosition, surely } from "./headers.ts";
import type { Lane } from "./lane.ts";
import { firstPerson, type SignIn } from "./sign-in.ts";
import type { Ticket } from "./ticket.ts";

export interface StampOptions {
  readonly clock: Clock;
  readonly lane: Pick<Lane, "id" | "next" | "settled" | "settle">;
  readonly ticket: Ticket;
  /** Absent: all that is stamped goes under one sign-in, as on a wire. */
  readonly signIn?: Pick<SignIn, "person">;
  /** The secret that tells this link from other anonymous ones. */
  readonly anonymous: string;
}

/** What one try of a command says of itself. */
export interface StampFields extends LanePosition {
  readonly callId: string;
  /** The tag of the caller that an earlier answer named; undefined at the first try. */
  readonly expectedCaller: string | undefined;
  /** The secret of an anonymous link; undefined for a try that is signed in. */
  readonly anon: string | undefined;
}

/** A stamp as it outlives its process: what a later one needs to send the same call. */
export interface StampMemory {
  readonly callId: string;
  readonly lane: string;
  readonly seq: number;
  readonly anonymous: string;
  readonly tag: string | undefined;
  /** Tries so far that may have left. */
  readonly tries: number;
  /** Undefined: no byte of it has left. Wall time in ms, and the server's where it was known. */
  readonly firstSent: { readonly wallMs: number; readonly serverMs: number | undefined } | undefined;
}

/** When it was first sent: ms of the monotonic clock, and of the wall clock. */
interface First {
  readonly at: number;
  readonly wallMs: number;
}

/** What a first try said that is under way, and in whose name. */
export interface BegunStamp extends First {
  readonly callId: string;
  readonly seq: number;
  /** The first sending by the server's clock, where that was known. */
  readonly serverMs: number | undefined;
  /** The link's sign-in, and what was known of its caller. */
  readonly person: number;
  readonly tag: string | undefined;
}

/** In place of a tag: nobody can say any more whose the call is. No caller has it. */
const nobodys = surely("");
/** The wall time of a first sending of which nobody knows when it was: a server takes it for forgotten. */
const unknownMs = 0;

/** What a later process must be told of a call, when another person may have signed in since it was sent. */
export function underAnotherSignIn(memory: StampMemory): StampMemory {
  if (memory.firstSent === undefined) return memory;
  return { ...memory, tag: memory.tag === undefined ? nobodys : surely(memory.tag) };
}

export class Stamp {
  readonly callId: string;
  readonly #options: StampOptions;
  #seq: number | undefined;
  #first: First | undefined;
  #firstServerMs: number | undefined;
  #tag: string | undefined;
  /** Under which sign-in of the link it was first sent. */
  #person: number = firstPerson;
  /** Whether a try has been written since it was last known that none has left. */
  #written = false;
  #elsewhere = false;
  /** Tries of it that may have left. */
  #tries = 0;

  constructor(callId: string, options: StampOptions) {
    this.callId = callId;
    this.#options = options;
  }

  /**
   * The stamp of a call that an earlier process made. It claims nothing of what is settled in that process's
   * lane, and settles nothing in it.
   */
  static resume(memory: StampMemory, options: Omit<StampOptions, "lane" | "anonymous">): Stamp {
    const { lane, seq, anonymous } = memory;
    const theirs = { id: lane, settled: 0, next: () => seq, settle: () => undefined };
    const stamp = new Stamp(memory.callId, { ...options, lane: theirs, anonymous });
    stamp.adopt(memory);
    return stamp;
  }

  /**
   * The stamp of a call whose first try went out without one. Who takes that try over writes its headers once more,
   * which go nowhere: so its tries are not counted yet.
   */
  static begun(options: StampOptions, first: BegunStamp): Stamp {
    const stamp = new Stamp(first.callId, options);
    stamp.#seq = first.seq;
    stamp.#first = { at: first.at, wallMs: first.wallMs };
    stamp.#firstServerMs = first.serverMs;
    stamp.#person = first.person;
    stamp.#tag = first.tag;
    stamp.#written = true;
    return stamp;
  }

  /** The call has been sent on another stamp, whose first sending is the call's. */
  adopt({ firstSent, tag, tries }: Pick<StampMemory, "firstSent" | "tag" | "tries">): void {
    if (firstSent !== undefined) {
      const { clock } = this.#options;
      // Only the wall clock spans two processes.
      const wallMs = firstSent.wallMs > clock.now() ? unknownMs : firstSent.wallMs;
      this.#first = { at: clock.monotonic() - (clock.now() - wallMs), wallMs };
      this.#firstServerMs = firstSent.serverMs;
      this.#tag = tag;
      // Another process has sent it, as whoever was signed in when this one began.
      this.#person = firstPerson;
      this.#written = true;
      this.#elsewhere = true;
      // One may have left before it was counted.
      this.#tries = Math.max(this.#tries, tries, 1);
    }
  }

  /** What a try of it that is not signed in tells its caller by. */
  get anonymous(): string {
    return this.#options.anonymous;
  }

  /** Whether bytes of it may have left. */
  get maybeSent(): boolean {
    return this.#first !== undefined;
  }

  /** Whether another process may have sent it. */
  get sentElsewhere(): boolean {
    return this.#elsewhere;
  }

  /**
   * Whether its next try would tell no more than how old it is. A server that does not know the call asks for its first
   * sending then, so it is better to know the server's time before.
   */
  get lacksTime(): boolean {
    return this.#first !== undefined && "agoMs" in this.#firstSent(this.#first);
  }

  /**
   * Whether nobody can say any more in whose name it was sent: no answer has named its caller, and since then
   * another person may have signed in, in whose name the server would take it for a call of its own.
   */
  get ownerless(): boolean {
    if (this.#tag !== undefined) return this.#tag === nobodys;
    return this.maybeSent && this.#person !== this.#signIn;
  }

  /** What a later process needs. Takes the call's number in the lane, if it has none yet. */
  memory(): StampMemory {
    const { lane, anonymous } = this.#options;
    const when = this.#first === undefined ? { agoMs: 0 } : this.#firstSent(this.#first);
    const serverMs = "serverMs" in when ? when.serverMs : undefined;
    return {
      callId: this.callId,
      lane: lane.id,
      seq: this.#number(),
      anonymous,
      // Whoever goes on with it would not know that another person has signed in since.
      tag: this.#expected,
      tries: this.#tries,
      firstSent: this.#first === undefined ? undefined : { wallMs: this.#first.wallMs, serverMs },
    };
  }

  /**
   * A try is about to be sent: the first one fixes when that was, and in whose name.
   *
   * @param tag - what is known of the caller that this try's token stands for; counts at the first try only.
   */
  sending(tag: string | undefined): void {
    if (this.#first !== undefined) return;
    const { clock } = this.#options;
    this.#first = { at: clock.monotonic(), wallMs: clock.now() };
    this.#tag ??= tag;
    this.#person = this.#signIn;
  }

  /**
   * The last try has certainly not left, and none before it: then the next one is the first. Otherwise a server
   * that was started meanwhile and remembers nothing would have to refuse a call that it cannot have seen.
   */
  notSent(): void {
    this.#first = undefined;
    this.#firstServerMs = undefined;
    this.#tag = undefined;
    this.#written = false;
    this.#tries = 0;
  }

  /** Writes the headers of one try. */
  write(headers: Headers, anonymous: boolean, tag: string | undefined): void {
    const { callId, expectedCaller, anon, ...lane } = this.fields(anonymous, tag);
    if (expectedCaller !== undefined) headers.set(headerNames.for, expectedCaller);
    headers.set(headerNames.call, formatCallHeader({ id: callId, lane }));
    if (anon === undefined) return;
    // What an earlier anonymous link has made is that one's call, and no sign of life of this one's session.
    if (headers.get(headerNames.anon) !== anon) headers.delete(headerNames.session);
    headers.set(headerNames.anon, anon);
  }

  /** What one try says. The first one takes the number in the lane. */
  fields(anonymous: boolean, tag: string | undefined): StampFields {
    const { lane } = this.#options;
    const expectedCaller = this.#written ? this.#expected : undefined;
    const fresh = this.#first === undefined;
    this.sending(tag);
    this.#written = true;
    const firstSent = this.#first === undefined ? { agoMs: 0 } : this.#firstSent(this.#first, fresh);
    this.#tries += 1;
    return {
      callId: this.callId,
      lane: lane.id,
      seq: this.#number(),
      settled: lane.settled,
      tries: this.#tries,
      firstSent,
      expectedCaller,
      anon: anonymous ? this.#options.anonymous : undefined,
    };
  }

  /** An answer to this call named its caller. The first one counts: a later one may be a "no" to somebody else. */
  heardTag(tag: string | null): void {
    this.#tag ??= tag ?? undefined;
  }

  /** No try of it will be sent any more, whatever its outcome. */
  settle(): void {
    if (this.#seq !== undefined) this.#options.lane.settle(this.#seq);
  }

  /** Where another person may have signed in, a tag that the server cannot compare is not enough. */
  get #expected(): string | undefined {
    if (this.ownerless) return nobodys;
    if (this.#tag === undefined || this.#person === this.#signIn) return this.#tag;
    return surely(this.#tag);
  }

  get #signIn(): number {
    return this.#options.signIn?.person ?? firstPerson;
  }

  #number(): number {
    this.#seq ??= this.#options.lane.next();
    return this.#seq;
  }

  /** In the server's time as soon as that is known, and from then on the same in every try. */
  #firstSent(first: First, fresh = false): LanePosition["firstSent"] {
    const { clock, ticket } = this.#options;
    if (this.#firstServerMs === undefined) {
      const agoMs = fresh ? 0 : this.#agoMs(first);
      const isKnown = this.#first?.wallMs !== unknownMs;
      const serverMs = isKnown ? ticket.serverMsAt(clock.monotonic() - agoMs) : undefined;
      if (serverMs === undefined) return { agoMs };
      this.#firstServerMs = serverMs;
    }
    return { serverMs: this.#firstServerMs };
  }

  /**
   * Ms since the first sending. The monotonic clock stands still while a machine sleeps, and the wall clock may be set:
   * the one that says more is believed, so that an old copy never passes for a fresh one. Where the wall clock was set
   * back, nobody knows for how long the machine slept, and the call is as old as can be: since 1970.
   */
  #agoMs(first: First): number {
    const { clock } = this.#options;
    const wallAgoMs = clock.now() - first.wallMs;
    const agoMs = clock.monotonic() - first.at;
    if (wallAgoMs >= agoMs - ticketMarginMs) return Math.max(agoMs, wallAgoMs);
    this.#first = { ...first, wallMs: unknownMs };
    return clock.now() - unknownMs;
  }
}
