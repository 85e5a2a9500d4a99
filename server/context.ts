/**
 * What a handler is given beside the request.
 *
 * Source: design "Server: What a user writes".
 */
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { Clock } from "../runtime/base/clock.ts";
import type { Caller, CommandContext, HandlerContext } from "../runtime/base/handlers.ts";
import type { Stop } from "../runtime/base/late-signal.ts";
import type { Log } from "../runtime/base/log.ts";
import type { Guest } from "./entrance.ts";
import type { Running } from "./journal/answer.ts";
import { Publishing } from "./topic/publishing.ts";
import type { Topics } from "./topic/topics.ts";
import { createTransaction, type HandlerTransaction } from "./transaction.ts";

/** One try as whoever carries it shows it: Connect's handler context is one. */
export interface Carried {
  /** Aborts when the client is gone, its deadline is over, or the server ends. */
  readonly signal: AbortSignal;
  /** Tells the same for less. Absent: only {@link signal} does. */
  readonly stop?: Stop;
  readonly requestHeader: Headers;
  readonly responseHeader: Headers;
  readonly responseTrailer: Headers;
}

/** Whose call it is. */
export type ContextGuest = Pick<Guest, "caller" | "session" | "deadline">;

export interface ContextParts {
  readonly log: Log;
  readonly clock: Clock;
}

/**
 * The context of a handler; `run` in place of the carrier's signal for what outlives its try. What a carrier or a run
 * makes only when somebody looks at it, most handlers never look at: so those are getters, of the class and not of
 * each object, which would cost a handler more than the rest of its call.
 */
export class CallContext implements HandlerContext {
  readonly caller: Caller;
  readonly session: string | undefined;
  readonly deadline: number | undefined;
  readonly log: Log;
  readonly clock: Clock;
  readonly #carried: Carried;
  readonly #run: Pick<AbortController, "signal">;

  constructor(
    guest: ContextGuest,
    parts: ContextParts,
    carried: Carried,
    run: Pick<AbortController, "signal"> = carried,
  ) {
    this.caller = guest.caller;
    this.session = guest.session;
    this.deadline = guest.deadline;
    this.log = parts.log;
    this.clock = parts.clock;
    this.#carried = carried;
    this.#run = run;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get requestHeader(): Headers {
    return this.#carried.requestHeader;
  }

  get responseHeader(): Headers {
    return this.#carried.responseHeader;
  }

  get responseTrailer(): Headers {
    return this.#carried.responseTrailer;
  }
}

/** The context of a command's handler. */
export class CommandCallContext extends CallContext implements CommandContext {
  readonly callId: string | undefined;
  readonly mayHaveRun: boolean;
  readonly #run: Pick<Running, "transaction">;
  readonly #output: DescMessage;
  readonly #topics: Topics;
  #transaction: HandlerTransaction | undefined;

  constructor(
    guest: ContextGuest & Pick<Guest, "call">,
    parts: ContextParts & { readonly topics: Topics },
    carried: Carried,
    run: Running,
    output: DescMessage,
  ) {
    super(guest, parts, carried, run);
    this.callId = guest.call?.id;
    this.mayHaveRun = run.mayHaveRun;
    this.#run = run;
    this.#output = output;
    this.#topics = parts.topics;
  }

  /** A function that needs no `this`: handlers take contexts apart. */
  get transaction(): CommandContext["transaction"] {
    this.#transaction ??= createTransaction(
      (write) => this.#run.transaction(write),
      (reply) => this.#made(reply),
      () => new Publishing(this.#topics),
    );
    return this.#transaction.use;
  }

  /** The message of what the handler returned: the very one that its transaction kept, if it is that. */
  messageOf(reply: unknown): Message {
    return this.#transaction?.messageOf(reply) ?? this.#made(reply);
  }

  #made(reply: unknown): Message {
    return create(this.#output, reply as Message);
  }
}
