/**
 * The runs of a journal: each handler with its limit, and the tries that wait for what comes of it. A handler that
 * ends by return, over a store that keeps by return, is answered by return.
 *
 * Source: design "The journal"; reliability decisions D4, D10.
 */
import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../runtime/base/clock.ts";
import * as constants from "../../runtime/base/constants.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import { type Log, shortId } from "../../runtime/base/log.ts";
import { SharedTimer } from "../../runtime/base/shared-timer.ts";
import type { Soon } from "../../runtime/base/soon.ts";
import type { Answer, Attempt, Work } from "./answer.ts";
import { methodName } from "./fingerprint.ts";
import { type Ending, endingOfReply, endingOfThrow } from "./outcome.ts";
import type { RunEffects } from "./run-effects.ts";
import { type MakeAnswer, Run, type RunOf } from "./run.ts";

export interface RunsParts {
  readonly clock: Clock;
  readonly limits: Pick<Limits, "keptReplyBytesMost" | "keptRefusalBytesMost">;
  readonly log: Log;
  /** Ms after which the signal of a handler fires whose method names no limit. Absent: 60 s. */
  readonly handlerMostMs?: number | undefined;
  /** What should never fail did. */
  readonly failed: (attempt: Attempt, error: unknown) => Answer;
}

/** A run to be started. */
export interface Starting extends RunOf {
  readonly attempt: Attempt;
  readonly work: Work;
  /** Other tries of the call find it by this. */
  readonly key: string;
  readonly effects: RunEffects;
  /** Makes the outcome durable; gives what the tries that wait are told. */
  keep(ending: Ending): Soon<MakeAnswer>;
  /** The run is over. */
  left(): void;
}

export class Runs {
  readonly #parts: RunsParts;
  /** By key: the handler runs, or its outcome is being kept. Never dropped before that is over. */
  readonly #runs = new Map<string, Run>();
  /** When handlers are over their limits. */
  readonly #limits: SharedTimer<Run>;
  #idle: (() => void)[] = [];

  constructor(parts: RunsParts) {
    this.#parts = parts;
    const late = (run: Run): void => run.late();
    this.#limits = new SharedTimer(parts.clock, () => this.#runs.values(), late, { background: true });
  }

  get count(): number {
    return this.#runs.size;
  }

  of(key: string): Run | undefined {
    return this.#runs.get(key);
  }

  abort(reason: () => ConnectError): void {
    for (const run of this.#runs.values()) run.abort(reason());
  }

  async idle(): Promise<void> {
    if (this.#runs.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Starts a run, and gives the answer of the try that began it. */
  start(starting: Starting): Soon<Answer> {
    const { attempt, key } = starting;
    const { clock, handlerMostMs = constants.handlerMostMs } = this.#parts;
    const handlerMs = attempt.definition.handlerMostMs ?? handlerMostMs;
    const run = new Run(starting, clock.monotonic(), handlerMs, () => this.#late(starting, handlerMs));
    this.#runs.set(key, run);
    const failed = (error: unknown): MakeAnswer =>
      this.#end(run, starting, () => this.#parts.failed(attempt, error));
    let ended: Soon<MakeAnswer>;
    try {
      const ending = this.#handle(starting, run);
      ended = ending instanceof Promise ? ending.then((its) => starting.keep(its)) : starting.keep(ending);
    } catch (error) {
      return failed(error)(true);
    }
    if (!(ended instanceof Promise)) return this.#end(run, starting, ended)(true);
    this.#limits.watch(run.dueAt);
    const answer = run.wait(true, attempt.waiting);
    ended.then((makeAnswer) => this.#end(run, starting, makeAnswer), failed);
    return answer;
  }

  #late({ attempt, request }: Starting, handlerMs: number): void {
    const call = shortId(attempt.call.id);
    this.#parts.log.warn("a handler is over its limit", { method: request.method, call, handlerMs });
  }

  #end(run: Run, starting: Starting, makeAnswer: MakeAnswer): MakeAnswer {
    this.#runs.delete(starting.key);
    starting.left();
    const make: MakeAnswer = (first) => {
      try {
        return makeAnswer(first);
      } catch (error) {
        return this.#parts.failed(starting.attempt, error);
      }
    };
    run.end(make);
    if (this.#runs.size === 0) {
      this.#limits.rest();
      if (this.#idle.length > 0) for (const resolve of this.#idle.splice(0)) resolve();
    }
    return make;
  }

  /** Runs the handler, and gives how that ended once its transaction is over too. */
  #handle(starting: Starting, run: Run): Soon<Ending> {
    let result: Soon<Message>;
    try {
      result = starting.work(run);
    } catch (error) {
      return this.#threw(starting, run, error);
    }
    if (!(result instanceof Promise)) return this.#returned(starting, run, result);
    return result.then(
      (reply) => this.#returned(starting, run, reply),
      (error: unknown) => this.#threw(starting, run, error),
    );
  }

  #returned(starting: Starting, run: Run, reply: Message): Soon<Ending> {
    return this.#over(
      starting,
      run,
      endingOfReply(starting.attempt.definition, reply, this.#parts.limits),
      reply,
    );
  }

  #threw(starting: Starting, run: Run, error: unknown): Soon<Ending> {
    return this.#over(starting, run, endingOfThrow(error, this.#parts.limits, starting.effects.refusal));
  }

  /** The handler has ended; a transaction that it has not waited for may be under way. */
  #over(starting: Starting, run: Run, ending: Ending, reply?: Message): Soon<Ending> {
    const underWay = starting.effects.settled();
    const over = (): Ending => {
      run.handlerEnded();
      this.#log(starting.attempt, ending, starting.effects, reply);
      return ending;
    };
    return underWay === undefined ? over() : underWay.then(over);
  }

  #log({ definition, call }: Attempt, ending: Ending, effects: RunEffects, reply?: Message): void {
    const { standing } = effects;
    if (standing.kind !== "committed" && ending.kind === "settled" && ending.notKept === undefined) return;
    const say = (text: string, fields: object = {}): void =>
      this.#parts.log.error(text, { method: methodName(definition), call: shortId(call.id), ...fields });
    if (standing.kind === "committed" && standing.reply !== reply) {
      say("a handler did not return what its transaction resolved with; that is what was kept");
    }
    if (ending.kind === "fault" && ending.cause !== undefined) {
      say("a handler failed", { error: ending.cause });
    } else if (ending.kind === "settled" && ending.notKept !== undefined) {
      say("a command ran, and its reply could not be kept", { error: ending.notKept });
    }
  }
}
