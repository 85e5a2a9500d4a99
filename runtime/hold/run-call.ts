/**
 * Runs one call on a served object: its handler with a context like any server's, and what it gives as an answer.
 *
 * A plain host keeps nothing of its commands. A server passes a {@link RunCommand} of its own, which leads them
 * through its journal.
 *
 * Source: design "Held objects", "Server: What a user writes".
 */
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import { callKeepMs, handlerMostMs } from "../base/constants.ts";
import type { CommandDefinition, ObjectDefinition } from "../base/definition.ts";
import { isHandlerRefusal } from "../base/handler-refusal.ts";
import type { Caller, CommandContext } from "../base/handlers.ts";
import { LateSignal, type Stop } from "../base/late-signal.ts";
import type { Log } from "../base/log.ts";
import { onAbort } from "../base/signals.ts";
import { snapshot } from "../base/snapshot.ts";
import type { ObjectAnswer, ObjectCall } from "./holding.ts";
import type { MemberHandler } from "./implementation.ts";
import {
  ObjectCommandContext,
  ObjectContext,
  type RunningCommand,
  type SetHeaders,
} from "./object-context.ts";

/** A command on an object, on its way to its handler. */
export interface ObjectCommand {
  readonly type: ObjectDefinition;
  /** The object's params, and their key: both name the object. */
  readonly params: Message;
  readonly key: string;
  readonly definition: CommandDefinition;
  readonly call: ObjectCall;
  readonly caller: Caller;
  readonly session: string | undefined;
  /** Aborts when the object's activation ends. */
  readonly ending: Stop;
  /** It meets a run of its own, or what was kept of one: its handler will not be called. */
  readonly joined: () => void;
  /** Calls the handler: gives what it returned, or rejects with what it threw. At most once. */
  handle(running: RunningCommand): Promise<unknown>;
}

/** Runs a command once for its call ID, as far as whoever provides this promises. Never rejects. */
export type RunCommand = (command: ObjectCommand) => Promise<ObjectAnswer>;

/** Where a call runs. */
export interface CallPlace {
  readonly type: ObjectDefinition;
  readonly params: Message;
  readonly key: string;
  readonly caller: Caller;
  readonly session: string | undefined;
  /** Aborts when the object's activation ends. */
  readonly ending: Stop;
  readonly handler: MemberHandler;
  /** To be called when the handler was called, or will not be. */
  readonly started: () => void;
  /** Is told of a command's handler: it may go on when nobody waits for it any more. */
  readonly until: (over: Promise<unknown>) => void;
  readonly run: RunCommand;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Runs a call; never rejects.
 *
 * @param forgotten - aborts when nobody waits for a query or signal any more.
 */
export async function runCall(call: ObjectCall, place: CallPlace, forgotten: Stop): Promise<ObjectAnswer> {
  const { definition } = call;
  const set: SetHeaders = { header: undefined, trailer: undefined };
  if (definition.kind === "command") {
    const { type, params, key, caller, session, ending } = place;
    const answer = await place.run({
      type,
      params,
      key,
      definition,
      call,
      caller,
      session,
      ending,
      joined: place.started,
      handle: (running) => {
        const handled = handle(place, call, new ObjectCommandContext(call, place, set, running));
        place.until(handled);
        return handled;
      },
    });
    return { ...set, ...answer };
  }
  const stop = new LateSignal();
  const forgets = [place.ending, forgotten].map((signal) => onAbort(signal, (reason) => stop.abort(reason)));
  try {
    const handled: unknown = place.handler(call.request, new ObjectContext(call, place, set, stop));
    place.started();
    const reply = await handled;
    return {
      result: { reply: replyOf(definition.method.output, reply) },
      mark: undefined,
      repeat: false,
      ...set,
    };
  } catch (error) {
    return { result: { error: errorOfThrow(error, call, place.log) }, mark: undefined, repeat: false };
  } finally {
    for (const forget of forgets) forget();
  }
}

async function handle(place: CallPlace, call: ObjectCall, context: ObjectCommandContext): Promise<unknown> {
  const reply: unknown = place.handler(call.request, context);
  place.started();
  return reply;
}

/** What a host without a journal remembers of a command. */
interface PlainRun {
  readonly answer: Promise<ObjectAnswer>;
  /** Ms of the monotonic clock at which nobody asks again: the caller's own deadline. */
  readonly until: number;
}

/** Runs that are remembered before it is looked which of them are over. */
const plainRunsLeast = 256;

/**
 * How a host without a journal runs commands: a call that comes again, from here or over the next wire, meets its own
 * run for as long as its caller waits; nothing is kept beyond. A fault leaves open whether the command took effect, so
 * that nobody tries again.
 */
export function plainRun(
  clock: Clock,
  log: Log,
  transactionOf: (command: ObjectCommand) => PlainTransaction = () => noTransactions,
): RunCommand {
  const runs = new Map<string, PlainRun>();
  let lookAtCount = plainRunsLeast;
  return (command) => {
    const { call, caller, type, key, definition } = command;
    if (call.callId === undefined) return runPlainly(command, clock, log, transactionOf(command));
    // The same ID for another object or method is another call.
    const name = `${call.callId} ${type.$service.typeName} ${definition.method.name} ${key} ${caller.by ?? ""}`;
    const known = runs.get(name);
    if (known !== undefined) {
      command.joined();
      return known.answer.then((answer) => ({ ...answer, repeat: true }));
    }
    if (runs.size >= lookAtCount) {
      const now = clock.monotonic();
      for (const [its, { until }] of runs) if (until < now) runs.delete(its);
      lookAtCount = Math.max(plainRunsLeast, runs.size * 2);
    }
    const answer = runPlainly(command, clock, log, transactionOf(command));
    runs.set(name, { answer, until: Math.min(call.deadline.at, clock.monotonic() + callKeepMs) });
    return answer;
  };
}

/** What a handler's transaction is made of, where there is a store. */
export interface PlainTransaction {
  readonly use: CommandContext["transaction"];
}

async function runPlainly(
  command: ObjectCommand,
  clock: Clock,
  log: Log,
  { use }: PlainTransaction,
): Promise<ObjectAnswer> {
  const { definition } = command;
  const limit = new LateSignal();
  const late = (): void =>
    limit.abort(new ConnectError("the handler took longer than it may", Code.DeadlineExceeded));
  const timer = clock.timer(definition.handlerMostMs ?? handlerMostMs, late, { background: true });
  const forget = onAbort(command.ending, (reason) => limit.abort(reason));
  try {
    const reply = await command.handle({
      get signal() {
        return limit.signal;
      },
      mayHaveRun: false,
      transaction: use,
    });
    return { result: { reply: replyOf(definition.method.output, reply) }, mark: "ran", repeat: false };
  } catch (thrown) {
    const error = errorOfThrow(thrown, command.call, log);
    return { result: { error }, mark: isHandlerRefusal(error) ? "refused" : "unknown", repeat: false };
  } finally {
    timer.cancel();
    forget();
  }
}

const noTransactions: PlainTransaction = { use: noTransaction };

function noTransaction(): Promise<never> {
  return Promise.reject(
    new TypeError(
      "holdfast: ctx.transaction needs a server's store, and this object is served by a plain host. Serve it with createServer({ store }), or change the object's states alone.",
    ),
  );
}

/** A reply of its own: what a handler goes on to change is not the caller's. */
function replyOf(output: DescMessage, reply: unknown): Message {
  return snapshot(output, (reply ?? {}) as Message);
}

function errorOfThrow(thrown: unknown, call: ObjectCall, log: Log): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  log.error("a handler failed", { method: call.definition.method.toString(), error: thrown });
  return new ConnectError("the handler failed; the provider's log says why", Code.Internal);
}
