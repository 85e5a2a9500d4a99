/**
 * What every try of a command carries, the same in all of them: the call's ID, its place in the lane, when
 * it was first sent, and the tag of the caller in whose name that was.
 *
 * Source: design "Commands run once"; reliability decisions D1, D3, D7, D9.
 */
import type { Clock } from "../base/clock.ts";
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
  /** Tries so far. */
  readonly tries: number;
  /** Undefined: no byte of it has left. Wall time in ms, and the server's where it was known. */
  readonly firstSent: { readonly wallMs: number; readonly serverMs: number | undefined } | undefined;
}

/** When it was first sent: ms of the monotonic clock, and of the wall clock. */
interface First {
  readonly at: number;
  readonly wallMs: number;
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
  #triesBefore = 0;
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

  /** The call has been sent on another stamp, whose first sending is the call's. */
  adopt({ firstSent, tag, tries }: Pick<StampMemory, "firstSent" | "tag" | "tries">): void {
    if (firstSent !== undefined) {
      const { clock } = this.#options;
      // Only the wall clock spans two processes. One that was set back makes the call no younger than now.
      const agoMs = Math.max(0, clock.now() - firstSent.wallMs);
      this.#first = { at: clock.monotonic() - agoMs, wallMs: firstSent.wallMs };
      this.#firstServerMs = firstSent.serverMs;
      this.#tag = tag;
      // Another process has sent it, as whoever was signed in when this one began.
      this.#person = firstPerson;
      this.#written = true;
    }
    this.#triesBefore = tries;
  }

  /** What a try of it that is not signed in tells its caller by. */
  get anonymous(): string {
    return this.#options.anonymous;
  }

  /** Whether bytes of it may have left. */
  get maybeSent(): boolean {
    return this.#first !== undefined;
  }

  /**
   * Whether nobody can say any more in whose name it was sent: no answer has named its caller, and since then
   * another person may have signed in, in whose name the server would take it for a call of its own.
   */
  get ownerless(): boolean {
    return this.maybeSent && this.#tag === undefined && this.#person !== this.#signIn;
  }

  /** What a later process needs. Takes the call's number in the lane, if it has none yet. */
  memory(): StampMemory {
    const { lane, anonymous } = this.#options;
    const first = this.#first;
    return {
      callId: this.callId,
      lane: lane.id,
      seq: this.#number(),
      anonymous,
      tag: this.#tag,
      tries: this.#triesBefore + this.#tries,
      firstSent:
        first === undefined
          ? undefined
          : { wallMs: first.wallMs, serverMs: this.#serverMs(this.#agoMs(first)) },
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
  }

  /** Writes the headers of one try. */
  write(headers: Headers, tries: number, anonymous: boolean, tag: string | undefined): void {
    const { callId, expectedCaller, anon, ...lane } = this.fields(tries, anonymous, tag);
    if (expectedCaller !== undefined) headers.set(headerNames.for, expectedCaller);
    headers.set(headerNames.call, formatCallHeader({ id: callId, lane }));
    if (anon === undefined) return;
    // What an earlier anonymous link has made is that one's call, and no sign of life of this one's session.
    if (headers.get(headerNames.anon) !== anon) headers.delete(headerNames.session);
    headers.set(headerNames.anon, anon);
  }

  /** What one try says. The first one takes the number in the lane. */
  fields(tries: number, anonymous: boolean, tag: string | undefined): StampFields {
    const { lane } = this.#options;
    const expectedCaller = this.#written ? this.#expected : undefined;
    this.sending(tag);
    this.#written = true;
    const agoMs = this.#first === undefined ? 0 : this.#agoMs(this.#first);
    this.#tries = tries;
    const serverMs = this.#serverMs(agoMs);
    const firstSent = serverMs === undefined ? { agoMs } : { serverMs };
    return {
      callId: this.callId,
      lane: lane.id,
      seq: this.#number(),
      settled: lane.settled,
      tries: this.#triesBefore + tries,
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

  /**
   * Ms since the first sending. The monotonic clock stands still while a machine sleeps, and the wall clock may be set
   * back: the one that says more is believed, so that an old copy never passes for a fresh one.
   */
  #agoMs({ at, wallMs }: First): number {
    const { clock } = this.#options;
    return Math.max(clock.monotonic() - at, clock.now() - wallMs);
  }

  /** Fixed once it is known, since every try must say the same. */
  #serverMs(agoMs: number): number | undefined {
    const { clock, ticket } = this.#options;
    this.#firstServerMs ??= ticket.serverMsAt(clock.monotonic() - agoMs);
    return this.#firstServerMs;
  }
}
