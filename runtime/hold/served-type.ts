/**
 * A type that a host serves: its factory, and as which variant each holder gets its objects.
 *
 * Source: design "Held objects: Reference state".
 */
import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { ObjectDefinition, VariantDefinition } from "../base/definition.ts";
import { HoldfastError } from "../base/errors.ts";
import type { Caller } from "../base/handlers.ts";
import type { Log } from "../base/log.ts";
import type { ObjectContext } from "../base/objects.ts";
import type { AnyFactory } from "./activation.ts";
import { causeOf } from "./failure.ts";

/** Makes an object, or a promise of one: an activation. */
export type Factory<Params extends DescMessage, Implementation> = (
  context: ObjectContext<Params>,
) => Implementation | Promise<Implementation>;

/** How a type is served. */
export interface ServeOptions<Params extends DescMessage = DescMessage> {
  /**
   * Ms that an object with params stays live after its last reference is released. 0: it ends at once, also at a
   * drop, and a reconnect finds a fresh one. Default: the schema's, else 0.
   */
  readonly lingerMs?: number;
  /**
   * As which variant a caller holds an object: a name from the schema, or undefined to refuse it with
   * `permission_denied`. Called at each hold, and when a caller's grants change. Default: the last declared one.
   */
  readonly variant?: (caller: Caller, params: MessageShape<Params>) => string | undefined;
}

export interface ServedType {
  readonly definition: ObjectDefinition;
  readonly factory: AnyFactory;
  readonly lingerMs: number;
  /** Local objects without params live as long as their host. */
  readonly lifelong: boolean;
  readonly readyTimeoutMs: number;
  readonly variant: ((caller: Caller, params: Message) => string | undefined) | undefined;
}

/**
 * @throws RangeError for a linger that is no time.
 */
export function servedType(
  definition: ObjectDefinition,
  factory: AnyFactory,
  options: ServeOptions,
  readyTimeoutMs: number,
): ServedType {
  const lingerMs = options.lingerMs ?? definition.$lingerMs;
  if (!(lingerMs >= 0)) {
    throw new RangeError(`holdfast: lingerMs is ${lingerMs}; give 0 or more ms, Infinity among them`);
  }
  return {
    definition,
    factory,
    lingerMs,
    lifelong: definition.$params.fields.length === 0,
    readyTimeoutMs,
    variant: options.variant,
  };
}

/**
 * As which variant a caller holds an object; an error is why not.
 */
export function variantFor(
  served: ServedType,
  caller: Caller,
  params: Message,
  log: Log,
): VariantDefinition | HoldfastError {
  const { definition, variant } = served;
  const { typeName } = definition.$service;
  const last = definition.$variants.at(-1);
  if (last === undefined)
    throw new TypeError(`holdfast: ${typeName} has no variant; generate its code again`);
  if (variant === undefined) return last;
  let name: string | undefined;
  try {
    name = variant(caller, params);
  } catch (error) {
    return causeOf(error, `the choice of a variant of ${typeName}`, log);
  }
  if (name === undefined) {
    return new HoldfastError(`this caller may not hold ${typeName}`, { code: Code.PermissionDenied });
  }
  const chosen = definition.$variants.find((its) => its.name === name);
  if (chosen !== undefined) return chosen;
  return causeOf(
    new TypeError(`the variant "${name}" was chosen, and ${typeName} has ${namesOf(definition)}`),
    `the choice of a variant of ${typeName}`,
    log,
  );
}

function namesOf(definition: ObjectDefinition): string {
  return definition.$variants.map(({ name }) => `"${name}"`).join(", ");
}
