/**
 * The outbox of a link: commands of its server and account that wait, in this process or left by an earlier one.
 * What it does is told in the files beside it: `entrance.ts` gives each command its place, `sender.ts` sends what
 * waits in order, `departures.ts` lets it leave, `shelf.ts` knows what is in the store.
 *
 * Source: design "The outbox".
 */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { UnaryDefinition } from "../base/definition.ts";
import { untilAborted } from "../base/signals.ts";
import { Source, type Watchable } from "../base/watchable.ts";
import type { CallEnvironment } from "../call/call-environment.ts";
import type { CallOutbox, EnteringCall, Keep } from "../call/keep.ts";
import { Stamp, underAnotherSignIn } from "../call/stamp.ts";
import { isExpired } from "./age.ts";
import { Departures } from "./departures.ts";
import { failure } from "./ending.ts";
import { methodPath } from "./entry.ts";
import { Entrance } from "./entrance.ts";
import { droppedError, expiredError } from "./errors.ts";
import type { OutboxStore } from "./outbox-store.ts";
import { cannotWrite, Record } from "./record.ts";
import { deliver } from "./send-entry.ts";
import { Sender, type SendEnd } from "./sender.ts";
import { type Settlement, Settlements } from "./settlements.ts";
import { type SetAside, Shelf, type Shelved } from "./shelf.ts";

/** A command that waits, as a program sees it. */
export interface OutboxItem {
  readonly callId: string;
  /** "board.v1.BoardService/Post". */
  readonly method: string;
  /** Wall time in ms at which the call was made. */
  readonly madeAtMs: number;
  readonly requestBytes: number;
  /** Whether a try of it may have been worked on. */
  readonly mayHaveRun: boolean;
}

/** What an outbox is made of. */
export interface OutboxParts {
  readonly env: CallEnvironment;
  readonly store: OutboxStore;
  readonly server: string;
  readonly account: string;
  /** Whether messages travel by the link's own transport: then entries of unknown methods can be sent too. */
  readonly ownTransport: boolean;
}

/** Where a sending of what waits came to. */
export interface SendReport {
  /** Commands that still wait. */
  readonly waitingCount: number;
  /** What keeps them; undefined when nothing does. */
  readonly cause: unknown;
}

export class Outbox implements CallOutbox {
  readonly #parts: OutboxParts;
  readonly #shelf: Shelf;
  readonly #sender: Sender;
  readonly #departures: Departures;
  readonly #entrance: Entrance;
  readonly #settlements = new Settlements();
  /** The methods that this process has called, by path. */
  readonly #methods = new Map<string, DescMethodUnary>();
  readonly #known = new WeakSet<DescMethodUnary>();
  readonly #items = new Source<readonly OutboxItem[]>([]);

  constructor(parts: OutboxParts) {
    const { env, store, server, account } = parts;
    this.#parts = parts;
    const shelf = new Shelf({ store, server, account, clock: env.clock, log: env.log });
    const departures: Departures = new Departures({
      shelf,
      settlements: this.#settlements,
      log: env.log,
      methods: this.#methods,
      seatOf: (name) => sender.seatOf(name),
    });
    const sender: Sender = new Sender({
      env,
      store,
      shelf,
      send: (entry, signal) => this.#send(entry, signal),
      looked: () => departures.lookElsewhere(),
    });
    this.#shelf = shelf;
    this.#departures = departures;
    this.#sender = sender;
    this.#entrance = new Entrance({
      env,
      server,
      account,
      shelf,
      sender,
      departures,
      settlements: this.#settlements,
    });
    shelf.entries.subscribe((entries) => this.#items.set(entries.map(itemOf)));
  }

  /** What waits, as far as this process has looked; {@link list} looks. */
  get entries(): Watchable<readonly OutboxItem[]> {
    return this.#items;
  }

  /** Entries that this process could not read. Their files are kept for a person to look at. */
  get setAside(): Watchable<readonly SetAside[]> {
    return this.#shelf.setAside;
  }

  /**
   * What waits, in the order in which it will be sent.
   *
   * @throws the store's own error.
   */
  async list(): Promise<readonly OutboxItem[]> {
    await this.#shelf.scan();
    return this.#items.value;
  }

  /** Sends what waits, now. Resolves when nothing waits any more, or something keeps it. */
  async send(): Promise<SendReport> {
    this.#sender.signedIn();
    await this.#sender.attended();
    const { state } = this.#sender;
    const cause = state.pause?.error ?? (state.kind === "stopped" ? state.error : undefined);
    return { waitingCount: this.#items.value.length, cause };
  }

  /**
   * Takes a command out, unsent. Waits for the lock while another process sends.
   *
   * @returns what is true of it then: `unknown` when an earlier try may have run.
   * @throws RangeError when it does not wait; Error when its call is under way here, or the lock is not free
   * within the link's budget.
   */
  async drop(callId: string): Promise<"not-run" | "unknown"> {
    await this.#shelf.scan();
    const { env } = this.#parts;
    const found = this.#find(callId);
    if (found === undefined) throw new RangeError(`outbox: no command ${callId} waits here`);
    if (this.#sender.seatOf(found.name) !== undefined) {
      throw new Error(`outbox: the call ${callId} is under way; abort it by its signal`);
    }
    let gone: "not-run" | "unknown" | undefined;
    let failed: Error | undefined;
    const limit = new AbortController();
    const timer = env.clock.timer(env.timing.budgetMs, () => limit.abort());
    const done = await this.#sender.exclusively(async () => {
      try {
        await this.#shelf.scan();
        const still = this.#find(callId);
        if (still === undefined) return;
        const error = droppedError(still);
        await this.#departures.leave(still, { kind: "failure", error, outcome: "dropped" });
        gone = still.stamp.firstSent === undefined ? "not-run" : "unknown";
      } catch (error) {
        failed = error instanceof Error ? error : new Error(String(error));
      }
    }, limit.signal);
    timer.cancel();
    if (failed !== undefined) throw failed;
    if (!done) throw new Error("outbox: another process is sending; try again when it is done");
    if (gone === undefined) throw new RangeError(`outbox: the command ${callId} has just left`);
    return gone;
  }

  /**
   * The later outcome of a command that waits, or that has left a short while ago.
   *
   * @throws RangeError when no such command is known; HoldfastError LINK_CLOSED when the link closes first.
   */
  async settled(callId: string): Promise<Settlement> {
    const known = this.#settlements.recent(callId);
    if (known !== undefined) return known;
    const settlement = this.#settlements.wait(callId);
    if (this.#find(callId) !== undefined) return settlement;
    await this.#shelf.scan();
    if (this.#find(callId) !== undefined) return settlement;
    throw new RangeError(`outbox: no command ${callId} waits here`);
  }

  /**
   * Calls `fn` when a command leaves of which some program was told that it waits: outcomes of earlier processes, and
   * of calls that ended with WAITS_IN_OUTBOX, also where a repeat (`merge`) has taken the command's place and gets the
   * outcome too. Gives the function that ends that.
   */
  onSettled(fn: (settlement: Settlement) => void): () => void {
    return this.#settlements.listen(fn);
  }

  /** See `CallOutbox`. */
  async enter(call: EnteringCall): Promise<Keep> {
    const { method, outbox = "none" } = call.definition;
    if (outbox === "none") await untilAborted(this.#glance(false), call.signal);
    else await this.#glance(true);
    const path = `${method.parent.typeName}/${method.name}`;
    this.#known.add(method);
    if (!this.#methods.has(path)) {
      this.#methods.set(path, method);
      this.#sender.unskip();
    }
    return this.#entrance.enter(call);
  }

  /** See `CallOutbox`. */
  prompt(): void {
    void this.#glance(false).then(() => {
      if (this.#items.value.length > 0) this.#sender.prompt();
    });
  }

  /** See `CallOutbox`. */
  isClear({ kind, method }: UnaryDefinition): boolean {
    return (kind !== "command" || this.#known.has(method)) && this.#shelf.isEmpty();
  }

  /** See `CallOutbox`. */
  clearing({ kind, method }: UnaryDefinition): Promise<void> | undefined {
    if ((kind === "command" && !this.#known.has(method)) || !this.#shelf.mayBeEmpty) return undefined;
    return this.#glance(false);
  }

  /** The link is up, or its program has started. */
  wake(): void {
    void this.#glance(false).then(() => {
      if (this.#items.value.length > 0) void this.#sender.wake();
    });
  }

  /** Another person, or the same one again. */
  signedIn(): void {
    const { log, ending } = this.#parts.env;
    const unwritten = (error: unknown): void =>
      log.warn("outbox: a new sign-in could not be written down", { error });
    void this.#sender.exclusively(() => this.#noteSignIn().catch(unwritten), ending);
    this.#sender.signedIn();
  }

  /** After the link's calls were ended. Resolves when what they left is in the store. */
  async close(): Promise<void> {
    await Promise.all([this.#sender.close(), this.#entrance.idle()]);
    this.#settlements.close();
    this.#shelf.close();
    this.#items.close();
  }

  async #glance(needed: boolean): Promise<void> {
    try {
      await this.#shelf.glance();
    } catch (error) {
      if (needed) throw cannotWrite(error, "");
      this.#parts.env.log.warn("outbox: the store cannot be read", { error });
    }
  }

  /**
   * Writes down of what was sent before that another person may have signed in since, before anything more is sent: a
   * later process could not know, and would send it in that one's name.
   */
  async #noteSignIn(): Promise<void> {
    for (const { name } of this.#shelf.entries.value) {
      const entry = await this.#shelf.read(name);
      if (entry?.stamp.firstSent === undefined) continue;
      const own = this.#sender.seatOf(name)?.stamp ?? this.#departures.own(name)?.stamp;
      const { tag } = own?.memory() ?? underAnotherSignIn(entry.stamp);
      // One that has left meanwhile does not come back.
      if (tag !== entry.stamp.tag && this.#shelf.has(name))
        await this.#shelf.put({ ...entry, stamp: { ...entry.stamp, tag } });
    }
  }

  #find(callId: string): Shelved | undefined {
    return this.#shelf.entries.value.find(({ stamp }) => stamp.callId === callId);
  }

  /** Sends one entry on nobody's behalf. */
  async #send(shelved: Shelved, signal: AbortSignal): Promise<SendEnd> {
    const { env, ownTransport } = this.#parts;
    const own = this.#departures.own(shelved.name);
    if (isExpired(shelved, own?.madeAt, env.clock, env.ticket)) {
      await this.#departures.leave(shelved, failure(expiredError(shelved)));
      return { kind: "left" };
    }
    const entry = await this.#shelf.read(shelved.name);
    if (entry === undefined) return { kind: "gone" };
    const stamp = own?.stamp ?? Stamp.resume(entry.stamp, env);
    // Another process may have sent meanwhile what this one has made, and heard whose it is.
    if (!stamp.maybeSent && entry.stamp.firstSent !== undefined) stamp.adopt(entry.stamp);
    stamp.heardTag(entry.stamp.tag ?? null);
    const record = new Record(entry, stamp, this.#shelf);
    const known = this.#methods.get(methodPath(entry));
    const sent = await deliver({ env, record, known, ownTransport }, signal);
    if (sent.kind !== "left") return sent;
    await this.#departures.leave(record.entry, sent.ending);
    return { kind: "left" };
  }
}

function itemOf(entry: Shelved): OutboxItem {
  return {
    callId: entry.stamp.callId,
    method: methodPath(entry),
    madeAtMs: entry.madeAtMs,
    requestBytes: entry.requestBytes,
    mayHaveRun: entry.stamp.firstSent !== undefined,
  };
}
