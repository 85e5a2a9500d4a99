/**
 * What is in the store, as this process knows it: the entries of this server and account in their order, without
 * their requests. It looks at the store when it is told to, keeps the limits, and sets aside what cannot be read,
 * so that one damaged entry neither passes for an empty outbox nor blocks the others.
 *
 * Source: design "The outbox"; reliability decision D31.
 */
import type { Clock } from "../base/clock.ts";
import {
  outboxBytesMost,
  outboxCountMost,
  outboxEndingKeepMs,
  outboxEntryBytesMost,
  outboxScanEveryMs,
} from "../base/constants.ts";
import type { Log } from "../base/log.ts";
import { Source, type Watchable } from "../base/watchable.ts";
import { type Ending, endingBytes, readEnding } from "./ending.ts";
import { type Entry, entryBytes, readEntry } from "./entry.ts";
import { entryName, noteName, readName } from "./names.ts";
import type { OutboxStore } from "./outbox-store.ts";

/** An entry as it is remembered: its request stays in the store. */
export interface Shelved extends Omit<Entry, "request"> {
  readonly requestBytes: number;
}

/** An entry that could not be read. */
export interface SetAside {
  readonly name: string;
  /** Where its bytes lie now, unchanged. */
  readonly where: string;
  readonly why: string;
}

export interface ShelfOptions {
  readonly store: OutboxStore;
  readonly server: string;
  readonly account: string;
  readonly clock: Clock;
  readonly log: Log;
}

export class Shelf {
  readonly #options: ShelfOptions;
  readonly #known = new Map<string, Shelved>();
  /** Entries of another server or account in the same store: never listed, never sent. */
  readonly #foreign = new Set<string>();
  /** Notes of other processes, by call ID. */
  #notes = new Map<string, string>();
  readonly #list = new Source<readonly Shelved[]>([]);
  readonly #aside = new Source<readonly SetAside[]>([]);
  /** Being written: they are calls of this process, also where a look finds them before they know that they are there. */
  readonly #writing = new Set<string>();
  /** Put since the last look began, which may have missed them. */
  readonly #fresh = new Set<string>();
  #glance: Promise<void> | undefined;
  #scan: Promise<void> | undefined;
  #scannedAt = Number.NEGATIVE_INFINITY;
  #sizeBytes = 0;
  #lastPlace = 0;

  constructor(options: ShelfOptions) {
    this.#options = options;
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  /** In the order in which they leave. */
  get entries(): Watchable<readonly Shelved[]> {
    return this.#list;
  }

  get setAside(): Watchable<readonly SetAside[]> {
    return this.#aside;
  }

  /** A name behind all that is known. */
  nextName(callId: string): string {
    this.#lastPlace = Math.max(Math.floor(this.#options.clock.now()), this.#lastPlace + 1);
    return entryName(this.#lastPlace, callId);
  }

  has(name: string): boolean {
    return this.#known.has(name);
  }

  /** Whether nothing waits, as of a look just now. Who asks again and again sets off the next look in time. */
  isEmpty(): boolean {
    const ageMs = this.#options.clock.monotonic() - this.#scannedAt;
    if (ageMs >= outboxScanEveryMs || this.#list.value.length > 0) return false;
    if (ageMs >= outboxScanEveryMs / 2 && this.#glance === undefined)
      void this.#glanceOnce().catch(() => undefined);
    return true;
  }

  /** Whether nothing waited at the last look, however long ago that was. */
  get mayBeEmpty(): boolean {
    return this.#scannedAt > Number.NEGATIVE_INFINITY && this.#list.value.length === 0;
  }

  /** Looks at the store, if that was not done just now. */
  async glance(): Promise<void> {
    if (this.#options.clock.monotonic() - this.#scannedAt < outboxScanEveryMs) return;
    await this.#glanceOnce();
  }

  /** Of a thousand calls at once the first looks, and the others take what it finds. */
  #glanceOnce(): Promise<void> {
    this.#glance ??= this.scan().finally(() => {
      this.#glance = undefined;
    });
    return this.#glance;
  }

  /** Looks at the store. Rejects when the store fails: then nothing is known anew. */
  async scan(): Promise<void> {
    // A look that began before this call may have missed what is there now.
    const before = this.#scan;
    const scan = (before?.catch(() => undefined) ?? Promise.resolve()).then(() => this.#look());
    this.#scan = scan;
    try {
      await scan;
    } finally {
      if (this.#scan === scan) this.#scan = undefined;
    }
  }

  /** The request of an entry; undefined: it has left, or was set aside just now. */
  async read(name: string): Promise<Entry | undefined> {
    const stored = await this.#options.store.read(name);
    const entry = stored.kind === "whole" ? readEntry(name, stored.bytes) : undefined;
    if (typeof entry === "object") return entry;
    if (stored.kind === "damaged") await this.#setAside(name, stored.why);
    else if (entry !== undefined) await this.#setAside(name, entry);
    this.#forget(name);
    return undefined;
  }

  /** Why nothing more goes in; undefined while something does. */
  full(entrySizeBytes = 0): string | undefined {
    if (entrySizeBytes > outboxEntryBytesMost) {
      return `the command has ${entrySizeBytes} bytes, an entry at most ${outboxEntryBytesMost}`;
    }
    const count = this.#known.size + this.#foreign.size;
    if (count >= outboxCountMost) return `${count} commands wait, as many as there may be`;
    if (this.#sizeBytes + entrySizeBytes > outboxBytesMost) {
      return `the waiting commands have ${this.#sizeBytes} bytes, of ${outboxBytesMost} that there may be`;
    }
    return undefined;
  }

  /** Keeps an entry, new or changed; durable when it resolves. */
  async put(entry: Entry): Promise<void> {
    const bytes = entryBytes(entry);
    this.#writing.add(entry.name);
    try {
      await this.#options.store.put(entry.name, bytes);
    } finally {
      this.#writing.delete(entry.name);
    }
    if (!this.#known.has(entry.name)) this.#sizeBytes += bytes.byteLength;
    this.#known.set(entry.name, shelved(entry));
    this.#fresh.add(entry.name);
    this.#tell();
  }

  async drop(name: string): Promise<void> {
    await this.#options.store.drop(name);
    this.#forget(name);
  }

  /** Leaves a note for the process that made the call. */
  async note(callId: string, ending: Ending): Promise<void> {
    const { store, clock, log } = this.#options;
    try {
      await store.put(noteName(clock.now(), callId), endingBytes(callId, ending, clock.now()));
    } catch (error) {
      log.warn("outbox: the note of how a command ended could not be written", { error });
    }
  }

  /** Takes the note of how a call ended in another process, as of the last look. */
  async takeNote(callId: string): Promise<Ending | undefined> {
    const name = this.#notes.get(callId);
    if (name === undefined) return undefined;
    const stored = await this.#options.store.read(name);
    await this.#options.store.drop(name);
    this.#notes.delete(callId);
    return stored.kind === "whole" ? readEnding(stored.bytes) : undefined;
  }

  close(): void {
    this.#list.close();
    this.#aside.close();
  }

  async #look(): Promise<void> {
    const { store, clock } = this.#options;
    const at = clock.monotonic();
    this.#fresh.clear();
    const listed = await store.list();
    const notes = new Map<string, string>();
    const present = new Set<string>();
    let sizeBytes = 0;
    for (const { name, sizeBytes: size } of listed) {
      const named = readName(name);
      if (named.kind === "note") {
        if (clock.now() - named.endedAtMs > outboxEndingKeepMs) await store.drop(name);
        else notes.set(named.callId, name);
        continue;
      }
      present.add(name);
      sizeBytes += size;
      if (named.kind === "entry") this.#lastPlace = Math.max(this.#lastPlace, named.place);
      if (this.#known.has(name) || this.#foreign.has(name) || this.#writing.has(name)) continue;
      await this.#meet(name);
    }
    for (const name of this.#known.keys()) {
      if (!present.has(name) && !this.#fresh.has(name)) this.#known.delete(name);
    }
    for (const name of this.#foreign) if (!present.has(name)) this.#foreign.delete(name);
    this.#notes = notes;
    this.#sizeBytes = sizeBytes;
    this.#scannedAt = at;
    this.#tell();
  }

  /** An entry that another process has put, now or in an earlier life. */
  async #meet(name: string): Promise<void> {
    const entry = await this.read(name);
    if (entry === undefined) return;
    const { server, account } = this.#options;
    if (entry.server === server && entry.account === account) this.#known.set(name, shelved(entry));
    else this.#foreign.add(name);
  }

  async #setAside(name: string, why: string): Promise<void> {
    const { store, log } = this.#options;
    const where = await store.aside(name);
    log.error(`outbox: an entry cannot be sent and was set aside: ${why}`, { where });
    this.#aside.set([...this.#aside.value, { name, where, why }]);
  }

  #forget(name: string): void {
    this.#known.delete(name);
    this.#tell();
  }

  /** Names sort as their places do. */
  #tell(): void {
    const list = [...this.#known.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    const before = this.#list.value;
    if (list.length === before.length && list.every((entry, at) => entry === before[at])) return;
    this.#list.set(list);
  }
}

function shelved({ request, ...rest }: Entry): Shelved {
  return { ...rest, requestBytes: request.byteLength };
}
