/**
 * The sessions of a server: which clients are there, by their signs of life, and what is done when one is gone.
 *
 * Source: design "Sessions"; reliability decision D52, invariant A1.
 */
import type { Message } from "@bufbuild/protobuf";
import { type Clock, sleep, type Timer } from "../../runtime/base/clock.ts";
import { drainSignalMs } from "../../runtime/base/constants.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import type { Log } from "../../runtime/base/log.ts";
import type { Random } from "../../runtime/base/random.ts";
import type { KeptSession, KeptSessions } from "../store/kept-sessions.ts";
import { farewell, type OnSessionGone } from "./farewell.ts";
import { type OpenConnections, sessionKeyText } from "./open-connections.ts";
import { type Kept, Session, type SessionGuest, type SessionInfo } from "./session.ts";
import { nextSessionState } from "./session-state.ts";
import { UpTime } from "./up-time.ts";

/** The times without a sign of the heartbeats that a server implements. */
export interface GoneAfter {
  readonly leastMs: number;
  /** Also of sessions that give no heartbeat. */
  readonly mostMs: number;
}

export interface SessionsParts {
  /** Asked at each round, since services are implemented after the server is made. */
  readonly goneAfter: () => GoneAfter;
  /** Undefined: nothing is to be done, so the store is told of no session. */
  readonly onGone: OnSessionGone | undefined;
  readonly kept: KeptSessions;
  readonly open: OpenConnections;
  readonly limits: Pick<Limits, "sessionsPerCallerMost" | "sessionsMost">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The detector looks this often inside the shortest gone_after; a session ends that much later at most. */
const roundsPerGoneAfter = 12;
const roundEveryMsMost = 5_000;
const roundEveryMsLeast = 50;
/** When many clients vanish at once, so many of their ends run at a time. */
const endingsMost = 32;
/** What peers can make happen at every call is said once in this. */
const warnEveryMs = 60_000;

export class Sessions {
  readonly #parts: SessionsParts;
  readonly #sessions = new Map<string, Session>();
  /** The last that gave a sign: signs come in rows of one session. */
  #recent: Session | undefined;
  readonly #countByQuota = new Map<string, number>();
  readonly #endings = new Set<Promise<void>>();
  readonly #shutdown = new AbortController();
  #due: Session[] = [];
  #upTime: UpTime | undefined;
  #timer: Timer | undefined;
  #loading: Promise<void> | undefined;
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: SessionsParts) {
    this.#parts = parts;
    if (parts.onGone !== undefined) this.#loading = this.#load();
  }

  /**
   * A sign of life. A promise: the session is at its end just now, or the store is still read; wait for it, then give
   * the sign again.
   *
   * @param keep - whether something may come to depend on the session's end: true for a command and a heartbeat.
   */
  sign(guest: SessionGuest, keep: boolean): Promise<void> | undefined {
    if (this.#loading !== undefined) return this.#loading;
    const session =
      this.#recent?.guest === guest
        ? this.#recent
        : (this.#sessions.get(sessionKeyText(guest)) ?? this.#begin(guest));
    if (session === undefined) return undefined;
    if (session.ending !== undefined) return session.ending;
    session.guest = guest; // grants may have changed
    this.#recent = session;
    session.state = nextSessionState(session.state, { kind: "sign", nowMs: this.#up() });
    session.lastSeenAtMs = this.#parts.clock.now();
    if (keep && session.kept === "no" && this.#parts.onGone !== undefined) this.#keep(session);
    return undefined;
  }

  /** What a heartbeat says; its sign was given. False: there are too many sessions, and this one is not known. */
  beat(guest: SessionGuest, fact: Message, goneAfterMs: number): boolean {
    const session = this.#sessions.get(sessionKeyText(guest));
    if (session === undefined) return this.#shutdown.signal.aborted;
    session.fact = fact;
    session.goneAfterMs = goneAfterMs;
    return true;
  }

  /** Those that are there, the longest first. */
  list(): SessionInfo[] {
    const shown: SessionInfo[] = [];
    for (const session of this.#sessions.values()) {
      const { kind } = session.state;
      if (kind === "gone") continue;
      const { space, name } = session.guest;
      const streamCount = this.#parts.open.streamCount({ space, name });
      shown.push({ ...factsOf(session), state: kind, streamCount });
    }
    return shown;
  }

  /** No session ends any more, and what runs for one that does is waited for, a few seconds at most. */
  async stop(): Promise<void> {
    this.#shutdown.abort();
    this.#timer?.cancel();
    this.#due = [];
    const late = new AbortController();
    const ended = Promise.allSettled([...this.#endings, this.#loading]);
    await Promise.race([ended, sleep(this.#parts.clock, drainSignalMs, late.signal)]);
    late.abort();
    this.#sessions.clear();
    this.#recent = undefined;
  }

  #up(): number {
    return this.#upTime?.at(this.#parts.clock.monotonic()) ?? 0;
  }

  #begin(guest: SessionGuest): Session | undefined {
    const { limits, random } = this.#parts;
    if (this.#shutdown.signal.aborted) return undefined;
    const count = this.#countByQuota.get(guest.quota) ?? 0;
    if (count >= limits.sessionsPerCallerMost || this.#sessions.size >= limits.sessionsMost) {
      this.#warnOfFull(count);
      return undefined;
    }
    const id = Buffer.from(random.bytes(16)).toString("base64url");
    return this.#add(guest, id, "no", this.#parts.clock.now());
  }

  #warnOfFull(ofCallerCount: number): void {
    const { clock, log } = this.#parts;
    const nowMs = clock.monotonic();
    if (nowMs - this.#warnedAtMs < warnEveryMs) return;
    this.#warnedAtMs = nowMs;
    log.warn("there are too many sessions: new ones are not looked after", { ofCallerCount });
  }

  #add(guest: SessionGuest, id: string, kept: Kept, beganAtMs: number): Session {
    this.#watch();
    const session = new Session({ guest, id, kept, beganAtMs }, this.#up(), this.#parts.clock.now());
    this.#sessions.set(sessionKeyText(guest), session);
    this.#countByQuota.set(guest.quota, (this.#countByQuota.get(guest.quota) ?? 0) + 1);
    return session;
  }

  #remove(session: Session): void {
    const { guest } = session;
    const { quota } = guest;
    if (this.#recent === session) this.#recent = undefined;
    this.#sessions.delete(sessionKeyText(guest));
    const count = (this.#countByQuota.get(quota) ?? 1) - 1;
    if (count === 0) this.#countByQuota.delete(quota);
    else this.#countByQuota.set(quota, count);
    this.#parts.open.endSession(guest);
  }

  /** What earlier processes left: each gets its whole time anew. */
  async #load(): Promise<void> {
    try {
      for (const { id, space, name, quota, by, grants, beganAtMs } of await this.#parts.kept.list()) {
        this.#add({ space, name, quota, caller: { by, grants } }, id, "yes", beganAtMs);
      }
    } catch (error) {
      this.#parts.log.error("the kept sessions could not be read: they end after the next start", { error });
    } finally {
      this.#loading = undefined;
    }
  }

  /** Not waited for: the store writes in order, so that what a command does is never durable before its session. */
  #keep(session: Session): void {
    session.kept = "begun";
    this.#parts.kept.begin(keptOf(session)).then(
      () => {
        session.kept = "yes";
      },
      (error: unknown) => {
        session.kept = "no"; // the next sign tries again
        this.#parts.log.error("a session could not be kept", { error });
      },
    );
  }

  /** Looks from time to time, while there is somebody to look at. */
  #watch(): void {
    if (this.#timer !== undefined) return;
    const { clock, goneAfter } = this.#parts;
    const everyMs = Math.max(
      roundEveryMsLeast,
      Math.min(roundEveryMsMost, goneAfter().leastMs / roundsPerGoneAfter),
    );
    this.#upTime = new UpTime(everyMs, clock.monotonic());
    this.#wait(everyMs);
  }

  #wait(everyMs: number): void {
    const look = (): void => {
      if (this.#upTime?.tick(this.#parts.clock.monotonic()) === true) this.#round();
      this.#timer = undefined;
      if (this.#sessions.size > 0) this.#wait(everyMs);
    };
    this.#timer = this.#parts.clock.timer(everyMs, look, { background: true });
  }

  #round(): void {
    this.#due = [];
    for (const session of this.#sessions.values()) {
      const next = this.#look(session);
      if (next.kind === "gone" && session.ending === undefined) this.#due.push(session);
      else session.state = next;
    }
    this.#endDue();
  }

  #look(session: Session): Session["state"] {
    const goneAfterMs = session.goneAfterMs ?? this.#parts.goneAfter().mostMs;
    return nextSessionState(session.state, { kind: "round", nowMs: this.#up(), goneAfterMs });
  }

  /** Ends those that are due and have given no sign since, as many at once as may. */
  #endDue(): void {
    while (this.#endings.size < endingsMost) {
      const session = this.#due.shift();
      if (session === undefined) return;
      const next = this.#look(session);
      if (next.kind !== "gone" || session.ending !== undefined) continue;
      session.state = next;
      const ending = this.#end(session).finally(() => {
        session.ending = undefined;
        this.#endings.delete(ending);
        this.#endDue();
      });
      session.ending = ending;
      this.#endings.add(ending);
    }
  }

  async #end(session: Session): Promise<void> {
    const { onGone, kept, clock, log } = this.#parts;
    try {
      const signal = this.#shutdown.signal;
      if (onGone !== undefined) {
        const parting = { id: session.id, kept: session.kept !== "no", session: factsOf(session) };
        await farewell(parting, { kept, onGone, signal, clock, log });
      }
    } catch (error) {
      log.error("onSessionGone failed; the session stays for now", { session: session.guest.name, error });
      session.state = nextSessionState(session.state, { kind: "undone", nowMs: this.#up() });
      return;
    }
    this.#remove(session);
  }
}

function factsOf({
  guest,
  beganAtMs,
  lastSeenAtMs,
  fact,
}: Session): Omit<SessionInfo, "state" | "streamCount"> {
  return { caller: guest.caller, name: guest.name, beganAtMs, lastSeenMs: lastSeenAtMs, fact };
}

function keptOf({ guest, id, beganAtMs }: Session): KeptSession {
  const { space, name, quota, caller } = guest;
  return { id, space, name, quota, by: caller.by, grants: caller.grants, beganAtMs };
}
