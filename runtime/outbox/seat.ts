/**
 * The place of a call that is under way and is an entry at the same time: put in before its first try, or a
 * repeat that took the place of one that waits. Its own loop sends it, in its own budget, when the sender lets it.
 *
 * Source: design "The outbox".
 */
import { HoldfastError } from "../base/errors.ts";
import type { Stop } from "../base/late-signal.ts";
import { untilAborted } from "../base/signals.ts";
import type { Keep } from "../call/keep.ts";
import type { Stamp } from "../call/stamp.ts";
import { type Ending, failure } from "./ending.ts";
import type { Entry } from "./entry.ts";
import { elsewhereError } from "./errors.ts";
import { type Fate, fateOf } from "./fate.ts";
import { promised } from "./promised.ts";
import type { Record } from "./record.ts";

/** How a seat's call ended: its entry has left, or it stays. */
export type SeatEnd =
  | { readonly kind: "left"; readonly ending: Ending }
  | { readonly kind: "stays"; readonly fate: Fate; readonly error: HoldfastError };

/** What a seat needs of its outbox. */
export interface SeatHost {
  /** Something waits for its turn. */
  prompt(): void;
  /**
   * The entry leaves.
   *
   * @param told - whether a program was told that it waits.
   */
  leave(entry: Entry, ending: Ending, told: boolean): Promise<void>;
  /** The call is over; `error` is what its program gets. */
  over(seat: Seat): void;
  /** Runs it while no other process can begin to send; false when that cannot be had within a moment. */
  alone(run: () => Promise<void>): Promise<boolean>;
  /** The error that says that a command waits. */
  waits(error: HoldfastError, fate: Fate): HoldfastError;
}

export class Seat implements Keep {
  readonly stored = true;
  readonly #record: Record;
  readonly #host: SeatHost;
  /** Whether its program, an earlier one, or that of a repeat was told that it waits. */
  #told: boolean;
  readonly #end = promised<SeatEnd>();
  #granted = false;
  #gone = false;
  #elsewhere: Ending | undefined;
  #stop: HoldfastError | undefined;
  #wake: () => void = () => undefined;

  constructor(record: Record, told: boolean, host: SeatHost) {
    this.#record = record;
    this.#told = told;
    this.#host = host;
  }

  get stamp(): Stamp {
    return this.#record.stamp;
  }

  get name(): string {
    return this.#record.entry.name;
  }

  /** A repeat has ended before the call itself, and its program was told that the command waits. */
  tellRepeat(): void {
    this.#told = true;
  }

  /** Resolves when the call is over. */
  get end(): Promise<SeatEnd> {
    return this.#end.promise;
  }

  /** Its turn: no entry is before it, and the lock is held. */
  grant(): void {
    this.#granted = true;
    this.#wake();
  }

  /** The lock is lost: no further try before the next turn. */
  revoke(): void {
    this.#granted = false;
  }

  /** Another process has sent it. */
  settledElsewhere(ending: Ending): void {
    this.#elsewhere = ending;
    this.#wake();
  }

  /** It was being sent on nobody's behalf when this call took its place, and has left. */
  settledHere(ending: Ending): void {
    this.#gone = true;
    this.settledElsewhere(ending);
  }

  /** Its server is not there, and the call need not wait to learn that. */
  stop(error: HoldfastError): void {
    this.#stop = error;
    this.#wake();
  }

  async turn(signal: Stop): Promise<Uint8Array | undefined> {
    this.#stop = undefined;
    for (;;) {
      if (this.#granted) return undefined;
      const ending = this.#word();
      if (ending?.kind === "reply") return ending.reply;
      if (ending !== undefined) throw ending.error;
      const { promise, resolve } = promised<undefined>();
      this.#wake = () => resolve(undefined);
      this.#host.prompt();
      await untilAborted(promise, signal);
    }
  }

  /** Why it need not wait for its turn. */
  #word(): Ending | undefined {
    return this.#elsewhere ?? (this.#stop === undefined ? undefined : failure(this.#stop));
  }

  async look(): Promise<void> {
    await this.#record.look();
  }

  sending(tag: string | undefined): Promise<void> {
    return this.#record.sending(tag);
  }

  notSent(): Promise<void> {
    return this.#record.notSent();
  }

  async replied(reply: () => Uint8Array): Promise<void> {
    await this.#left({ kind: "reply", reply: reply() });
  }

  async failed(error: unknown): Promise<unknown> {
    if (this.#elsewhere !== undefined) {
      // A reply that comes too late for its program is for the listeners of the outbox.
      await this.#left(this.#elsewhere, this.#told || this.#elsewhere.kind === "reply");
      return this.#saidElsewhere(this.#elsewhere, error);
    }
    if (this.#granted || !(error instanceof HoldfastError) || !this.#leavesUnsent(error))
      return this.#ended(error);
    // Between a look at the entry and its removal another process could begin to send it.
    let given: unknown;
    const alone = await this.#host.alone(async () => {
      given = await this.#ended(error);
    });
    return alone ? given : this.#ended(elsewhereError(error, this.stamp.callId));
  }

  /** What the program gets that no answer could reach any more: never that it has not run. */
  #saidElsewhere(ending: Ending, error: unknown): unknown {
    if (ending.kind === "failure") return ending.error;
    return error instanceof HoldfastError ? elsewhereError(error, this.stamp.callId) : error;
  }

  /** Whether its program will hear that it has not run, and will not. */
  #leavesUnsent(error: HoldfastError): boolean {
    return error.outcome === "not-run" && fateOf(error, this.#told) === "leaves";
  }

  async #ended(error: unknown): Promise<unknown> {
    // The program's own throw after an answer, such as in a listener of headers: the call itself is over.
    const known = error instanceof HoldfastError ? await this.#true(error) : undefined;
    const fate = known === undefined ? "leaves" : fateOf(known, this.#told);
    if (fate === "leaves" || known === undefined) {
      const ending = failure(known ?? new HoldfastError(String(error), { outcome: "unknown" }));
      const stays = await this.#left(ending).then(
        () => false,
        () => true,
      );
      if (!stays || known === undefined) return known ?? error;
      // Its entry cannot be removed, so it will be sent.
      this.#finish({ kind: "stays", fate: "waits", error: known });
      return this.#host.waits(known, "waits");
    }
    await this.#record.save();
    const { present } = this.#record;
    this.#finish({ kind: "stays", fate, error: known });
    // Another process has taken it out, and nobody knows more than this call does.
    return present ? this.#host.waits(known, fate) : known;
  }

  /** That a call has sent nothing does not mean that nobody has: it is an entry, and other processes send too. */
  async #true(error: HoldfastError): Promise<HoldfastError> {
    if (error.outcome !== "not-run" || !(await this.#record.goesElsewhere())) return error;
    return elsewhereError(error, this.stamp.callId);
  }

  async #left(ending: Ending, told = this.#told): Promise<void> {
    if (!this.#gone) await this.#host.leave(this.#record.entry, ending, told);
    this.#finish({ kind: "left", ending });
  }

  #finish(end: SeatEnd): void {
    this.#host.over(this);
    this.#end.resolve(end);
  }
}
