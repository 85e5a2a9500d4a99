/**
 * The one writer of an engine's log. A command is decided inside the transaction that keeps it: there it meets the
 * state with all commands before it, and its records, its key and its reply are one commit. Many commands share
 * one, as the store sees fit.
 *
 * Source: design "The engine: state from a log"; reliability decisions D14, D15.
 */
import {
  create,
  type DescMessage,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type RecordEnvelope,
  RecordEnvelopeSchema,
  type RecordRefusal,
} from "../../gen/holdfast/store/v1/engine_pb.ts";
import type { Clock } from "../../runtime/base/clock.ts";
import type { CommandDefinition } from "../../runtime/base/definition.ts";
import { serverError } from "../../runtime/base/server-reasons.ts";
import type { CommandContext } from "../../runtime/base/handlers.ts";
import { type Log, shortId } from "../../runtime/base/log.ts";
import type { Publish } from "../../runtime/base/topics.ts";
import type { CallKey, Store } from "../store/store.ts";
import type { Copies } from "./copies.ts";
import type { EngineLog } from "./log.ts";
import { Queue } from "./queue.ts";
import { type RecentCall, RecentCalls } from "./recent.ts";
import { callText, envelopeOfRow, type RecordTypes, rowOfEnvelope } from "./record.ts";
import { errorOfRefusal, isRefusal, refusalOf } from "./refusal.ts";
import type { ReplyAgain } from "./reply-again.ts";
import type { PlainCommand } from "./rules.ts";

export interface WriterParts {
  readonly name: string;
  readonly store: Store;
  readonly log: EngineLog;
  /** What the store gives to every transaction. */
  readonly tx: unknown;
  readonly copies: Copies<DescMessage>;
  readonly types: Pick<RecordTypes<DescMessage>, "encode" | "decode">;
  readonly clock: Clock;
  readonly says: Log;
  /** Publishes what a command did, inside its transaction; the working state has it. */
  readonly feed: (envelope: RecordEnvelope, publish: Publish) => void;
  /** Told of each envelope when it is durable and in the written state, in their order. */
  readonly durable: (envelope: RecordEnvelope) => void;
}

/** One command, bound to its rules. */
export interface BoundCommand {
  run(request: Message, context: CommandContext, key: CallKey | undefined): Promise<Message>;
  readonly again: ReplyAgain;
}

/** A try of a command on its way through its transaction. */
interface Try {
  readonly definition: CommandDefinition;
  readonly rules: PlainCommand;
  readonly request: Message;
  readonly context: CommandContext;
  readonly key: CallKey | undefined;
  /** What was appended for it. */
  decided: RecentCall | undefined;
  /** The log has the call already. */
  known: boolean;
}

export class Writer {
  readonly #parts: WriterParts;
  readonly #recent = new RecentCalls();
  /** Where many transactions may be open at once, one command follows the other; else the store sees to it. */
  readonly #queue: Queue | undefined;
  #broken: ConnectError | undefined;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#queue = parts.store.facts.synchronous ? undefined : new Queue();
  }

  command(definition: CommandDefinition, rules: PlainCommand): BoundCommand {
    return {
      run: (request, context, key) => {
        const one: Try = { definition, rules, request, context, key, decided: undefined, known: false };
        return this.#queue === undefined ? this.#run(one) : this.#queue.run(() => this.#run(one));
      },
      again: (key, request) => this.#again(definition, rules, key, request),
    };
  }

  async #run(one: Try): Promise<Message> {
    if (this.#broken !== undefined) throw this.#broken;
    try {
      const reply = await one.context.transaction((tx, publish) => this.#decide(one, tx, publish));
      if (one.decided !== undefined) this.#stands(one.decided);
      return reply;
    } catch (error) {
      if (one.decided !== undefined) this.#falls(one.decided.envelope);
      if (!one.known && isRefusal(error)) this.#keepRefusal(one, refusalOf(error));
      throw error;
    }
  }

  /** Decides a command on the working state; inside its transaction. Gives its reply. */
  #decide(one: Try, tx: unknown, publish: Publish): Message {
    const { copies, log, types, clock, name } = this.#parts;
    const { rules, request, context, key } = one;
    if (tx !== this.#parts.tx) {
      throw new TypeError(`engine ${name} was opened on another store than the server's: give both the same`);
    }
    this.#meet();
    const known = key === undefined ? undefined : this.#find(callText(key));
    if (known !== undefined) return this.#decidedBefore(one, known);
    const { seq, atMs, state } = copies.working;
    const nowMs = Math.max(atMs, Math.floor(clock.now()));
    const { caller, session, callId } = context;
    const accepted: unknown = rules.handle(state, request, {
      caller,
      session,
      callId,
      nowMs,
      log: context.log,
    });
    const { records = [], note } = readAccepted(accepted);
    const envelope = create(RecordEnvelopeSchema, {
      ...envelopeHead(one, seq + 1, nowMs),
      records: records.map((record) => types.encode(record)),
    });
    if (records.length > 0 || key !== undefined) {
      one.decided = { envelope, note: note ?? rules.note };
      log.append(rowOfEnvelope(envelope));
      copies.decide(envelope);
    }
    if (records.length > 0) this.#parts.feed(envelope, publish);
    return this.#reply(one, { envelope, note: note ?? rules.note }, copies.working.state);
  }

  /** The log has the call and the journal does not, such as after a move to another store: it does not run. */
  #decidedBefore(one: Try, known: RecentCall): Message {
    one.known = true;
    const { envelope } = known;
    if (envelope.command !== nameOf(one.definition)) throw serverError("CALL_ID_REUSED");
    if (envelope.refusal !== undefined) throw errorOfRefusal(envelope.refusal);
    return this.#reply(one, withNote(known, one.rules), this.#parts.copies.working.state);
  }

  #reply(
    { definition, rules, request }: Pick<Try, "definition" | "rules" | "request">,
    done: RecentCall,
    state: unknown,
  ): Message {
    const records = done.envelope.records.map((record) => this.#parts.types.decode(record));
    const reply = rules.reply(state, { records, note: done.note, request });
    const { output } = definition.method;
    // A copy: the reply may hold parts of the state, which goes on.
    return fromBinary(output, toBinary(output, create(output, reply as Message)));
  }

  async #again(
    definition: CommandDefinition,
    rules: PlainCommand,
    key: CallKey,
    request: Message,
  ): Promise<Message | undefined> {
    const { store, copies, says } = this.#parts;
    const call = callText(key);
    try {
      const known = this.#recent.get(call) ?? (await store.write(() => this.#find(call)));
      if (known === undefined || known.envelope.refusal !== undefined) return undefined;
      if (known.envelope.command !== nameOf(definition)) return undefined;
      return this.#reply({ definition, rules, request }, withNote(known, rules), copies.written.state);
    } catch (error) {
      const fields = { method: nameOf(definition), call: shortId(key.id), error };
      says.warn("a reply could not be made on the state of now; the kept one is given", fields);
      return undefined;
    }
  }

  /** A call that the log has, or that was appended in this batch. */
  #find(call: string): RecentCall | undefined {
    const { log, store, clock, says, name } = this.#parts;
    const recent = this.#recent.get(call);
    const row = log.find(call, Math.floor(clock.now()) - store.facts.keepMs);
    if (row === undefined) return undefined;
    const envelope = envelopeOfRow(row);
    if (envelope === undefined) {
      says.error(`engine ${name}: envelope ${row.seq} is damaged`);
      throw new ConnectError(
        "the record of this call is damaged; the server's log says which",
        Code.DataLoss,
      );
    }
    return recent?.envelope.seq === envelope.seq ? recent : { envelope, note: undefined };
  }

  /**
   * A refused command is in the log too. Its transaction is rolled back by then, so this is a write of its own,
   * which is asked for before the journal asks to keep the refusal and so is in its commit or in one before.
   */
  #keepRefusal(one: Try, refusal: RecordRefusal): void {
    const { store, copies, log, clock, says, name } = this.#parts;
    if (one.key === undefined) return;
    let decided: RecentCall | undefined;
    const written = store.write(() => {
      this.#meet();
      const nowMs = Math.max(copies.working.atMs, Math.floor(clock.now()));
      const head = envelopeHead(one, copies.working.seq + 1, nowMs);
      const envelope = create(RecordEnvelopeSchema, { ...head, refusal });
      decided = { envelope, note: undefined };
      log.append(rowOfEnvelope(envelope));
      copies.decide(envelope);
    });
    written.then(
      () => {
        if (decided !== undefined) this.#stands(decided);
      },
      (error: unknown) => {
        if (decided !== undefined) this.#falls(decided.envelope);
        says.warn(`engine ${name}: a refusal is not in the log`, { error });
      },
    );
  }

  /** The working copy becomes that of the transaction that this is called in. */
  #meet(): void {
    const { copies, log, name } = this.#parts;
    const lastSeq = log.lastSeq();
    if (lastSeq > copies.working.seq) {
      throw new Error(
        `engine ${name}: its log ends with ${lastSeq}, and this engine wrote ${copies.working.seq} last. It was ` +
          "opened twice, or somebody else has written to its log. Open an engine once a store.",
      );
    }
    copies.meet(lastSeq);
  }

  #stands(decided: RecentCall): void {
    const { copies, durable, says, name } = this.#parts;
    const { call } = decided.envelope;
    if (call !== undefined) this.#recent.put(callText(call), decided);
    try {
      for (const envelope of copies.stands(decided.envelope)) durable(envelope);
    } catch (error) {
      // `apply` took these records a moment ago. What it would make of the next ones nobody knows.
      this.#broken = new ConnectError(`engine ${name} has stopped; the server's log says why`, Code.Internal);
      says.error(`engine ${name}: apply did not come to the same twice, so the engine stops`, { error });
    }
  }

  #falls(envelope: RecordEnvelope): void {
    this.#parts.copies.falls(envelope);
    this.#parts.log.undo(Number(envelope.seq));
  }
}

function nameOf({ method }: CommandDefinition): string {
  return `${method.parent.typeName}.${method.name}`;
}

function envelopeHead(
  { key, context, definition }: Try,
  seq: number,
  nowMs: number,
): MessageInitShape<typeof RecordEnvelopeSchema> {
  return {
    seq: BigInt(seq),
    atMs: BigInt(nowMs),
    by: context.caller.by ?? "",
    command: nameOf(definition),
    ...(key === undefined ? {} : { call: { space: key.space, id: key.id } }),
  };
}

/** The note of the command where the call's own is not remembered. */
function withNote(call: RecentCall, rules: PlainCommand): RecentCall {
  return call.note === undefined ? { ...call, note: rules.note } : call;
}

function readAccepted(accepted: unknown): { readonly records?: readonly unknown[]; readonly note?: unknown } {
  if (accepted instanceof Promise) {
    accepted.catch(() => undefined); // what becomes of it is nobody's any more
    throw new TypeError(
      "an engine's handle returned a promise. It must be synchronous: nothing may come between",
    );
  }
  if (typeof accepted === "object" && accepted !== null) return accepted;
  throw new TypeError(
    "an engine's handle returns { records, note }; it returned nothing. Return {} for neither",
  );
}
