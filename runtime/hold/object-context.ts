/**
 * What the handler of a served object's method is given beside the request. What most handlers never look at is made
 * when somebody does.
 *
 * Source: design "Server: What a user writes".
 */
import type { Clock } from "../base/clock.ts";
import type { Caller, CommandContext, HandlerContext } from "../base/handlers.ts";
import type { Log } from "../base/log.ts";
import type { ObjectCall } from "./holding.ts";

/** What a run of a command has beside the request. */
export type RunningCommand = Pick<CommandContext, "signal" | "mayHaveRun" | "transaction">;

/** Where a handler runs, and for whom. */
export type ContextPlace = Pick<HandlerContext, "caller" | "session" | "log" | "clock">;

/** What a handler has set. */
export interface SetHeaders {
  header: Headers | undefined;
  trailer: Headers | undefined;
}

export class ObjectContext implements HandlerContext {
  readonly caller: Caller;
  readonly session: string | undefined;
  readonly deadline: number | undefined;
  readonly log: Log;
  readonly clock: Clock;
  readonly #call: ObjectCall;
  readonly #set: SetHeaders;
  readonly #run: Pick<HandlerContext, "signal">;
  #requestHeader: Headers | undefined;

  constructor(call: ObjectCall, place: ContextPlace, set: SetHeaders, run: Pick<HandlerContext, "signal">) {
    this.caller = place.caller;
    this.session = place.session;
    this.deadline = Number.isFinite(call.deadline.at) ? call.deadline.at : undefined;
    this.log = place.log;
    this.clock = place.clock;
    this.#call = call;
    this.#set = set;
    this.#run = run;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= new Headers(this.#call.options.headers);
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#set.header ??= new Headers();
    return this.#set.header;
  }

  get responseTrailer(): Headers {
    this.#set.trailer ??= new Headers();
    return this.#set.trailer;
  }
}

/** The same of a command. */
export class ObjectCommandContext extends ObjectContext implements CommandContext {
  readonly callId: string | undefined;
  readonly mayHaveRun: boolean;
  readonly #run: RunningCommand;

  constructor(call: ObjectCall, place: ContextPlace, set: SetHeaders, run: RunningCommand) {
    super(call, place, set, run);
    this.callId = call.callId;
    this.mayHaveRun = run.mayHaveRun;
    this.#run = run;
  }

  /** A function that needs no `this`: handlers take contexts apart. */
  get transaction(): CommandContext["transaction"] {
    return this.#run.transaction;
  }
}
