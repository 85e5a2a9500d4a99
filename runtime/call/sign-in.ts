/**
 * The sign-in of a link: where its token comes from, one question at a time for all callers. Whether a token
 * is still good is decided by the server alone; no clock of this machine has a say.
 *
 * Source: design "One rule for a new try" (`unauthenticated`); reliability decision D54.
 */
import type { Clock } from "../base/clock.ts";
import { sleep } from "../base/clock.ts";
import type { Random } from "../base/random.ts";
import type { Stop } from "../base/late-signal.ts";
import { onAbort, untilAborted } from "../base/signals.ts";
import { backoffMs } from "./backoff.ts";

/** Why the token source is asked. */
export interface TokenRequest {
  /**
   * The token that the server has just refused: give another one, whatever this one says of its own expiry.
   * Undefined when the link only needs a token.
   */
  readonly rejected: string | undefined;
}

/**
 * Gives the token that goes as `authorization: Bearer` with every try; undefined: none. It is asked at the
 * first call, after each reconnect, and when the server refuses the token that it gave. What it throws is
 * taken for trouble that passes, and it is asked again inside the budgets of the calls that wait; only
 * {@link SignInGone} says that nobody is signed in any more.
 */
export type TokenSource = (request: TokenRequest) => Promise<string | undefined> | string | undefined;

/** Thrown by a token source: there is no sign-in to get a token from. The link then is `refused`. */
export class SignInGone extends Error {
  override readonly name = "SignInGone";
}

/** What a link counts from: {@link SignIn.person} before any `signIn()`. */
export const firstPerson = 0;

const nobody = { token: undefined };

const failureWaitMs = 1_000;
const failureWaitMsMost = 60_000;

export class SignIn {
  /** The token that the server refused last, of a call that had asked for a fresh one already. */
  refused: string | undefined;
  readonly #source: TokenSource | undefined;
  readonly #clock: Clock;
  readonly #random: Random;
  #known: { readonly token: string | undefined } | undefined;
  #asking: Promise<string | undefined> | undefined;
  #failures = 0;
  #askAgainAt = 0;
  /** Aborts when who waits shall look anew: the link is back, or another person has signed in. */
  #anew = new AbortController();
  /** An answer of the source that was asked for before another sign-in is not kept. */
  #person: number = firstPerson;

  constructor(source: TokenSource | undefined, clock: Clock, random: Random) {
    this.#source = source;
    this.#clock = clock;
    this.#random = random;
  }

  get canRefresh(): boolean {
    return this.#source !== undefined;
  }

  /** Counts the sign-ins that the program has told of: within one of them, all tokens are one person's. */
  get person(): number {
    return this.#person;
  }

  /** The token for a try, where nobody need be asked for it; undefined: {@link token} asks. */
  get known(): { readonly token: string | undefined } | undefined {
    return this.#source === undefined ? nobody : this.#known;
  }

  /**
   * The token for a try.
   *
   * @throws SignInGone; the signal's reason when it aborts first. Never the source's other faults: those are
   * waited out.
   */
  async token(signal: Stop): Promise<string | undefined> {
    if (this.#source === undefined) return undefined;
    return this.#known === undefined ? this.#ask(undefined, signal) : this.#known.token;
  }

  /** A token that is not the refused one; whoever comes second gets what the first one's question brought. */
  async refresh(rejected: string | undefined, signal: Stop): Promise<string | undefined> {
    if (this.#known !== undefined && this.#known.token !== rejected) return this.#known.token;
    this.#known = undefined;
    return this.#ask(rejected, signal);
  }

  /** After a reconnect: the source is asked again at the next try. */
  forget(): void {
    this.#known = undefined;
    this.#askAgainAt = 0;
    this.#lookAnew();
  }

  /** Another person may have signed in: what the source was asked before counts for nobody any more. */
  restart(): void {
    this.#person += 1;
    this.#asking = undefined;
    this.#failures = 0;
    this.forget();
  }

  #lookAnew(): void {
    const before = this.#anew;
    this.#anew = new AbortController();
    before.abort();
  }

  async #ask(rejected: string | undefined, signal: Stop): Promise<string | undefined> {
    for (;;) {
      // Of many who waited out one failure the first asks again, and the others take what that brings.
      if (this.#known !== undefined) return this.#known.token;
      const until = new AbortController();
      const forget = [signal, this.#anew.signal].map((each) => onAbort(each, (why) => until.abort(why)));
      try {
        const found = await this.#look(rejected, until.signal);
        if (found !== undefined) return found.token;
      } finally {
        for (const each of forget) each();
      }
      signal.throwIfAborted();
    }
  }

  /** Waits out a failure, or asks; undefined when that gave no token, and the next look may. */
  async #look(
    rejected: string | undefined,
    until: AbortSignal,
  ): Promise<{ readonly token: string | undefined } | undefined> {
    if (until.aborted) return undefined;
    const waitMs = this.#askAgainAt - this.#clock.monotonic();
    if (waitMs > 0) {
      await sleep(this.#clock, waitMs, until);
      return undefined;
    }
    const person = this.#person;
    this.#asking ??= this.#askOnce(rejected, person);
    try {
      const token = await untilAborted(this.#asking, until);
      return person === this.#person ? { token } : undefined;
    } catch (error) {
      if (error instanceof SignInGone && person === this.#person) throw error;
      return undefined;
    }
  }

  async #askOnce(rejected: string | undefined, person: number): Promise<string | undefined> {
    try {
      // In a function of its own, so that a source's throw comes after this turn like any other answer of it.
      const token = await (async () => this.#source?.({ rejected }))();
      if (person !== this.#person) return token;
      this.#asking = undefined;
      this.#known = { token };
      this.#failures = 0;
      this.#askAgainAt = 0;
      return token;
    } catch (error) {
      if (person !== this.#person) throw error;
      this.#asking = undefined;
      this.#failures += 1;
      const waitMs = backoffMs(this.#failures, failureWaitMs, failureWaitMsMost, this.#random);
      this.#askAgainAt = this.#clock.monotonic() + waitMs;
      throw error;
    }
  }
}
