/**
 * The references of one program: takes them, says where each object is, and knows them until they are released. A
 * host has them beside the objects that it serves; a link has nothing else, so that a page which only holds does not
 * load what serves.
 *
 * Source: design "Held objects".
 */
import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { Clock } from "../base/clock.ts";
import { defaultTiming, type Timing } from "../base/constants.ts";
import type { ObjectDefinition } from "../base/definition.ts";
import { HoldfastError } from "../base/errors.ts";
import type { Caller } from "../base/handlers.ts";
import type { Log } from "../base/log.ts";
import type { GetOptions, HoldOptions, Holds } from "../base/objects.ts";
import type { Random } from "../base/random.ts";
import { assertObject } from "./assert-object.ts";
import { causeOf } from "./failure.ts";
import type { HoldRequest, Provider } from "./holding.ts";
import { keyedParams } from "./params-key.ts";
import { referenceTo } from "./reference-class.ts";
import { ReferenceCore, type ReferenceParts } from "./reference.ts";
import { whenLive } from "./when-live.ts";

export interface ReferencesParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Budgets of calls whose methods have none. Default: a link's. */
  readonly timing?: Pick<Timing, "budgetMs" | "shortBudgetMs"> | undefined;
  /** Ms that a `get` or a parked call waits for its object. Default: each type's own. */
  readonly readyTimeoutMs?: number | undefined;
  /** Who this program is to the objects, where it holds from itself. Default: nobody, no grants. */
  readonly caller?: Caller | undefined;
  /** Where objects of a type are held from. Throws what is wrong with it. */
  readonly providerOf: (typeName: string) => Provider;
}

/** A reference in which the program's part is still to be made. */
export interface TakenReference {
  readonly core: ReferenceCore;
  readonly readyTimeoutMs: number;
}

const nobody: Caller = { by: undefined, grants: [] };

export class References implements Holds {
  readonly #parts: ReferencesParts;
  readonly #held = new Set<ReferenceCore>();
  /** References that wait until it is known where objects are: what is done with each then. */
  #waiting: Map<ReferenceCore, () => void> | undefined;
  #waitFailure: HoldfastError | undefined;
  #lastParts: ReferenceParts | undefined;
  #closed = false;

  constructor(parts: ReferencesParts) {
    this.#parts = parts;
  }

  hold(type: ObjectDefinition, params: unknown, options?: HoldOptions<string>): never {
    const { core } = this.take(type, params, options, this.#held);
    return referenceTo(type, core) as never;
  }

  async get(type: ObjectDefinition, params: unknown, options?: GetOptions<string>): Promise<never> {
    const { core, readyTimeoutMs } = this.take(type, params, options, this.#held);
    try {
      await whenLive(core, { clock: this.#parts.clock, readyTimeoutMs, signals: [options?.signal] });
    } catch (error) {
      core.release();
      throw error;
    }
    return referenceTo(type, core) as never;
  }

  /**
   * Takes a reference.
   *
   * @param kept - where it stands until it is released; an object keeps its own.
   * @throws as {@link Holds.hold} does.
   */
  take(
    type: ObjectDefinition,
    params: unknown,
    options: HoldOptions<string> | undefined,
    kept?: Set<ReferenceCore>,
  ): TakenReference {
    assertObject(type, "hold");
    if (this.#closed) {
      throw new HoldfastError("the host is closed. Make a new one with createHost.", { code: Code.Canceled });
    }
    assertReadyTimeout(options?.readyTimeoutMs);
    const readyTimeoutMs = options?.readyTimeoutMs ?? this.#parts.readyTimeoutMs ?? type.$readyTimeoutMs;
    // What is wrong is thrown here, unless nobody can know yet where its object is.
    const way = this.#waiting === undefined ? this.#wayTo(type, params) : undefined;
    const core = new ReferenceCore(this.#partsOf(type, readyTimeoutMs, options?.variant));
    kept?.add(core);
    if (way !== undefined) attach(core, () => way);
    else this.#waiting?.set(core, () => attach(core, () => this.#wayTo(type, params)));
    return { core, readyTimeoutMs };
  }

  /** Until `load` resolves nobody knows where objects are, and references wait; when it rejects they fail. */
  async waitFor(load: () => Promise<void>): Promise<void> {
    const waits = new Map<ReferenceCore, () => void>();
    this.#waiting = waits;
    try {
      await load();
    } catch (error) {
      this.#waitFailure = causeOf(error, "the load of this host", this.#parts.log);
    }
    this.#waiting = undefined;
    if (this.#closed) return;
    // One of those before it may have released it.
    for (const [core, its] of [...waits]) if (core.state.kind !== "released") its();
  }

  /** Releases all that are held, and takes none any more. */
  close(): void {
    this.#closed = true;
    for (const core of [...this.#held]) core.release();
    this.#waiting?.clear();
  }

  /** The same for all references that are taken in the same way. */
  #partsOf(
    definition: ObjectDefinition,
    readyTimeoutMs: number,
    variant: string | undefined,
  ): ReferenceParts {
    const last = this.#lastParts;
    if (
      last?.definition === definition &&
      last.readyTimeoutMs === readyTimeoutMs &&
      last.variant === variant
    ) {
      return last;
    }
    const { clock, random, timing = defaultTiming } = this.#parts;
    const onReleased = (core: ReferenceCore): void => {
      this.#held.delete(core);
      this.#waiting?.delete(core);
    };
    this.#lastParts = { definition, clock, random, timing, readyTimeoutMs, variant, onReleased };
    return this.#lastParts;
  }

  /**
   * Where a holder gets its holding of an object.
   *
   * @throws what is wrong with the params, or with the type.
   */
  #wayTo(type: ObjectDefinition, init: unknown): WayToObject {
    if (this.#waitFailure !== undefined) throw this.#waitFailure;
    const { providerOf, caller = nobody } = this.#parts;
    const provider = providerOf(type.$service.typeName);
    const { params, key } = keyedParams(type.$params, init as Message);
    return { provider, request: { type, params, key, caller, session: undefined } };
  }
}

/** Where an object is, and which it is. */
interface WayToObject {
  readonly provider: Provider;
  readonly request: HoldRequest;
}

function attach(core: ReferenceCore, way: () => WayToObject): void {
  try {
    const { provider, request } = way();
    core.attach(provider.acquire(request, core));
  } catch (error) {
    core.failed({ cause: holdError(error), retryAt: undefined });
  }
}

/** What `hold` would have thrown, as the cause of a reference that fails later. */
function holdError(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new HoldfastError(text, { code: Code.Unimplemented, cause: error });
}

/** @throws RangeError for what is no time above zero. */
export function assertReadyTimeout(readyTimeoutMs: number | undefined): void {
  if (readyTimeoutMs === undefined || readyTimeoutMs > 0) return;
  throw new RangeError(`holdfast: readyTimeoutMs is ${readyTimeoutMs}; give a number of ms above zero`);
}
