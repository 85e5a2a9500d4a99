/**
 * A wire of one's own over which a host holds what it does not serve: hello, and its user. Whoever gave the wire
 * sees to the next one.
 *
 * Source: design "Held objects: Drops and re-holds".
 */
import type { Clock } from "../base/clock.ts";
import { defaultTiming, streamIdleMs } from "../base/constants.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import { newId } from "../call/call-id.ts";
import { Lane } from "../call/lane.ts";
import { Ticket } from "../call/ticket.ts";
import { CallNumbers } from "../wire/call-numbers.ts";
import { type CodecName, codecNamed } from "../wire/handshake.ts";
import { sayHello } from "../wire/say-hello.ts";
import type { Wire } from "../wire/wire.ts";
import { HolderSide } from "./holder-side.ts";
import type { HostWire } from "./host-wire.ts";

export interface ConnectOptions {
  /** How packets are packed. Default: msgpack. */
  readonly codec?: CodecName;
  /** Says who this is, to a server that authenticates. Default: nobody says. */
  readonly token?: string;
  /** Names this client's life. Default: a random name. */
  readonly session?: string;
}

/** A wire that is being opened, or is open. */
export interface ConnectedWire extends HostWire {
  /** Resolves when the other end has welcomed this one; rejects with what it said instead. */
  readonly opened: Promise<void>;
}

export interface ElsewhereParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The slot of its one wire. */
const mainSlot = "main";

/** What a host holds from over the wires that it is given, one after the other. */
export class Elsewhere {
  readonly holds: HolderSide;
  readonly #parts: ElsewhereParts;
  readonly #lane: Lane;
  readonly #ticket: Ticket;
  readonly #anonymous: string;
  readonly #session: string;
  #generation = 0;
  #wire: ConnectedWire | undefined;
  #trouble = "no wire is open; give the host one with connect";

  constructor(parts: ElsewhereParts) {
    const { clock, random } = parts;
    this.#parts = parts;
    this.#lane = new Lane(newId(random));
    this.#ticket = new Ticket(clock);
    this.#anonymous = newId(random);
    this.#session = newId(random);
    this.holds = new HolderSide({
      ...parts,
      lane: this.#lane,
      ticket: this.#ticket,
      anonymous: this.#anonymous,
      timing: defaultTiming,
      trouble: () => (this.#wire === undefined ? this.#trouble : undefined),
      onWanted: () => undefined,
    });
  }

  /** @throws TypeError while the wire before has not closed. */
  connect(wire: Wire, options: ConnectOptions): ConnectedWire {
    if (this.#wire !== undefined) {
      throw new TypeError("holdfast: the wire before this one has not closed yet; wait for its `closed`");
    }
    const stop = new AbortController();
    let ended: () => void = () => undefined;
    const closed = new Promise<void>((resolve) => {
      // The next wire may be given from inside of what waits for the close.
      ended = () => {
        this.#wire = undefined;
        resolve();
      };
    });
    const opened = this.#open(wire, options, stop.signal, () => ended());
    opened.catch((error: unknown) => {
      this.#trouble = error instanceof Error ? error.message : String(error);
      ended();
    });
    const close = (): void => {
      stop.abort(new Error("the wire was closed before it was open"));
      wire.close();
    };
    this.#wire = { opened, closed, close };
    return this.#wire;
  }

  close(): void {
    this.#wire?.close();
  }

  async #open(
    wire: Wire,
    { codec = "msgpack", token, session = this.#session }: ConnectOptions,
    signal: AbortSignal,
    closed: () => void,
  ): Promise<void> {
    const { clock, log } = this.#parts;
    const packedBy = codecNamed(codec);
    if (packedBy === undefined) throw new TypeError(`there is no codec "${codec}"`);
    this.#generation += 1;
    await sayHello(
      wire,
      {
        codec: packedBy,
        link: this.#lane.id,
        slot: mainSlot,
        generation: this.#generation,
        session,
        build: undefined,
        token,
        anon: token === undefined ? this.#anonymous : undefined,
        idleMs: streamIdleMs,
      },
      {
        clock,
        log,
        waitMs: defaultTiming.connectWaitMs,
        signal,
        opened: (end, { nowMs, caller }) => {
          this.#ticket.learn(`${Math.floor(nowMs)}`);
          end.onNow((serverMs) => this.#ticket.learn(`${Math.floor(serverMs)}`));
          end.onClose((cause) => {
            this.#trouble = cause?.message ?? "the wire was closed";
          });
          this.holds.attach({
            numbers: new CallNumbers(end),
            tag: caller,
            anonymous: token === undefined,
          });
          end.onClose(() => closed());
        },
      },
    );
  }
}
