/**
 * What the end of a run becomes in the store, and what the tries of its call are told: after a transaction all
 * of it is kept already, after a plain handler it is kept now, and after a failure nothing is, unless the
 * handler may have had effects elsewhere.
 *
 * Source: design "Exactly once with the user's own data"; reliability decisions D5, D12, D15.
 */
import type { CommandDefinition } from "../../runtime/base/definition.ts";
import { type Log, shortId } from "../../runtime/base/log.ts";
import type { Soon } from "../../runtime/base/soon.ts";
import type { Claim, Committed, Entry, Store } from "../store/store.ts";
import type { Attempt } from "./answer.ts";
import { type Compared, compareRequests } from "./fingerprint.ts";
import { answerOf, type Ending, type SettledEnding } from "./outcome.ts";
import { fault, refusal, unavailable } from "./own-answers.ts";
import type { RunEffects } from "./run-effects.ts";
import type { MakeAnswer } from "./run.ts";

export interface KeepingParts {
  readonly store: Store;
  readonly log: Log;
  /** Whether the store can no longer be trusted. */
  readonly isBroken: () => boolean;
  /** Told of each write that failed. */
  readonly writeFailed: (error: unknown) => void;
}

/** A run of a once-command that has ended. */
export interface EndedRun {
  readonly attempt: Attempt;
  readonly request: Compared;
  readonly effects: RunEffects;
  claim(): Claim;
}

export class Keeping {
  readonly #parts: KeepingParts;
  /** Methods that were seen to use a transaction, or were warned of. */
  readonly #known = new Set<string>();

  constructor(parts: KeepingParts) {
    this.#parts = parts;
  }

  /** Makes an outcome durable, or keeps nothing, so that the ID is free for the next try. */
  keep(run: EndedRun, ending: Ending): Soon<MakeAnswer> {
    const { definition } = run.attempt;
    const { standing } = run.effects;
    switch (standing.kind) {
      case "failed":
        return unavailable;
      case "taken":
        return taken(run, standing.entry);
      case "committed":
        this.#known.add(run.request.method);
        return told(definition, standing.ending);
      case "free":
      case "started":
        if (ending.kind === "fault") return this.#keepNothing(run, ending);
        return this.#keepNow(run, ending);
    }
  }

  #keepNow(run: EndedRun, ending: SettledEnding): Soon<MakeAnswer> {
    const { store, isBroken, writeFailed } = this.#parts;
    if (isBroken()) return unavailable;
    this.#warnOnce(run, ending);
    const { atOnce } = store;
    const committed = (its: Committed): MakeAnswer =>
      its.kind === "kept" ? told(run.attempt.definition, ending) : taken(run, its.entry);
    const failed = (error: unknown): MakeAnswer => {
      writeFailed(error);
      return unavailable;
    };
    if (atOnce === undefined) return store.commit(run.claim(), () => ending.outcome).then(committed, failed);
    let its: Committed;
    try {
      its = atOnce.keep(run.claim(), ending.outcome);
    } catch (error) {
      return failed(error);
    }
    return committed(its);
  }

  /**
   * The handler failed. If it may have had effects elsewhere, the claim stays and says so, unless the handler
   * may run again anyway, or has asked for a new try itself.
   */
  async #keepNothing(
    { attempt, request, effects }: EndedRun,
    ending: Extract<Ending, { kind: "fault" }>,
  ): Promise<MakeAnswer> {
    if (effects.standing.kind === "started" && attempt.rerun !== true) {
      if (!ending.retries) {
        this.#parts.log.error("a command with effects elsewhere failed; nobody knows whether it had them", {
          method: request.method,
          call: shortId(attempt.call.id),
          error: ending.cause ?? ending.error,
        });
        return () => refusal("OUTCOME_UNKNOWN");
      }
      try {
        await effects.release();
      } catch {
        return unavailable; // the store was reported broken, or the next try finds the claim
      }
    }
    return () => fault(ending.error);
  }

  /** Says once of each method that its effect and its key are two writes, if they are. */
  #warnOnce({ attempt, request }: EndedRun, ending: SettledEnding): void {
    const { store, log } = this.#parts;
    if (!store.facts.durable || ending.outcome.kind === "refused") return;
    if (attempt.definition.effects === "external" || this.#known.has(request.method)) return;
    this.#known.add(request.method);
    const text =
      "a command ran without ctx.transaction: after a crash between its effect and the commit of its reply, a " +
      "repeat runs it again. Write through ctx.transaction, or annotate it with effects: EXTERNAL";
    log.warn(text, { method: request.method });
  }
}

/** Another server was first, and its outcome is this one's. */
function taken({ attempt, request }: EndedRun, entry: Entry): MakeAnswer {
  return () =>
    compareRequests(request, entry) === "other"
      ? refusal("CALL_ID_REUSED")
      : answerOf(attempt.definition, entry.outcome, true);
}

/** The answers of a run whose outcome is kept: a first one and repeats of it, made from the same bytes. */
export function told(definition: CommandDefinition, ending: SettledEnding): MakeAnswer {
  return (first) => {
    const { reply } = ending;
    if (first && reply !== undefined) return { mark: "ran", repeat: false, result: { reply } };
    return answerOf(definition, ending.told, !first, first ? ending.metadata : undefined);
  };
}
