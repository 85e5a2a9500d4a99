/**
 * Keeps an entry in the store true while its call is tried: whatever a later process finds there says at least
 * as much as has left. So the first sending is written down before it happens, and taken back when it certainly
 * has not.
 *
 * Source: design "The outbox"; reliability decision D7.
 */
import { reasonError } from "../base/errors.ts";
import type { Stamp } from "../call/stamp.ts";
import type { Entry } from "./entry.ts";
import type { Shelf } from "./shelf.ts";

/** A write that took so long was no slow disk: the process did not run. Less than until its lock is another one's. */
const standstillMsLeast = 3_000;

export class Record {
  readonly stamp: Stamp;
  #entry: Entry;
  readonly #shelf: Shelf;

  constructor(entry: Entry, stamp: Stamp, shelf: Shelf) {
    this.#entry = entry;
    this.stamp = stamp;
    this.#shelf = shelf;
  }

  get entry(): Entry {
    return this.#entry;
  }

  /** Whether it is in the store still. */
  get present(): boolean {
    return this.#shelf.has(this.#entry.name);
  }

  /**
   * See `Keep.look`: another process may have sent the entry, or somebody on nobody's behalf. One that is gone was sent
   * by whoever has taken it out, and not before it was made.
   *
   * @returns false when it is gone, and nothing of it has left here.
   */
  async look(): Promise<boolean> {
    if (this.stamp.maybeSent) return true;
    const entry = await this.#shelf.read(this.#entry.name).catch((cause: unknown) => {
      throw cannotWrite(cause, this.stamp.callId);
    });
    const { stamp, madeAtMs } = this.#entry;
    if (entry === undefined)
      this.stamp.adopt({ ...stamp, firstSent: { wallMs: madeAtMs, serverMs: undefined } });
    else if (entry.stamp.firstSent !== undefined) this.stamp.adopt(entry.stamp);
    return entry !== undefined;
  }

  /** See `Keep.sending`. A try that cannot be written down is not sent: nobody could send it again safely. */
  async sending(tag: string | undefined): Promise<void> {
    if (this.stamp.maybeSent) {
      if (this.#learnsWhen()) await this.#writeOrThrow("unknown");
      // Who has written this down first, and then finds that nothing has left, must see that another one goes on with it.
      else if (this.#entry.stamp.tries === 0 && this.stamp.sentElsewhere) await this.save();
      return;
    }
    this.stamp.sending(tag);
    try {
      await this.#writeOrThrow("not-run");
    } catch (error) {
      this.stamp.notSent();
      throw error;
    }
  }

  /**
   * Whether this try is the first that tells the first sending in the server's time. Who goes on with it must tell that
   * very time: by its own reckoning it may be some ms later, and newer than what a server has forgotten.
   */
  #learnsWhen(): boolean {
    const before = this.#entry.stamp.firstSent?.serverMs;
    return before === undefined && this.stamp.memory().firstSent?.serverMs !== undefined;
  }

  async #writeOrThrow(outcome: "not-run" | "unknown"): Promise<void> {
    try {
      await this.#write();
    } catch (cause) {
      throw cannotWrite(cause, this.stamp.callId, outcome);
    }
  }

  /** See `Keep.notSent`. */
  async notSent(): Promise<void> {
    const { clock } = this.#shelf;
    const written = this.#entry.stamp;
    const lookedAt = clock.monotonic();
    this.stamp.notSent();
    // What is written says that it may have been sent: too much, which is safe.
    if (!(await this.#untouched().catch(() => false))) return;
    await this.#write().catch(() => undefined);
    if (clock.monotonic() - lookedAt < standstillMsLeast) return;
    // This process stood still, so another one may have had the lock, sent the entry and taken it out; and this has
    // brought it back as one that was never sent. So it is said again that it may have been.
    this.stamp.adopt(written);
    await this.save();
  }

  /** Whether what is in the store is this process' word alone: without the lock another one may have gone on with it. */
  async #untouched(): Promise<boolean> {
    const { firstSent } = this.#entry.stamp;
    const stored = (await this.#shelf.read(this.#entry.name))?.stamp;
    return stored?.tries === 0 && stored.firstSent?.wallMs === (firstSent && Math.floor(firstSent.wallMs));
  }

  /**
   * Writes down what the tries have brought: their count, and the caller that an answer named. A call that has sent
   * nothing has nothing to say, and would write over what the process says that is sending the entry.
   */
  async save(): Promise<void> {
    if (this.stamp.maybeSent) await this.#write().catch(() => undefined);
  }

  /**
   * Whether another process has sent the entry, or taken it out, which this call then cannot know the end of. Looks
   * at the store; one that cannot be read says nothing against it.
   */
  async goesElsewhere(): Promise<boolean> {
    if (this.stamp.maybeSent) return false;
    const entry = await this.#shelf.read(this.#entry.name).catch(() => undefined);
    return entry === undefined || entry.stamp.firstSent !== undefined;
  }

  async #write(): Promise<void> {
    this.#entry = { ...this.#entry, stamp: this.stamp.memory() };
    // One that has left meanwhile, by another process, does not come back.
    if (this.present) await this.#shelf.put(this.#entry);
  }
}

/** A store that does not take an entry: a full disk, a folder that may not be written. */
export function cannotWrite(
  cause: unknown,
  callId: string,
  outcome: "not-run" | "unknown" = "not-run",
): unknown {
  const why = cause instanceof Error ? cause.message : String(cause);
  return reasonError("OUTBOX_FULL", `the outbox cannot be written: ${why}`, {
    callId,
    outcome,
    cause,
  });
}
