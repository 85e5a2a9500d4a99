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
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../runtime/base/clock.ts";
import { type CommandDefinition, isOnce } from "../../runtime/base/definition.ts";
import { serverError } from "../../runtime/base/server-reasons.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import { type Log, shortId } from "../../runtime/base/log.ts";
import type { Soon } from "../../runtime/base/soon.ts";
import { type Found, keyText, type Store, type StoreAtOnce, StoreError } from "../store/store.ts";
import type { Answer, Attempt, Journal, Work } from "./answer.ts";
import { meet, type Verdict } from "./entry.ts";
import { methodName } from "./fingerprint.ts";
import { Keeping, told } from "./keeping.ts";
import { answerOf, type Ending } from "./outcome.ts";
import { OnceCall, type OnceParts } from "./once-call.ts";
import { ageUnknown, fault, inProgress, journalFull, refusal, runsOn, unavailable } from "./own-answers.ts";
import { RunEffects } from "./run-effects.ts";
import type { MakeAnswer, Run } from "./run.ts";
import { Runs } from "./runs.ts";
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

class StoredJournal implements Journal {
  readonly #options: JournalOptions;
  readonly #runs: Runs;
  /** By key: a try asks the store. Resolves when that try has acted on the answer. */
  readonly #looks = new Map<string, Promise<void>>();
  readonly #settled = new Settled();
  readonly #tombstones = new Tombstones();
  readonly #onceParts: OnceParts;
  #broken = false;

  constructor(options: JournalOptions) {
    this.#options = options;
    const { store, clock, limits, log, handlerMostMs } = options;
    const failed = (attempt: Attempt, error: unknown): Answer => this.#failed(attempt, error);
    this.#runs = new Runs({ clock, limits, log, handlerMostMs, failed });
    const storeFailed = (error: unknown): void => this.#writeFailed(error);
    const keeping = new Keeping({ store, log, isBroken: () => this.#broken, writeFailed: storeFailed });
    this.#onceParts = { store, clock, limits, settled: this.#settled, keeping, storeFailed };
  }

  run(attempt: Attempt, work: Work): Soon<Answer> {
    let answer: Soon<Answer>;
    try {
      answer = this.#answer(attempt, work);
    } catch (error) {
      return this.#failed(attempt, error);
    }
    return answer instanceof Promise ? this.#awaited(attempt, answer) : answer;
  }

  #awaited(attempt: Attempt, answer: Promise<Answer>): Promise<Answer> {
    const { waiting, definition } = attempt;
    return new Promise((resolve) => {
      // What is sent at most once must not be asked for again while it runs.
      const stopWaiting = (): void => resolve(isOnce(definition) ? inProgress() : runsOn());
      waiting.addEventListener("abort", stopWaiting);
      const end = (its: Answer): void => {
        waiting.removeEventListener("abort", stopWaiting);
        resolve(its);
      };
      answer.then(end, (error: unknown) => end(this.#failed(attempt, error)));
    });
  }

  get runningCount(): number {
    return this.#runs.count;
  }

  abortRunning(): void {
    this.#runs.abort(() => serverError("DRAINING"));
  }

  idle(): Promise<void> {
    return this.#runs.idle();
  }

  #answer(attempt: Attempt, work: Work): Soon<Answer> {
    const { caller, call, expectedTag, definition } = attempt;
    if (expectedTag !== undefined && callerChanged(expectedTag, caller.tag)) return refusal("CALLER_CHANGED");
    const key = keyText({ space: caller.space, id: call.id });
    if (!isOnce(definition)) return this.#runAtMostOnce(attempt, work, key);
    return this.#arrive(new OnceCall(attempt, work, key, this.#onceParts));
  }

  #arrive(arrival: OnceCall): Soon<Answer> {
    const run = this.#runs.of(arrival.key);
    if (run !== undefined) {
      return this.#obey(meet(arrival, { kind: "running", request: run.request }), arrival, run);
    }
    const look = this.#looks.get(arrival.key);
    // And then sees anew what the other try has made of the key.
    if (look !== undefined) return look.then(() => this.#arrive(arrival));
    const { atOnce } = this.#options.store;
    return atOnce === undefined ? this.#look(arrival) : this.#lookAtOnce(arrival, atOnce);
  }

  #lookAtOnce(arrival: OnceCall, store: StoreAtOnce): Soon<Answer> {
    let found: Found;
    try {
      found = store.find(arrival, arrival.lane, arrival.attempt.caller.quota);
    } catch (error) {
      return this.#notFound(error);
    }
    return this.#met(arrival, found);
  }

  /** Asks the store what a try meets. Until the answer is acted on, other tries of the key wait. */
  async #look(arrival: OnceCall): Promise<Answer> {
    const { store } = this.#options;
    let acted = (): void => undefined;
    this.#looks.set(arrival.key, new Promise((resolve) => (acted = resolve)));
    let answer: Soon<Answer>;
    try {
      let found: Found;
      try {
        found = await store.find(arrival, arrival.lane, arrival.attempt.caller.quota);
      } catch (error) {
        return this.#notFound(error);
      }
      answer = this.#met(arrival, found);
    } finally {
      this.#looks.delete(arrival.key);
      acted();
    }
    return answer;
  }

  #notFound(error: unknown): Answer {
    this.#storeFailed(error, error instanceof StoreError && error.broken);
    return unavailable();
  }

  #met(arrival: OnceCall, found: Found): Soon<Answer> {
    if (this.#broken) return unavailable();
    const { store, clock } = this.#options;
    const { waiting } = arrival.attempt;
    const told = arrival.settledUpTo;
    const verdict = meet(
      arrival,
      found.kept !== undefined
        ? { kind: "kept", entry: found.kept }
        : {
            kind: "absent",
            forgottenBeforeMs: found.forgottenBeforeMs,
            watermark: Math.max(found.watermark, told),
            fullForMs: found.fullForMs,
            nowMs: clock.now(),
            keepMs: store.facts.keepMs,
          },
    );
    // Nobody waits for it any more, and nothing has begun: the next try, if any, runs it.
    if ((verdict.kind === "run" || verdict.kind === "rerun") && waiting.aborted) return inProgress();
    return this.#obey(verdict, arrival, undefined);
  }

  /** @param joined - the run that the try met, if it met one. */
  #obey(verdict: Verdict, arrival: OnceCall, joined: Run | undefined): Soon<Answer> {
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
      case "ask":
        return ageUnknown();
      case "refuse":
        if (verdict.reason === "JOURNAL_FULL") return journalFull(verdict.retryMs);
        return refusal(verdict.reason, "what" in verdict ? verdict.what : undefined);
    }
  }

  #begin(arrival: OnceCall, mayHaveRun: boolean): Soon<Answer> {
    arrival.begin(mayHaveRun);
    return this.#runs.start(arrival);
  }

  /** While the call runs, what its client says is settled is known here. Gives what ends that. */
  #hearSettled({ caller: { space }, call: { lane } }: Attempt): () => void {
    if (lane === undefined) return () => undefined;
    this.#settled.enter(space, lane.lane, lane.settled);
    return () => this.#settled.leave(space, lane.lane);
  }

  /** Up to where the lane of a call is settled, by the word of the calls that run. */
  #settledUpTo({ caller, call: { lane } }: Attempt): number {
    return lane === undefined ? 0 : this.#settled.watermark(caller.space, lane.lane);
  }

  unkept(definition: CommandDefinition): RunEffects {
    const { store, limits } = this.#options;
    return new RunEffects({
      definition: { ...definition, effects: "transaction" }, // there is no key to claim
      facts: store.facts,
      limits,
      mayHaveRun: false,
      commit: async (decide) => {
        await store.write(decide);
        return { kind: "kept" };
      },
      storeFailed: (error) => this.#writeFailed(error),
    });
  }

  /**
   * A command that its client sends once: a copy is refused, and nothing outlives the process. A late copy of one that its
   * client has settled does not begin, so the store is asked how far its lane is.
   */
  #runAtMostOnce(attempt: Attempt, work: Work, key: string): Soon<Answer> {
    const { store } = this.#options;
    const { caller, call } = attempt;
    if (this.#broken) return unavailable();
    if (call.lane === undefined) return this.#beginAtMostOnce(attempt, work, key, 0);
    const callKey = { space: caller.space, id: call.id };
    const { lane } = call.lane;
    const begin = ({ watermark }: Found): Soon<Answer> =>
      this.#beginAtMostOnce(attempt, work, key, watermark);
    const failed = (error: unknown): Answer => this.#notFound(error);
    if (store.atOnce === undefined) return store.find(callKey, lane).then(begin, failed);
    let found: Found;
    try {
      found = store.atOnce.find(callKey, lane);
    } catch (error) {
      return failed(error);
    }
    return begin(found);
  }

  #beginAtMostOnce(attempt: Attempt, work: Work, key: string, watermark: number): Soon<Answer> {
    const { definition, call } = attempt;
    if (this.#broken) return unavailable();
    const settledUpTo = Math.max(watermark, this.#settledUpTo(attempt));
    if (call.lane !== undefined && call.lane.seq <= settledUpTo) return refusal("CALL_STALE");
    if (!this.#tombstones.add(key, this.#options.clock.monotonic())) {
      return refusal("CALL_STALE", "a copy of this command came before, and it is sent at most once");
    }
    const request = { method: methodName(definition), fingerprint: noPrint };
    const effects = this.unkept(definition);
    const keep = (ending: Ending): MakeAnswer => {
      const { standing } = effects;
      if (standing.kind === "committed") return told(definition, standing.ending);
      return ending.kind === "fault"
        ? () => ({ mark: "unknown", repeat: false, result: { error: ending.error } })
        : () => answerOf(definition, ending.told, false, ending.metadata);
    };
    const left = this.#hearSettled(attempt);
    const name = `at most once ${key}`;
    return this.#runs.start({ attempt, work, request, key: name, effects, mayHaveRun: false, keep, left });
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
