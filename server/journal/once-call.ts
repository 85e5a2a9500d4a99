/**
 * A try of a once-command: what is read from it once, and, where it begins a run, that run's part in the journal. One
 * record for all of it, since a busy server makes one for each call.
 */
import type { Clock } from "../../runtime/base/clock.ts";
import type { CommandDefinition } from "../../runtime/base/definition.ts";
import type { Limits } from "../../runtime/base/limits.ts";
import type { Soon } from "../../runtime/base/soon.ts";
import type { LaneSeat, CallKey, Claim, Committed, Store } from "../store/store.ts";
import type { Attempt, Work } from "./answer.ts";
import { firstSentMsOf, isAged, type TryFacts } from "./entry.ts";
import { type Compared, comparedOf } from "./fingerprint.ts";
import type { Keeping } from "./keeping.ts";
import type { Ending } from "./outcome.ts";
import { type Decide, RunEffects, type RunEffectsParts } from "./run-effects.ts";
import type { MakeAnswer } from "./run.ts";
import type { Starting } from "./runs.ts";
import type { Settled } from "./settled.ts";

export interface OnceParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Pick<Limits, "keptReplyBytesMost" | "keptRefusalBytesMost">;
  readonly settled: Settled;
  readonly keeping: Keeping;
  readonly storeFailed: (error: unknown) => void;
}

export class OnceCall implements TryFacts, CallKey, Starting, RunEffectsParts {
  readonly attempt: Attempt;
  readonly work: Work;
  readonly text: string;
  readonly request: Compared;
  readonly firstSentMs: number | undefined;
  readonly #parts: OnceParts;
  #mayHaveRun = false;
  #effects: RunEffects | undefined;

  /** @throws FieldError for a request that does not fit its schema. */
  constructor(attempt: Attempt, work: Work, text: string, parts: OnceParts) {
    const { lane } = attempt.call;
    this.attempt = attempt;
    this.work = work;
    this.text = text;
    this.request = comparedOf(attempt.definition, attempt.request, attempt.scope);
    this.firstSentMs =
      lane === undefined
        ? undefined
        : firstSentMsOf(lane.firstSent, attempt.arrivedAtMs ?? parts.clock.now());
    this.#parts = parts;
  }

  get key(): string {
    return this.text;
  }

  get space(): string {
    return this.attempt.caller.space;
  }

  get id(): string {
    return this.attempt.call.id;
  }

  get seq(): number | undefined {
    return this.attempt.call.lane?.seq;
  }

  get rerun(): boolean {
    return this.attempt.rerun === true;
  }

  get aged(): boolean {
    const { lane } = this.attempt.call;
    return lane !== undefined && isAged(lane);
  }

  get definition(): CommandDefinition {
    return this.attempt.definition;
  }

  get facts(): Store["facts"] {
    return this.#parts.store.facts;
  }

  get limits(): OnceParts["limits"] {
    return this.#parts.limits;
  }

  get mayHaveRun(): boolean {
    return this.#mayHaveRun;
  }

  get effects(): RunEffects {
    this.#effects ??= new RunEffects(this);
    return this.#effects;
  }

  /** Its lane's name; undefined for a plain client's. */
  get lane(): string | undefined {
    return this.attempt.call.lane?.lane;
  }

  /** Up to where its lane is settled, by the word of the calls that run. */
  get settledUpTo(): number {
    const { lane } = this;
    return lane === undefined ? 0 : this.#parts.settled.watermark(this.space, lane);
  }

  /** It begins a run. While that lasts, what its client says is settled is known here. */
  begin(mayHaveRun: boolean): void {
    this.#mayHaveRun = mayHaveRun;
    const { lane } = this.attempt.call;
    if (lane !== undefined) this.#parts.settled.enter(this.space, lane.lane, lane.settled);
  }

  /** Its run is over. */
  left(): void {
    if (this.lane !== undefined) this.#parts.settled.leave(this.space, this.lane);
  }

  keep(ending: Ending): Soon<MakeAnswer> {
    return this.#parts.keeping.keep(this, ending);
  }

  commit(decide: Decide): Promise<Committed> {
    return this.#parts.store.commit(this.claim(), decide);
  }

  storeFailed(error: unknown): void {
    this.#parts.storeFailed(error);
  }

  claim(): Claim {
    const { attempt, request, text, firstSentMs } = this;
    const { caller, call } = attempt;
    const seat: LaneSeat | undefined = call.lane;
    return {
      space: caller.space,
      id: call.id,
      text,
      quota: caller.quota,
      method: request.method,
      fingerprint: request.fingerprint,
      seat,
      settled: this.settledUpTo,
      firstSentMs,
    };
  }
}
