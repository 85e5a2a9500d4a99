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
import { untilAborted } from "../runtime/base/signals.ts";
import { type Carried, createContext } from "./context.ts";
import { createTransaction } from "./transaction.ts";
import type { ReplyAgain } from "./engine/reply-again.ts";
import type { Guest } from "./entrance.ts";
import { errorOfThrow } from "./handler-errors.ts";
import type { Handler } from "./implement.ts";
import type { Answer, Journal, Running } from "./journal/answer.ts";
import type { UnaryAnswer } from "./http/exchange.ts";
import type { SignsOfLife } from "./signs-of-life.ts";
import { Publishing } from "./topic/publishing.ts";
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

/** Runs a unary request. Never rejects. The guest's turn is given back when the handler has ended. */
export function dispatch(call: UnaryCall, parts: DispatchParts): Promise<UnaryAnswer> {
  const ending = parts.signsOfLife.of(call);
  if (ending !== undefined) return ending.then(() => dispatch(call, parts));
  const { definition } = call;
  if (definition.kind !== "command") return runQuery(call, parts);
  return call.guest.call === undefined
    ? runWithoutId(call, definition, parts)
    : runOnce(call, definition, parts);
}

async function runOnce(
  call: UnaryCall,
  definition: CommandDefinition,
  parts: DispatchParts,
): Promise<Answer> {
  const { request, carried, guest } = call;
  if (guest.call === undefined) throw new TypeError("a command that runs once has a call ID");
  const work = { began: false };
  const answer = await parts.journal.run(
    {
      definition,
      request,
      caller: guest.key,
      expectedTag: guest.expectedTag,
      call: guest.call,
      arrivedAtMs: guest.arrivedAtMs,
      scope: "",
      rerun: parts.mayRerun(definition),
      waiting: carried.signal,
    },
    (running) => {
      work.began = true;
      return handle(call, parts, running);
    },
  );
  if (!work.began) guest.turn.leave();
  const again = parts.replyAgain(definition);
  if (again === undefined || !("reply" in answer.result)) return answer;
  const reply = await again({ space: guest.key.space, id: guest.call.id }, request);
  return reply === undefined ? answer : { ...answer, result: { reply } };
}

/** A query, signal or heartbeat: it has no more to do when nobody waits for it. */
async function runQuery(call: UnaryCall, parts: DispatchParts): Promise<UnaryAnswer> {
  const { signal } = call.carried;
  return settled(handle(call, parts, { signal }), signal, undefined);
}

/**
 * A plain client's command without an ID: like a call with one its work outlives the wait, but nothing keeps a
 * repeat from running again. So a fault is no reason for a new try: whether it took effect, nobody knows.
 */
async function runWithoutId(
  call: UnaryCall,
  definition: CommandDefinition,
  parts: DispatchParts,
): Promise<UnaryAnswer> {
  const limit = new AbortController();
  const stop = (): void => limit.abort(new ConnectError("the server is closing", Code.Unavailable));
  const late = (): void =>
    limit.abort(new ConnectError("the handler took longer than it may", Code.DeadlineExceeded));
  const timer = parts.clock.timer(definition.handlerMostMs ?? handlerMostMs, late, { background: true });
  parts.shutdown.addEventListener("abort", stop);
  const unkept = { ...unkeptRun(definition, parts), signal: limit.signal };
  const work = handle(call, parts, unkept).finally(() => {
    timer.cancel();
    parts.shutdown.removeEventListener("abort", stop);
  });
  return settled(work, call.carried.signal, "unknown");
}

/** The answer to work that nobody keeps, or, once the client waits no longer, that fact. */
async function settled(
  work: Promise<Message>,
  waiting: AbortSignal,
  faultMark: "unknown" | undefined,
): Promise<UnaryAnswer> {
  const command = faultMark !== undefined;
  try {
    const reply = await untilAborted(work, waiting);
    return { mark: command ? "ran" : undefined, repeat: false, result: { reply } };
  } catch (thrown) {
    // The handler's own end is a ConnectError already; else it is the signal's reason, in its own words.
    const error =
      thrown instanceof ConnectError ? thrown : new ConnectError("the client is gone", Code.Canceled);
    const refused = command && isHandlerRefusal(error);
    return { mark: refused ? "refused" : faultMark, repeat: false, result: { error } };
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

/** Waits for the turn, runs the handler and makes its reply a message; rejects with a ConnectError. */
async function handle(call: UnaryCall, parts: DispatchParts, run: AnyRun): Promise<Message> {
  const { definition, request, carried, guest } = call;
  const toMessage = (reply: unknown): Message => create(definition.method.output, reply as Message);
  try {
    await guest.turn.start();
    await run.begin?.();
    const context = createContext(contextParts(guest, parts), carried, run);
    parts.signsOfLife.beat(call);
    const handler = parts.handler(definition);
    if (run.transaction === undefined) return toMessage(await handler(request, context));
    const transaction = createTransaction(run.transaction, toMessage, () => new Publishing(parts.topics));
    const { mayHaveRun = false } = run;
    const reply = await handler(
      request,
      Object.assign(context, { mayHaveRun, transaction: transaction.use }),
      guest.call === undefined ? undefined : { space: guest.key.space, id: guest.call.id },
    );
    return transaction.messageOf(reply) ?? toMessage(reply);
  } catch (error) {
    throw errorOfThrow(error, definition, parts.log);
  } finally {
    guest.turn.leave();
  }
}

/** The parts of a context that come from the guest. */
export function contextParts(
  guest: Guest,
  parts: Pick<DispatchParts, "clock" | "log">,
): Parameters<typeof createContext>[0] {
  const { caller, session, deadline } = guest;
  return { caller, session, deadline, callId: guest.call?.id, log: parts.log, clock: parts.clock };
}
