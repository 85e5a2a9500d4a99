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
import { andThen, type Soon } from "../../runtime/base/soon.ts";
import type { Answer, Attempt, Running, Work } from "./answer.ts";
import { type Compared, methodName } from "./fingerprint.ts";
import { type Ending, endingOfReply, endingOfThrow } from "./outcome.ts";
import type { RunEffects } from "./run-effects.ts";
import { type MakeAnswer, Run } from "./run.ts";

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
export interface Starting {
  readonly attempt: Attempt;
  readonly work: Work;
  readonly request: Compared;
  /** Other tries of the call find it by this. */
  readonly key: string;
  readonly effects: RunEffects;
  readonly mayHaveRun: boolean;
  /** Makes the outcome durable; gives what the tries that wait are told. */
  readonly keep: (ending: Ending) => Soon<MakeAnswer>;
  /** The run is over. */
  readonly left: () => void;
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
    const { attempt, request, key, keep } = starting;
    const { clock, log, handlerMostMs = constants.handlerMostMs } = this.#parts;
    const handlerMs = attempt.definition.handlerMostMs ?? handlerMostMs;
    const run = new Run(request, clock.monotonic(), handlerMs, () => {
      const call = shortId(attempt.call.id);
      log.warn("a handler is over its limit", { method: request.method, call, handlerMs });
    });
    this.#runs.set(key, run);
    const end = (makeAnswer: MakeAnswer): MakeAnswer => this.#end(run, starting, makeAnswer);
    const failed = (error: unknown): MakeAnswer => end(() => this.#parts.failed(attempt, error));
    let ended: Soon<MakeAnswer>;
    try {
      ended = andThen(this.#handle(starting, run), keep);
    } catch (error) {
      return failed(error)(true);
    }
    if (!(ended instanceof Promise)) return end(ended)(true);
    this.#limits.watch(run.dueAt);
    const answer = run.wait(true, attempt.waiting);
    ended.then(end, failed);
    return answer;
  }

  #end(run: Run, { key, attempt, left }: Starting, makeAnswer: MakeAnswer): MakeAnswer {
    this.#runs.delete(key);
    left();
    const make: MakeAnswer = (first) => {
      try {
        return makeAnswer(first);
      } catch (error) {
        return this.#parts.failed(attempt, error);
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
  #handle({ attempt, work, effects, mayHaveRun }: Starting, run: Run): Soon<Ending> {
    const { limits } = this.#parts;
    let reply: Message | undefined;
    const returned = (its: Message): Ending => {
      reply = its;
      return endingOfReply(attempt.definition, its, limits);
    };
    const threw = (error: unknown): Ending => endingOfThrow(error, limits, effects.refusal);
    let ending: Soon<Ending>;
    try {
      const result = work(new RunningHandler(run, effects, mayHaveRun));
      ending = result instanceof Promise ? result.then(returned).catch(threw) : returned(result);
    } catch (error) {
      ending = threw(error);
    }
    return andThen(ending, (its) =>
      andThen(effects.settled(), () => {
        run.handlerEnded();
        this.#log(attempt, its, effects, reply);
        return its;
      }),
    );
  }

  #log({ definition, call }: Attempt, ending: Ending, effects: RunEffects, reply?: Message): void {
    const say = (text: string, fields: object = {}): void =>
      this.#parts.log.error(text, { method: methodName(definition), call: shortId(call.id), ...fields });
    const { standing } = effects;
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

/** What a handler's run gets. */
class RunningHandler implements Running {
  readonly mayHaveRun: boolean;
  readonly #run: Run;
  readonly #effects: RunEffects;

  constructor(run: Run, effects: RunEffects, mayHaveRun: boolean) {
    this.#run = run;
    this.#effects = effects;
    this.mayHaveRun = mayHaveRun;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  // Properties, so that whoever gets them may take them apart.
  readonly begin = (): Soon<void> => this.#effects.begin();
  readonly transaction: Running["transaction"] = (write) => this.#effects.transaction(write);
}
