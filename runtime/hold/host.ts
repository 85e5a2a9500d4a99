/**
 * A host serves objects and holds them: the same on a server, in a browser, in a worker. What it does not serve
 * itself it holds from elsewhere, if it has an elsewhere.
 *
 * For whoever connects hosts over a wire, `insideOf(host)` is the way in:
 * - The provider's side takes `definition(typeName)` to read the params of a `hold` message, calls `acquire` with a
 *   `Holder` of its own that turns events into messages, and the `Holding`'s `call`, `forget`, `retry`, `release`
 *   for what comes; when the wire closes it releases all its holdings. `regranted` on a holding follows a change of
 *   grants.
 * - The holder's side is a `Provider`, given as `elsewhere`: it makes one hold message for all references of one
 *   object, and turns messages into the events of `Holder`, among them `loading(cause)` for each when its wire is
 *   gone. Its `call` gives the final answer of a call, new tries after a server's fault among them; what has no
 *   answer when it says `loading` comes to it again after `bound`, as the same `ObjectCall`.
 *
 * Source: design "Held objects".
 */
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { type Clock, systemClock } from "../base/clock.ts";
import { defaultTiming, type Timing } from "../base/constants.ts";
import type { ObjectDefinition } from "../base/definition.ts";
import { asyncDispose } from "../base/dispose.ts";
import { HoldfastError } from "../base/errors.ts";
import type { Caller } from "../base/handlers.ts";
import { type Log, silentLog } from "../base/log.ts";
import type { GetOptions, HoldOptions, Holds } from "../base/objects.ts";
import { type Random, systemRandom } from "../base/random.ts";
import type { Wire } from "../wire/wire.ts";
import { type AcceptedWire, acceptWire } from "./accept-wire.ts";
import type { HoldCore } from "./activation.ts";
import { type ConnectedWire, type ConnectOptions, Elsewhere } from "./connect-wire.ts";
import { causeOf } from "./failure.ts";
import type { HoldRequest, Provider } from "./holding.ts";
import type { HostInside } from "./host-inside.ts";
import { LocalObjects } from "./local-objects.ts";
import { Lingering } from "./lingering.ts";
import { keyedParams } from "./params-key.ts";
import { referenceTo } from "./reference-class.ts";
import { ReferenceCore, type ReferenceParts } from "./reference.ts";
import { plainRun, type RunCommand } from "./run-call.ts";
import { type Factory, servedType, type ServeOptions } from "./served-type.ts";
import { whenLive } from "./when-live.ts";

export interface HostOptions {
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Default: the system's. */
  readonly random?: Random;
  /** Where failures of objects and handlers are told. Default: nowhere. */
  readonly log?: Log;
  /** Ms that a `get` or a parked call waits for its object. Above zero. Default: each type's own, 60 s. */
  readonly readyTimeoutMs?: number;
  /**
   * Registers types asynchronously. Until it resolves nobody knows what is served here, and references wait; when it
   * rejects they fail, broken. Default: what is served is known from the start.
   */
  readonly load?: (host: Host) => Promise<void>;
  /** Who this program is to the objects that it holds from itself, for `variant`. Default: nobody, no grants. */
  readonly caller?: Caller;
  /** Budgets of calls whose methods have none. Default: a link's. */
  readonly timing?: Pick<Timing, "budgetMs" | "shortBudgetMs">;
  /** Runs commands in place of the host, to keep what ran. Default: nothing is kept. */
  readonly run?: RunCommand;
  /**
   * Whether the host holds what it does not serve over wires that `connect` gives it. Until the first one references
   * wait. Default: not before `connect` is called.
   */
  readonly connects?: boolean;
  /** Told of each type before it is served; what it throws refuses it. For whoever a host is part of. */
  readonly serving?: (type: ObjectDefinition) => void;
  /** Where else objects are held from that are not served here. Default: over `connect`'s wires. */
  readonly elsewhere?: Provider;
}

export interface Host extends Holds, AsyncDisposable {
  /**
   * Serves a type: the factory makes an object when the first reference to its params is taken.
   *
   * @throws TypeError for what is no definition, and for a type that is served already.
   */
  serve<Params extends DescMessage, Ref, Implementation>(
    type: ObjectDefinition<Params, Ref, Implementation>,
    factory: Factory<Params, Implementation>,
    options?: ServeOptions<Params>,
  ): void;
  /**
   * Holds what is not served here over this wire, which has said nothing yet, until it closes; then over the next one
   * that is given. All references that were not released are held again each time.
   *
   * @throws TypeError while the wire before is not closed, and for a host with an elsewhere of its own.
   */
  connect(wire: Wire, options?: ConnectOptions): ConnectedWire;
  /**
   * Serves whoever is at the other end of this wire, which has said nothing yet. `principal` says who that is to the
   * objects, for as long as the wire lives.
   */
  accept(wire: Wire, options: { readonly principal: Caller }): AcceptedWire;
  /** Releases all references, then ends all objects; resolves when they have ended. Twice is once. */
  close(): Promise<void>;
}

const insides = new WeakMap<Host, HostInside>();

export function insideOf(host: Host): HostInside {
  const inside = insides.get(host);
  if (inside === undefined) throw new TypeError("holdfast: this is no host; make one with createHost");
  return inside;
}

/**
 * Makes a host.
 *
 * @throws RangeError for a `readyTimeoutMs` that is no time above zero.
 */
export function createHost(options: HostOptions = {}): Host {
  return new ObjectHost(options);
}

const nobody: Caller = { by: undefined, grants: [] };

class ObjectHost implements Host {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #options: HostOptions;
  readonly #objects: LocalObjects;
  readonly #references = new Set<ReferenceCore>();
  readonly #accepted = new Set<AcceptedWire>();
  #elsewhere: Elsewhere | undefined;
  /** References that wait for `load`: what is done with each once it is over. */
  #unloaded: Map<ReferenceCore, () => void> | undefined;
  #lastParts: ReferenceParts | undefined;
  #loadFailure: HoldfastError | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: HostOptions) {
    assertReadyTimeout(options.readyTimeoutMs);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#log = options.log ?? silentLog;
    this.#objects = new LocalObjects({
      clock: this.#clock,
      random: this.#random,
      log: this.#log,
      run: options.run ?? plainRun(this.#clock, this.#log),
      holdCore: (type, params, holdOptions) => this.#holdCore(type, params, holdOptions),
      lingering: new Lingering(this.#clock),
    });
    if (options.connects === true) this.#connects();
    let loading: Promise<void> | undefined;
    insides.set(this, {
      definition: (typeName) => this.#objects.definition(typeName),
      acquire: (request, holder) => this.#objects.acquire(request, holder),
      get loading() {
        return loading;
      },
    });
    if (options.load === undefined) return;
    loading = this.#load(options.load).finally(() => {
      loading = undefined;
    });
  }

  serve<Params extends DescMessage, Ref, Implementation>(
    type: ObjectDefinition<Params, Ref, Implementation>,
    factory: Factory<Params, Implementation>,
    options: ServeOptions<Params> = {},
  ): void {
    assertDefinition(type, "serve");
    this.#assertOpen();
    if (typeof factory !== "function") {
      throw new TypeError(`holdfast: serve takes a function that makes a ${type.$service.typeName}.`);
    }
    const definition = type as unknown as ObjectDefinition;
    const readyTimeoutMs = this.#options.readyTimeoutMs ?? definition.$readyTimeoutMs;
    this.#objects.assertNew(definition);
    this.#options.serving?.(definition);
    this.#objects.serve(servedType(definition, factory as never, options, readyTimeoutMs));
  }

  hold(type: ObjectDefinition, params: unknown, options?: HoldOptions<string>): never {
    const { core } = this.#holdCore(type, params, options, this.#references);
    return referenceTo(type, core) as never;
  }

  async get(type: ObjectDefinition, params: unknown, options?: GetOptions<string>): Promise<never> {
    const { core, readyTimeoutMs } = this.#holdCore(type, params, options, this.#references);
    try {
      await whenLive(core, { clock: this.#clock, readyTimeoutMs, signals: [options?.signal] });
    } catch (error) {
      core.release();
      throw error;
    }
    return referenceTo(type, core) as never;
  }

  connect(wire: Wire, options: ConnectOptions = {}): ConnectedWire {
    this.#assertOpen();
    return this.#connects().connect(wire, options);
  }

  accept(wire: Wire, { principal }: { readonly principal: Caller }): AcceptedWire {
    this.#assertOpen();
    const accepted = acceptWire(wire, {
      host: insideOf(this),
      principal,
      clock: this.#clock,
      log: this.#log,
    });
    this.#accepted.add(accepted);
    void accepted.closed.then(() => this.#accepted.delete(accepted));
    return accepted;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    for (const core of [...this.#references]) core.release();
    this.#unloaded?.clear();
    // First the wires: what holds from elsewhere sees a drop, and not each object end.
    const accepted = [...this.#accepted];
    for (const wire of accepted) wire.close();
    await Promise.all(accepted.map(({ closed }) => closed));
    await this.#objects.close();
    this.#elsewhere?.close();
  }

  #connects(): Elsewhere {
    if (this.#options.elsewhere !== undefined) {
      throw new TypeError("holdfast: this host holds from an elsewhere that it was made with");
    }
    this.#elsewhere ??= new Elsewhere({ clock: this.#clock, random: this.#random, log: this.#log });
    return this.#elsewhere;
  }

  /** @param kept - where the reference stands until it is released; an object keeps its own. */
  #holdCore(
    type: ObjectDefinition,
    params: unknown,
    options: HoldOptions<string> | undefined,
    kept?: Set<ReferenceCore>,
  ): ReturnType<HoldCore> {
    assertDefinition(type, "hold");
    this.#assertOpen();
    assertReadyTimeout(options?.readyTimeoutMs);
    const readyTimeoutMs = options?.readyTimeoutMs ?? this.#options.readyTimeoutMs ?? type.$readyTimeoutMs;
    const loaded = this.#unloaded === undefined;
    // What is wrong is thrown here, unless nobody can know yet what is served.
    const way = loaded ? this.#wayTo(type, params) : undefined;
    const core = new ReferenceCore(this.#partsOf(type, readyTimeoutMs, options?.variant));
    kept?.add(core);
    if (way !== undefined) attach(core, () => way);
    else this.#unloaded?.set(core, () => attach(core, () => this.#wayTo(type, params)));
    return { core, readyTimeoutMs };
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
    this.#lastParts = {
      definition,
      clock: this.#clock,
      random: this.#random,
      timing: this.#options.timing ?? defaultTiming,
      readyTimeoutMs,
      variant,
      onReleased: (core) => {
        this.#references.delete(core);
        this.#unloaded?.delete(core);
      },
    };
    return this.#lastParts;
  }

  /**
   * Where a holder gets its holding of an object.
   *
   * @throws what is wrong with the params, or with the type.
   */
  #wayTo(type: ObjectDefinition, init: unknown): WayToObject {
    if (this.#loadFailure !== undefined) throw this.#loadFailure;
    const { typeName } = type.$service;
    const served = this.#objects.definition(typeName) !== undefined;
    const provider = served ? this.#objects : (this.#options.elsewhere ?? this.#elsewhere?.holds);
    if (provider === undefined) {
      throw new TypeError(
        `holdfast: ${typeName} is not served by this host, and the host holds from nowhere else. Serve it, hold it from a link, or give the host a wire with connect.`,
      );
    }
    const { params, key } = keyedParams(type.$params, init as Message);
    const request: HoldRequest = {
      type,
      params,
      key,
      caller: this.#options.caller ?? nobody,
      session: undefined,
    };
    return { provider, request };
  }

  async #load(load: NonNullable<HostOptions["load"]>): Promise<void> {
    const waits = new Map<ReferenceCore, () => void>();
    this.#unloaded = waits;
    try {
      await load(this);
    } catch (error) {
      this.#loadFailure = causeOf(error, "the load of this host", this.#log);
    }
    this.#unloaded = undefined;
    if (this.#closing !== undefined) return;
    // One of those before it may have released it.
    for (const [core, its] of [...waits]) if (core.state.kind !== "released") its();
  }

  #assertOpen(): void {
    if (this.#closing === undefined) return;
    throw new HoldfastError("the host is closed. Make a new one with createHost.", { code: Code.Canceled });
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

function assertDefinition(type: unknown, what: string): asserts type is ObjectDefinition {
  const shaped = type as (Partial<ObjectDefinition> & { readonly $methods?: unknown }) | null | undefined;
  if (typeof shaped?.$members === "object" && typeof shaped.$params === "object") return;
  if (typeof shaped?.$methods === "object") {
    const name = shaped.$service?.typeName ?? "this service";
    throw new TypeError(
      `holdfast: ${name} is a service and no held object. Implement it with server.implement and call it by its client, ` +
        "or give it `option (holdfast.v1.object)` in its schema.",
    );
  }
  throw new TypeError(
    `holdfast: ${what} takes an object's definition, the constant that protoc-gen-holdfast writes for a service with ` +
      "`option (holdfast.v1.object)` (in the file …_holdfast.ts).",
  );
}

function assertReadyTimeout(readyTimeoutMs: number | undefined): void {
  if (readyTimeoutMs === undefined || readyTimeoutMs > 0) return;
  throw new RangeError(`holdfast: readyTimeoutMs is ${readyTimeoutMs}; give a number of ms above zero`);
}
