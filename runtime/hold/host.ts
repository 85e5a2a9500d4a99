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
import type { DescMessage } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { type Clock, systemClock } from "../base/clock.ts";
import type { Timing } from "../base/constants.ts";
import type { ObjectDefinition } from "../base/definition.ts";
import { asyncDispose } from "../base/dispose.ts";
import { HoldfastError } from "../base/errors.ts";
import type { Caller } from "../base/handlers.ts";
import { type Log, silentLog } from "../base/log.ts";
import type { GetOptions, HoldOptions, Holds } from "../base/objects.ts";
import { type Random, systemRandom } from "../base/random.ts";
import type { Wire } from "../wire/wire.ts";
import { type AcceptedWire, acceptWire } from "./accept-wire.ts";
import { assertObject } from "./assert-object.ts";
import { type ConnectedWire, type ConnectOptions, Elsewhere } from "./connect-wire.ts";
import type { Provider } from "./holding.ts";
import type { HostInside } from "./host-inside.ts";
import { LocalObjects } from "./local-objects.ts";
import { Lingering } from "./lingering.ts";
import { assertReadyTimeout, References } from "./references.ts";
import { plainRun, type RunCommand } from "./run-call.ts";
import { type Factory, servedType, type ServeOptions } from "./served-type.ts";

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

class ObjectHost implements Host {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #options: HostOptions;
  readonly #objects: LocalObjects;
  readonly #references: References;
  readonly #accepted = new Set<AcceptedWire>();
  #elsewhere: Elsewhere | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: HostOptions) {
    assertReadyTimeout(options.readyTimeoutMs);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#log = options.log ?? silentLog;
    const { caller, timing, readyTimeoutMs } = options;
    this.#references = new References({
      ...{ clock: this.#clock, random: this.#random, log: this.#log, timing, readyTimeoutMs, caller },
      providerOf: (typeName) => this.#providerOf(typeName),
    });
    this.#objects = new LocalObjects({
      clock: this.#clock,
      random: this.#random,
      log: this.#log,
      run: options.run ?? plainRun(this.#clock, this.#log),
      takeReference: (type, params, holdOptions) => this.#references.take(type, params, holdOptions),
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
    const { load } = options;
    if (load === undefined) return;
    loading = this.#references
      .waitFor(() => load(this))
      .finally(() => {
        loading = undefined;
      });
  }

  serve<Params extends DescMessage, Ref, Implementation>(
    type: ObjectDefinition<Params, Ref, Implementation>,
    factory: Factory<Params, Implementation>,
    options: ServeOptions<Params> = {},
  ): void {
    assertObject(type, "serve");
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
    return this.#references.hold(type, params, options);
  }

  get(type: ObjectDefinition, params: unknown, options?: GetOptions<string>): Promise<never> {
    return this.#references.get(type, params, options);
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
    this.#references.close();
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

  /** @throws TypeError for a type that is served nowhere. */
  #providerOf(typeName: string): Provider {
    const served = this.#objects.definition(typeName) !== undefined;
    const provider = served ? this.#objects : (this.#options.elsewhere ?? this.#elsewhere?.holds);
    if (provider !== undefined) return provider;
    throw new TypeError(
      `holdfast: ${typeName} is not served by this host, and the host holds from nowhere else. Serve it, hold it from a link, or give the host a wire with connect.`,
    );
  }

  #assertOpen(): void {
    if (this.#closing === undefined) return;
    throw new HoldfastError("the host is closed. Make a new one with createHost.", { code: Code.Canceled });
  }
}
