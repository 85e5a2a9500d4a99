/**
 * The objects that one host serves: by type, and within a type by the key of their params.
 *
 * Source: design "Held objects".
 */
import type { ObjectDefinition } from "../base/definition.ts";
import type { Holder, HoldRequest, Provider } from "./holding.ts";
import { LocalHolding } from "./local-holding.ts";
import { HeldObject, type ObjectEnvironment, type ObjectOwner } from "./object.ts";
import type { ServedType } from "./served-type.ts";

/** The objects of one type. */
export class Serving implements ObjectOwner {
  readonly served: ServedType;
  readonly env: ObjectEnvironment;
  /** Those that have not ended wholly; of one key the newest. */
  readonly #objects = new Map<string, HeldObject>();

  constructor(served: ServedType, env: ObjectEnvironment) {
    this.served = served;
    this.env = env;
  }

  get objects(): Iterable<HeldObject> {
    return this.#objects.values();
  }

  /** The present object of these params; a new one when the last has ended. */
  objectFor(request: HoldRequest): HeldObject {
    const last = this.#objects.get(request.key);
    if (last !== undefined && last.state.kind !== "ended") return last;
    const made = new HeldObject(this.served, request, this.env, last?.teardown, this);
    this.#objects.set(request.key, made);
    return made;
  }

  objectEnded(ended: HeldObject): void {
    if (this.#objects.get(ended.key) === ended) this.#objects.delete(ended.key);
  }
}

export class LocalObjects implements Provider {
  readonly #env: ObjectEnvironment;
  readonly #types = new Map<string, Serving>();

  constructor(env: ObjectEnvironment) {
    this.#env = env;
  }

  /** @throws TypeError when the type is served already. */
  assertNew({ $service: { typeName } }: ObjectDefinition): void {
    if (!this.#types.has(typeName)) return;
    throw new TypeError(`holdfast: ${typeName} is served already. A host has one factory for a type.`);
  }

  serve(served: ServedType): void {
    this.#types.set(served.definition.$service.typeName, new Serving(served, this.#env));
  }

  /** The definition of a type by its full name; undefined: it is not served here. */
  definition(typeName: string): ObjectDefinition | undefined {
    return this.#types.get(typeName)?.served.definition;
  }

  acquire(request: HoldRequest, holder: Holder): LocalHolding {
    const serving = this.#types.get(request.type.$service.typeName);
    if (serving === undefined) throw new TypeError(`${request.type.$service.typeName} is not served here`);
    return new LocalHolding(serving, request, holder);
  }

  /** Ends all objects: those that nobody holds first, so that what an object depends on outlives it. */
  async close(): Promise<void> {
    for (let objects = this.#all(); objects.length > 0; objects = this.#all()) {
      const free = objects.filter(({ isHeld }) => !isHeld);
      await Promise.all((free.length > 0 ? free : objects).map((object) => object.close()));
    }
  }

  #all(): readonly HeldObject[] {
    return [...this.#types.values()].flatMap(({ objects }) => [...objects]);
  }
}
