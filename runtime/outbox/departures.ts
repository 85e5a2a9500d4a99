/**
 * How entries leave: durably, with a note for the process that made the call, and with a word to whoever waits
 * for the outcome in this one.
 *
 * Source: design "The outbox".
 */
import { type DescMessage, type DescMethodUnary, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { HoldfastError } from "../base/errors.ts";
import { type Log, shortId } from "../base/log.ts";
import type { Stamp } from "../call/stamp.ts";
import { type Ending, failure } from "./ending.ts";
import { type Entry, methodPath } from "./entry.ts";
import type { Seat } from "./seat.ts";
import type { Settlement, Settlements } from "./settlements.ts";
import type { Shelf } from "./shelf.ts";

/** A command that this process made. */
export interface Own {
  readonly stamp: Stamp;
  /** Its path. */
  readonly method: string;
  /** Ms of the monotonic clock. */
  readonly madeAt: number;
}

export interface DeparturesOptions {
  readonly shelf: Shelf;
  readonly settlements: Settlements;
  readonly log: Log;
  /** The descriptors that this process knows, by path. */
  readonly methods: ReadonlyMap<string, DescMethodUnary>;
  /** The call of this entry, if it is under way here. */
  readonly seatOf: (name: string) => Seat | undefined;
}

export class Departures {
  readonly #options: DeparturesOptions;
  readonly #own = new Map<string, Own>();

  constructor(options: DeparturesOptions) {
    this.#options = options;
  }

  /** This process has put it in. */
  made(name: string, own: Own): void {
    this.#own.set(name, own);
  }

  own(name: string): Own | undefined {
    return this.#own.get(name);
  }

  /**
   * An entry leaves.
   *
   * @param call - who gives the outcome to its program: a call under way, whose program may have been told before, by
   * an earlier call, that the command waits. Undefined: nobody.
   * @throws the store's error when the entry could not be removed and its outcome would not stay true: of a
   * command that is sent on nobody's behalf, and of one that has not run and now will.
   */
  async leave(
    entry: Omit<Entry, "request">,
    ending: Ending,
    call?: { readonly toldThatItWaits: boolean },
  ): Promise<void> {
    const { shelf, log, seatOf } = this.#options;
    const own = this.#own.get(entry.name);
    if (own === undefined) await shelf.note(entry.stamp.callId, ending);
    try {
      await shelf.drop(entry.name);
    } catch (error) {
      // It will be sent again, and the server answers with what it kept.
      log.error("outbox: a command has left and its entry cannot be removed", { error });
      if (call === undefined || (ending.kind === "failure" && ending.outcome === "not-run")) throw error;
    }
    own?.stamp.settle();
    this.#own.delete(entry.name);
    // A repeat took its place while it was being sent: the outcome is that call's.
    if (call === undefined) seatOf(entry.name)?.settledHere(ending);
    this.#tell(entry.stamp.callId, methodPath(entry), ending, call?.toldThatItWaits === false);
  }

  /** What this process made and another one has sent, as of the last look. */
  async lookElsewhere(): Promise<void> {
    const { shelf, seatOf } = this.#options;
    for (const [name, { stamp, method }] of this.#own) {
      if (shelf.has(name) || seatOf(name) !== undefined) continue;
      const ending = await shelf.takeNote(stamp.callId);
      stamp.settle();
      this.#own.delete(name);
      this.#tell(stamp.callId, method, ending ?? failure(withoutNote(stamp.callId)), false);
    }
  }

  /** @param known - the one call that ever waited for it gives it to its program. */
  #tell(callId: string, method: string, ending: Ending, known: boolean): void {
    const { settlements, log, methods } = this.#options;
    if (ending.kind === "failure" && !known) {
      log.warn(`outbox: ${method} has left (${ending.outcome}): ${ending.error.rawMessage}`, {
        call: shortId(callId),
      });
    }
    const settlement: Settlement =
      ending.kind === "failure"
        ? { callId, method, ...ending }
        : { callId, method, ...ending, message: messageOf(methods.get(method), ending.reply) };
    settlements.tell(settlement, known);
  }
}

function withoutNote(callId: string): HoldfastError {
  return new HoldfastError("it has left the outbox, and nothing says how it ended", {
    callId,
    outcome: "unknown",
  });
}

function messageOf(
  method: DescMethodUnary | undefined,
  reply: Uint8Array,
): MessageShape<DescMessage> | undefined {
  if (method === undefined) return undefined;
  try {
    return fromBinary(method.output, reply);
  } catch {
    return undefined; // a reply of another version: its bytes are there for who can read them
  }
}
