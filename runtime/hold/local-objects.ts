/**
 * The objects that one host serves: by type, and within a type by the key of their params.
 *
 * Source: design "Held objects".
 */
import type { ObjectDefinition } from "../base/definition.ts";
import type { Holder, HoldRequest, Provider } from "./holding.ts";
import { LocalHolding } from "./local-holding.ts";
import { HeldObject, type ObjectEnvironment } from "./object.ts";
import type { ServedType } from "./served-type.ts";

interface Serving {
  readonly served: ServedType;
  /** Those that have not ended wholly; of one key the newest. */
  readonly objects: Map<string, HeldObject>;
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
    this.#types.set(served.definition.$service.typeName, { served, objects: new Map() });
  }

  /** The definition of a type by its full name; undefined: it is not served here. */
  definition(typeName: string): ObjectDefinition | undefined {
    return this.#types.get(typeName)?.served.definition;
  }

  acquire(request: HoldRequest, holder: Holder): LocalHolding {
    const serving = this.#types.get(request.type.$service.typeName);
    if (serving === undefined) throw new TypeError(`${request.type.$service.typeName} is not served here`);
    return new LocalHolding({
      served: serving.served,
      request,
      holder,
      env: this.#env,
      object: () => this.#object(serving, request),
    });
  }

  /** Ends all objects: those that nobody holds first, so that what an object depends on outlives it. */
  async close(): Promise<void> {
    for (let objects = this.#all(); objects.length > 0; objects = this.#all()) {
      const free = objects.filter(({ isHeld }) => !isHeld);
      await Promise.all((free.length > 0 ? free : objects).map((object) => object.close()));
    }
  }

  #all(): readonly HeldObject[] {
    return [...this.#types.values()].flatMap(({ objects }) => [...objects.values()]);
  }

  #object({ served, objects }: Serving, request: HoldRequest): HeldObject {
    const last = objects.get(request.key);
    if (last !== undefined && last.state.kind !== "ended") return last;
    const forget = (ended: HeldObject): void => {
      if (objects.get(request.key) === ended) objects.delete(request.key);
    };
    const made = new HeldObject(served, request.params, this.#env, last?.teardown, forget);
    objects.set(request.key, made);
    return made;
  }
}
