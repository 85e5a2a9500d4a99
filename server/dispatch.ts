/**
 * From a decoded request to its handler and back, whatever carried it: commands with a call ID through the
 * journal, everything else straight.
 *
 * Source: design "The journal"; reliability decision D10.
 */
import { create, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../runtime/base/clock.ts";
import { handlerMostMs } from "../runtime/base/constants.ts";
import type { CommandDefinition, MethodDefinition, UnaryDefinition } from "../runtime/base/definition.ts";
import { isHandlerRefusal } from "../runtime/base/handler-refusal.ts";
import type { Log } from "../runtime/base/log.ts";
import type { Stop } from "../runtime/base/late-signal.ts";
import { untilAborted } from "../runtime/base/signals.ts";
import { isThenable, type Soon } from "../runtime/base/soon.ts";
import { CallContext, type Carried, CommandCallContext } from "./context.ts";
import type { ReplyAgain } from "./engine/reply-again.ts";
import type { Guest } from "./entrance.ts";
import { errorOfThrow } from "./handler-errors.ts";
import type { Handler } from "./implement.ts";
import type { Answer, Journal, Running } from "./journal/answer.ts";
import type { UnaryAnswer } from "./http/exchange.ts";
import type { SignsOfLife } from "./signs-of-life.ts";
import type { Topics } from "./topic/topics.ts";

export interface DispatchParts {
  readonly journal: Journal;
  readonly signsOfLife: SignsOfLife;
  readonly topics: Topics;
  readonly handler: (definition: MethodDefinition) => Handler;
  /** Whether a command may run again after a run of which nobody knows how it ended. */
  readonly mayRerun: (definition: CommandDefinition) => boolean;
  /** For an engine's command: its replies are made on the state of now, whatever the journal kept. */
  readonly replyAgain: (definition: CommandDefinition) => ReplyAgain | undefined;
  /** Aborts in the last seconds of a drain. */
  readonly shutdown: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

/** One unary request on its way to its handler. */
export interface UnaryCall {
  readonly definition: UnaryDefinition;
  readonly request: Message;
  readonly carried: Carried;
  readonly guest: Guest;
}

/**
 * Runs a unary request. Never throws, never rejects. The guest's turn is given back when the handler has ended. A
 * handler that answers by return is answered at once, where its store is in memory too.
 */
export function dispatch(call: UnaryCall, parts: DispatchParts): Soon<UnaryAnswer> {
  const ending = parts.signsOfLife.of(call);
  if (ending !== undefined) return ending.then(() => dispatch(call, parts));
  const { definition } = call;
  if (definition.kind !== "command") return runQuery(call, parts);
  return call.guest.call === undefined
    ? runWithoutId(call, definition, parts)
    : runOnce(call, definition, parts);
}

function runOnce(call: UnaryCall, definition: CommandDefinition, parts: DispatchParts): Soon<Answer> {
  const { request, carried, guest } = call;
  if (guest.call === undefined) throw new TypeError("a command that runs once has a call ID");
  let began = false;
  const answer = parts.journal.run(
    {
      definition,
      request,
      caller: guest.key,
      expectedTag: guest.expectedTag,
      call: guest.call,
      arrivedAtMs: guest.arrivedAtMs,
      scope: "",
      rerun: parts.mayRerun(definition),
      waiting: carried.stop ?? carried.signal,
    },
    (running) => {
      began = true;
      return handle(call, parts, running);
    },
  );
  const answered = (its: Answer): Soon<Answer> => {
    if (!began) guest.turn.leave();
    const again = parts.replyAgain(definition);
    return again === undefined ? its : repliedAgain(its, call, again);
  };
  return answer instanceof Promise ? answer.then(answered) : answered(answer);
}

/** An engine's reply is made on the state of now. */
async function repliedAgain(
  answer: Answer,
  { guest, request }: UnaryCall,
  again: ReplyAgain,
): Promise<Answer> {
  if (guest.call === undefined || !("reply" in answer.result)) return answer;
  const reply = await again({ space: guest.key.space, id: guest.call.id }, request);
  return reply === undefined ? answer : { ...answer, result: { reply } };
}

/** A query, signal or heartbeat: it has no more to do when nobody waits for it. */
function runQuery(call: UnaryCall, parts: DispatchParts): Soon<UnaryAnswer> {
  const { carried } = call;
  return settled(() => handle(call, parts, carried), carried.stop ?? carried.signal, undefined);
}

/**
 * A plain client's command without an ID: like a call with one its work outlives the wait, but nothing keeps a
 * repeat from running again. So a fault is no reason for a new try: whether it took effect, nobody knows.
 */
function runWithoutId(
  call: UnaryCall,
  definition: CommandDefinition,
  parts: DispatchParts,
): Soon<UnaryAnswer> {
  const limit = new AbortController();
  const stop = (): void => limit.abort(new ConnectError("the server is closing", Code.Unavailable));
  const late = (): void =>
    limit.abort(new ConnectError("the handler took longer than it may", Code.DeadlineExceeded));
  const timer = parts.clock.timer(definition.handlerMostMs ?? handlerMostMs, late, { background: true });
  parts.shutdown.addEventListener("abort", stop);
  const unkept = { ...unkeptRun(definition, parts), signal: limit.signal };
  const work = async (): Promise<Message> => {
    try {
      return await handle(call, parts, unkept);
    } finally {
      timer.cancel();
      parts.shutdown.removeEventListener("abort", stop);
    }
  };
  return settled(work, call.carried.stop ?? call.carried.signal, "unknown");
}

/** The answer to work that nobody keeps, or, once the client waits no longer, that fact. */
function settled(
  work: () => Soon<Message>,
  waiting: Stop,
  faultMark: "unknown" | undefined,
): Soon<UnaryAnswer> {
  const command = faultMark !== undefined;
  const replied = (reply: Message): UnaryAnswer => ({
    mark: command ? "ran" : undefined,
    repeat: false,
    result: { reply },
  });
  const failed = (thrown: unknown): UnaryAnswer => {
    // The handler's own end is a ConnectError already; else it is the signal's reason, in its own words.
    const error =
      thrown instanceof ConnectError ? thrown : new ConnectError("the client is gone", Code.Canceled);
    const refused = command && isHandlerRefusal(error);
    return { mark: refused ? "refused" : faultMark, repeat: false, result: { error } };
  };
  try {
    const reply = work();
    return reply instanceof Promise ? untilAborted(reply, waiting).then(replied, failed) : replied(reply);
  } catch (thrown) {
    return failed(thrown);
  }
}

/** What the run of a command without a call ID gets: it is the only one, and writes without a key. */
function unkeptRun(definition: CommandDefinition, parts: DispatchParts): Omit<Running, "signal"> {
  const unkept = parts.journal.unkept(definition);
  return {
    mayHaveRun: false,
    begin: () => unkept.begin(),
    transaction: (write) => unkept.transaction(write),
  };
}

/** The run of a query or signal has its signal alone. */
type AnyRun = Pick<Running, "signal"> & Partial<Running>;

/**
 * Waits for the turn, runs the handler and makes its reply a message, all of it at once where nothing is to be waited
 * for. Throws or rejects with a ConnectError.
 */
function handle(call: UnaryCall, parts: DispatchParts, run: AnyRun): Soon<Message> {
  const { turn } = call.guest;
  const failed = (error: unknown): never => {
    turn.leave();
    throw errorOfThrow(error, call.definition, parts.log);
  };
  try {
    const ready = turn.startNow() ? run.begin?.() : turn.start().then(() => run.begin?.());
    const reply = ready === undefined ? invoke(call, parts, run) : ready.then(() => invoke(call, parts, run));
    if (reply instanceof Promise) {
      const replied = (its: Message): Message => {
        turn.leave();
        return its;
      };
      return reply.then(replied, failed);
    }
    turn.leave();
    return reply;
  } catch (error) {
    return failed(error);
  }
}

function invoke(call: UnaryCall, parts: DispatchParts, run: AnyRun): Soon<Message> {
  const { definition, request, carried, guest } = call;
  const { output } = definition.method;
  parts.signsOfLife.beat(call);
  const handler = parts.handler(definition);
  if (!isCommandRun(run)) {
    const reply = handler(request, new CallContext(guest, parts, carried, run));
    const toMessage = (its: unknown): Message => create(output, its as Message);
    return isThenable(reply) ? Promise.resolve(reply).then(toMessage) : toMessage(reply);
  }
  const context = new CommandCallContext(guest, parts, carried, run, output);
  const key = guest.call === undefined ? undefined : { space: guest.key.space, id: guest.call.id };
  const reply = handler(request, context, key);
  if (!isThenable(reply)) return context.messageOf(reply);
  return Promise.resolve(reply).then((its) => context.messageOf(its));
}

function isCommandRun(run: AnyRun): run is Running {
  return run.transaction !== undefined;
}
