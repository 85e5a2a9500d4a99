/**
 * What one run of a handler does to the store while it runs: the claim of a method with effects elsewhere,
 * before the handler starts, and the one transaction in which its writes, its reply and its key are one commit.
 *
 *   free ──begin()──▶ started          (only with effects elsewhere)
 *   free, started ──transaction()──▶ committed | taken | failed, or back after a rollback
 *
 * Source: design "Exactly once with the user's own data"; reliability decisions D11, D12, D15.
 */
import type { Message } from "@bufbuild/protobuf";
import type { CommandDefinition } from "../../runtime/base/definition.ts";
import { reasonFrom } from "../../runtime/base/errors.ts";
import { ConnectError } from "@connectrpc/connect";
import type { Limits } from "../../runtime/base/limits.ts";
import type { Soon } from "../../runtime/base/soon.ts";
import type { Committed, Entry, Outcome, Store } from "../store/store.ts";
import type { Running } from "./answer.ts";
import { endingInTransaction, type SettledEnding } from "./outcome.ts";
import { refusal, unavailable } from "./own-answers.ts";

/** What of a run is in the store. */
export type Standing =
  /** Nothing. */
  | { readonly kind: "free" }
  /** That it began. */
  | { readonly kind: "started" }
  /** Its outcome, with what its transaction wrote. */
  | { readonly kind: "committed"; readonly ending: SettledEnding; readonly reply: Message }
  /** The outcome of another server's run, which was first. */
  | { readonly kind: "taken"; readonly entry: Entry }
  /** Nobody can say: the store did not answer. */
  | { readonly kind: "failed" };

const free: Standing = { kind: "free" };
const started: Standing = { kind: "started" };

export type Decide = (tx: unknown) => Outcome | undefined | Promise<Outcome | undefined>;

export interface RunEffectsParts {
  readonly definition: CommandDefinition;
  readonly facts: Store["facts"];
  readonly limits: Pick<Limits, "keptReplyBytesMost" | "keptRefusalBytesMost">;
  /** Whether an earlier run has left its claim. */
  readonly mayHaveRun: boolean;
  /** Writes under the run's key, or for a run without one, just writes. */
  commit(decide: Decide): Promise<Committed>;
  /** Told of each error of the store. */
  storeFailed(error: unknown): void;
}

export class RunEffects implements Pick<Running, "begin" | "transaction"> {
  readonly #parts: RunEffectsParts;
  #standing: Standing;
  #used = false;
  #underWay: Promise<unknown> | undefined;
  /** The journal's own refusal that rolled the transaction back. */
  #refusal: unknown;

  constructor(parts: RunEffectsParts) {
    this.#parts = parts;
    this.#standing = parts.mayHaveRun ? started : free;
  }

  get standing(): Standing {
    return this.#standing;
  }

  get used(): boolean {
    return this.#used;
  }

  get refusal(): unknown {
    return this.#refusal;
  }

  begin(): Soon<void> {
    if (this.#parts.definition.effects !== "external" || this.#standing.kind !== "free") return undefined;
    return this.#commit(
      () => ({ kind: "started" }),
      () => ({ kind: "started" }),
    );
  }

  transaction(write: (tx: unknown) => Message | Promise<Message>): Promise<Message> {
    if (this.#used) {
      const text =
        "ctx.transaction was used twice in one call. One transaction holds everything that the command writes; " +
        "put both into one callback.";
      return Promise.reject(new TypeError(text));
    }
    this.#used = true;
    const transaction = this.#transact(write);
    const over = (): void => {
      this.#underWay = undefined;
    };
    this.#underWay = transaction.then(over, over);
    return transaction;
  }

  /** A promise while a transaction is under way, also one that the handler has not waited for. */
  settled(): Promise<unknown> | undefined {
    return this.#underWay;
  }

  /** The claim goes: nothing has happened, and the key is free. Rejects when the store did not do it. */
  async release(): Promise<void> {
    if (this.#standing.kind !== "started") return;
    await this.#commit(
      () => undefined,
      () => ({ kind: "free" }),
    );
  }

  async #transact(write: (tx: unknown) => Message | Promise<Message>): Promise<Message> {
    const { definition, limits, facts } = this.#parts;
    let made: Extract<Standing, { kind: "committed" }> | undefined;
    const keep = (reply: Message): Outcome => {
      const ending = endingInTransaction(definition, reply, limits);
      made = { kind: "committed", ending, reply };
      return ending.outcome;
    };
    const decide: Decide = (tx) => {
      const reply = write(tx);
      if (!(reply instanceof Promise)) return keep(reply);
      if (!facts.synchronous) return reply.then(keep);
      reply.catch(() => undefined); // what becomes of it is nobody's any more
      throw new TypeError(promiseText);
    };
    await this.#commit(decide, () => made ?? { kind: "failed" });
    if (made === undefined) throw storeSilent();
    return made.reply;
  }

  /**
   * Commits and remembers what that came to. Rejects with what `decide` threw, or with a fault when the store
   * failed or another server was first; the standing says which.
   */
  async #commit(decide: Decide, then: () => Standing): Promise<void> {
    let thrown: { readonly error: unknown } | undefined;
    const note = (error: unknown): never => {
      thrown = { error };
      throw error;
    };
    let committed: Committed;
    try {
      committed = await this.#parts.commit((tx) => {
        try {
          const outcome = decide(tx);
          return outcome instanceof Promise ? outcome.catch(note) : outcome;
        } catch (error) {
          return note(noDatabase(error, tx));
        }
      });
    } catch (error) {
      if (thrown !== undefined && (thrown as { error: unknown }).error === error) {
        if (error instanceof ConnectError && reasonFrom(error) === "REPLY_TOO_LARGE") this.#refusal = error;
        throw error;
      }
      this.#standing = { kind: "failed" };
      this.#parts.storeFailed(error);
      throw storeSilent();
    }
    this.#standing = committed.kind === "taken" ? committed : then();
    if (committed.kind === "taken") throw takenElsewhere();
  }
}

const promiseText =
  "the callback of ctx.transaction returned a promise, so it was rolled back. With this store it must be " +
  "synchronous: do what takes time before ctx.transaction, and only read and write the database inside.";

/** What a handler that was written for a database meets in a store without one. */
function noDatabase(error: unknown, tx: unknown): unknown {
  if (tx !== undefined || !(error instanceof TypeError) || !/undefined/.test(error.message)) return error;
  const text =
    `${error.message}: the store has no database, so tx is undefined. Give createServer a store that has one, ` +
    'such as sqliteStore(file), in tests sqliteStore(":memory:").';
  return new TypeError(text, { cause: error });
}

/** The handler is told that its work counts for nothing; the tries hear it from the journal. */
function storeSilent(): ConnectError {
  return errorOf(unavailable());
}

function takenElsewhere(): ConnectError {
  return errorOf(refusal("IN_PROGRESS", "the same call has run on another server"));
}

function errorOf({ result }: ReturnType<typeof refusal>): ConnectError {
  if ("error" in result) return result.error;
  throw new TypeError("a refusal has an error");
}
