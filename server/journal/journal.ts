/**
 * Runs each command once, and answers its repeats with what it kept.
 *
 * Two tries of one call never run beside each other: a key is looked up by one try at a time, and from the
 * look on to the durable outcome it is either being looked up or running, both of which are known in memory.
 * A try that comes between the handler's end and the store's write still finds it running. With a store that
 * several servers share, the last word is the store's commit.
 *
 * How many handlers run is not bounded here but by admission, which takes a place inside `work`: so the place
 * is held until the handler ends, not until a try stops waiting, and a repeat needs none.
 *
 * Source: design "The journal"; reliability decisions D2-D15.
 */
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../runtime/base/clock.ts";
import * as constants from "../../runtime/base/constants.ts";
import { type CommandDefinition, isOnce } from "../../runtime/base/definition.ts";
import { serverError } from "../../runtime/base/server-reasons.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import { type Log, shortId } from "../../runtime/base/log.ts";
import { type Claim, type Found, type Store, StoreError } from "../store/store.ts";
import type { Answer, Attempt, Journal, Running, Work } from "./answer.ts";
import { firstSentMsOf, meet, type TryFacts, type Verdict } from "./entry.ts";
import { fingerprint, methodName } from "./fingerprint.ts";
import { Keeping, told } from "./keeping.ts";
import { answerOf, type Ending, endingOfReply, endingOfThrow } from "./outcome.ts";
import { fault, inProgress, journalFull, refusal, unavailable } from "./own-answers.ts";
import { RunEffects, type RunEffectsParts } from "./run-effects.ts";
import { type MakeAnswer, Run } from "./run.ts";
import { Settled } from "./settled.ts";
import { callerChanged } from "./tag.ts";
import { Tombstones } from "./tombstones.ts";

export interface JournalOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Pick<Limits, "keptReplyBytesMost" | "keptRefusalBytesMost">;
  readonly log: Log;
  /** Ms after which the signal of a handler fires whose method names no limit. Above 0. Default 60 s. */
  readonly handlerMostMs?: number;
  /**
   * The store can no longer be trusted: the process should end. Called once; nothing runs afterwards, and
   * every answer is a fault.
   */
  readonly onBroken: (error: unknown) => void;
}

/** Makes a journal over a store that is open. The store stays the caller's to close, after {@link Journal.idle}. */
export function createJournal(options: JournalOptions): Journal {
  return new StoredJournal(options);
}

/** A once-command's try, with what is read from it once. */
interface Arrival extends TryFacts {
  readonly attempt: Attempt;
  readonly work: Work;
  readonly key: string;
}

class StoredJournal implements Journal {
  readonly #options: JournalOptions;
  /** By key: the handler runs, or its outcome is being kept. Never dropped before that is over. */
  readonly #runs = new Map<string, Run>();
  /** By key: a try asks the store. Resolves when that try has acted on the answer. */
  readonly #looks = new Map<string, Promise<void>>();
  readonly #settled = new Settled();
  readonly #tombstones = new Tombstones();
  #idle: (() => void)[] = [];
  #broken = false;
  readonly #keeping: Keeping;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#keeping = new Keeping({
      store: options.store,
      log: options.log,
      isBroken: () => this.#broken,
      writeFailed: (error) => this.#writeFailed(error),
    });
  }

  async run(attempt: Attempt, work: Work): Promise<Answer> {
    const { waiting } = attempt;
    return new Promise((resolve) => {
      const stopWaiting = (): void => resolve(inProgress());
      waiting.addEventListener("abort", stopWaiting, { once: true });
      const end = (answer: Answer): void => {
        waiting.removeEventListener("abort", stopWaiting);
        resolve(answer);
      };
      this.#answer(attempt, work).then(end, (error: unknown) => end(this.#failed(attempt, error)));
    });
  }

  get runningCount(): number {
    return this.#runs.size;
  }

  abortRunning(): void {
    for (const run of this.#runs.values()) run.abort(serverError("DRAINING"));
  }

  async idle(): Promise<void> {
    if (this.#runs.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #answer(attempt: Attempt, work: Work): Promise<Answer> {
    const { caller, call, expectedTag, definition } = attempt;
    if (expectedTag !== undefined && callerChanged(expectedTag, caller.tag)) return refusal("CALLER_CHANGED");
    // An ID has no space in it, so two keys never make the same text.
    const key = `${call.id} ${caller.space}`;
    if (!isOnce(definition)) return this.#runAtMostOnce(attempt, work, key);
    const arrivedAtMs = attempt.arrivedAtMs ?? this.#options.clock.now();
    const arrival: Arrival = {
      attempt,
      work,
      key,
      request: {
        method: methodName(definition),
        fingerprint: fingerprint(definition, attempt.request, attempt.scope),
      },
      seq: call.lane?.seq,
      rerun: attempt.rerun === true,
      firstSentMs: call.lane === undefined ? undefined : firstSentMsOf(call.lane.firstSent, arrivedAtMs),
    };
    for (;;) {
      const run = this.#runs.get(key);
      if (run !== undefined) {
        return this.#obey(meet(arrival, { kind: "running", request: run.request }), arrival, run);
      }
      const look = this.#looks.get(key);
      if (look === undefined) return this.#look(arrival);
      await look; // and then see anew what the other try has made of the key
    }
  }

  /** Asks the store what a try meets. Until the answer is acted on, other tries of the key wait. */
  async #look(arrival: Arrival): Promise<Answer> {
    const { store, clock } = this.#options;
    const { caller, call, waiting } = arrival.attempt;
    let acted = (): void => undefined;
    this.#looks.set(arrival.key, new Promise((resolve) => (acted = resolve)));
    let answer: Promise<Answer> | Answer;
    try {
      const lane = call.lane?.lane;
      let found: Found;
      try {
        found = await store.find({ space: caller.space, id: call.id }, lane, caller.quota);
      } catch (error) {
        this.#storeFailed(error, error instanceof StoreError && error.broken);
        return unavailable();
      }
      if (this.#broken) return unavailable();
      const told = lane === undefined ? 0 : this.#settled.watermark(caller.space, lane);
      const verdict = meet(
        arrival,
        found.kept !== undefined
          ? { kind: "kept", entry: found.kept }
          : {
              kind: "absent",
              ...found,
              watermark: Math.max(found.watermark, told),
              nowMs: clock.now(),
              keepMs: store.facts.keepMs,
            },
      );
      // Nobody waits for it any more, and nothing has begun: the next try, if any, runs it.
      if ((verdict.kind === "run" || verdict.kind === "rerun") && waiting.aborted) return inProgress();
      answer = this.#obey(verdict, arrival, undefined);
    } finally {
      this.#looks.delete(arrival.key);
      acted();
    }
    return answer;
  }

  /** @param joined - the run that the try met, if it met one. */
  #obey(verdict: Verdict, arrival: Arrival, joined: Run | undefined): Promise<Answer> | Answer {
    const { definition, waiting, call } = arrival.attempt;
    if ("skipped" in verdict && verdict.skipped) {
      this.#options.log.info("a request was not compared with its first try: their schemas differ", {
        method: arrival.request.method,
        call: shortId(call.id),
      });
    }
    switch (verdict.kind) {
      case "run":
        return this.#begin(arrival, false);
      case "rerun":
        return this.#begin(arrival, true);
      case "join":
        arrival.attempt.joined?.();
        return joined?.wait(false, waiting) ?? inProgress();
      case "repeat":
        return answerOf(definition, verdict.entry.outcome, true);
      case "refuse":
        if (verdict.reason === "JOURNAL_FULL") return journalFull(verdict.retryMs);
        return refusal(verdict.reason, "what" in verdict ? verdict.what : undefined);
    }
  }

  #begin(arrival: Arrival, mayHaveRun: boolean): Promise<Answer> {
    const { attempt, key } = arrival;
    const lane = attempt.call.lane;
    const { space } = attempt.caller;
    if (lane !== undefined) this.#settled.enter(space, lane.lane, lane.settled);
    const effects = this.#effects(attempt.definition, mayHaveRun, (decide) =>
      this.#options.store.commit(this.#claim(arrival), decide),
    );
    return this.#carryOut(arrival, key, effects, {
      mayHaveRun,
      keep: (ending) =>
        this.#keeping.keep({ ...arrival, claim: () => this.#claim(arrival), ending, effects }),
      left: () => {
        if (lane !== undefined) this.#settled.leave(space, lane.lane);
      },
    });
  }

  /** Starts a run, and gives the wait for it of the try that began it. */
  #carryOut(
    { attempt, work, request }: Pick<Arrival, "attempt" | "work" | "request">,
    key: string,
    effects: RunEffects,
    how: {
      readonly mayHaveRun: boolean;
      readonly keep: (ending: Ending) => Promise<MakeAnswer>;
      readonly left: () => void;
    },
  ): Promise<Answer> {
    const { clock, log } = this.#options;
    const { definition, call } = attempt;
    const handlerMs = definition.handlerMostMs ?? this.#options.handlerMostMs ?? constants.handlerMostMs;
    const run = new Run(request, clock, handlerMs, () => {
      log.warn("a handler is over its limit", { method: request.method, call: shortId(call.id), handlerMs });
    });
    this.#runs.set(key, run);
    const answer = run.wait(true, attempt.waiting);
    const end = (makeAnswer: MakeAnswer): void => {
      this.#runs.delete(key);
      how.left();
      run.end((first) => {
        try {
          return makeAnswer(first);
        } catch (error) {
          return this.#failed(attempt, error);
        }
      });
      if (this.#runs.size > 0) return;
      for (const resolve of this.#idle.splice(0)) resolve();
    };
    const { mayHaveRun } = how;
    this.#handle(attempt, work, run, effects, mayHaveRun)
      .then(how.keep)
      .then(end, (error: unknown) => end(() => this.#failed(attempt, error)));
    return answer;
  }

  async #handle(
    attempt: Attempt,
    work: Work,
    run: Run,
    effects: RunEffects,
    mayHaveRun: boolean,
  ): Promise<Ending> {
    const { limits, log } = this.#options;
    const { definition } = attempt;
    const fields = { method: run.request.method, call: shortId(attempt.call.id) };
    let reply: Message | undefined;
    let ending: Ending;
    try {
      const running: Running = {
        get signal() {
          return run.signal;
        },
        mayHaveRun,
        begin: () => effects.begin(),
        transaction: (write) => effects.transaction(write),
      };
      reply = await work(running);
      ending = endingOfReply(definition, reply, limits);
    } catch (error) {
      ending = endingOfThrow(error, limits, effects.refusal);
    }
    await effects.settled();
    run.handlerEnded();
    const { standing } = effects;
    if (standing.kind === "committed" && standing.reply !== reply) {
      log.error("a handler did not return what its transaction resolved with; that is what was kept", fields);
    }
    if (ending.kind === "fault" && ending.cause !== undefined) {
      log.error("a handler failed", { ...fields, error: ending.cause });
    } else if (ending.kind === "settled" && ending.notKept !== undefined) {
      log.error("a command ran, and its reply could not be kept", { ...fields, error: ending.notKept });
    }
    return ending;
  }

  #effects(definition: CommandDefinition, started: boolean, commit: RunEffectsParts["commit"]): RunEffects {
    const { store, limits } = this.#options;
    return new RunEffects({
      definition,
      facts: store.facts,
      limits,
      started,
      commit,
      storeFailed: (error) => this.#writeFailed(error),
    });
  }

  unkept(definition: CommandDefinition): RunEffects {
    const writes: CommandDefinition = { ...definition, effects: "transaction" }; // there is no key to claim
    return this.#effects(writes, false, async (decide) => {
      await this.#options.store.write(decide);
      return { kind: "kept" };
    });
  }

  #claim({ attempt, request, firstSentMs }: Arrival): Claim {
    const { caller, call } = attempt;
    const lane = call.lane;
    return {
      space: caller.space,
      id: call.id,
      quota: caller.quota,
      method: request.method,
      fingerprint: request.fingerprint,
      seat: lane === undefined ? undefined : { lane: lane.lane, seq: lane.seq },
      settled: lane === undefined ? 0 : this.#settled.watermark(caller.space, lane.lane),
      firstSentMs,
    };
  }

  /** A command that its client sends once: a copy is refused, and nothing outlives the process. */
  #runAtMostOnce(attempt: Attempt, work: Work, key: string): Promise<Answer> | Answer {
    const { clock } = this.#options;
    const { definition } = attempt;
    if (this.#broken) return unavailable();
    if (!this.#tombstones.add(key, clock.monotonic())) {
      return refusal("CALL_STALE", "a copy of this command came before, and it is sent at most once");
    }
    const request = { method: methodName(definition), fingerprint: noPrint };
    const effects = this.unkept(definition);
    const keep = async (ending: Ending): Promise<MakeAnswer> => {
      const { standing } = effects;
      if (standing.kind === "committed") return told(definition, standing.ending);
      return ending.kind === "fault"
        ? () => ({ mark: "unknown", repeat: false, result: { error: ending.error } })
        : () => answerOf(definition, ending.told, false, ending.metadata);
    };
    const how = { mayHaveRun: false, keep, left: () => undefined };
    return this.#carryOut({ attempt, work, request }, `at most once ${key}`, effects, how);
  }

  /** What should never happen still gets an answer, and a line in the log. */
  #failed(attempt: Attempt, error: unknown): Answer {
    this.#options.log.error("the journal failed", {
      method: methodName(attempt.definition),
      call: shortId(attempt.call.id),
      error,
    });
    return fault(new ConnectError("the journal failed; the server's log says why", Code.Internal));
  }

  /** A write of which nobody can say how it ended is worse than none. */
  #writeFailed(error: unknown): void {
    this.#storeFailed(error, !(error instanceof StoreError) || error.broken);
  }

  #storeFailed(error: unknown, broken: boolean): void {
    this.#options.log.warn("the store could not do what was asked", { error });
    if (!broken || this.#broken) return;
    this.#broken = true;
    this.#options.onBroken(error);
  }
}

/** Nobody's request is compared with that of a command that is sent at most once. */
const noPrint = { version: 0, schema: new Uint8Array(), print: new Uint8Array() };
