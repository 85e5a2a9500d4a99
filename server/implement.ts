/**
 * A service's handlers, bound to its methods and checked when the server is put together: what is missing is
 * said before the first request.
 */
import { goneAfterMs } from "../runtime/base/constants.ts";
import type { MethodDefinition, ServiceDefinition } from "../runtime/base/definition.ts";
import { type ReplyAgain, replyAgainOf } from "./engine/reply-again.ts";
import type { GoneAfter } from "./session/sessions.ts";
import type { CallKey } from "./store/store.ts";

/**
 * A handler as the dispatcher calls it. The generated types hold what its request and its reply are; the key of a
 * call with an ID is for an engine's handlers alone.
 */
export type Handler = (request: unknown, context: unknown, key?: CallKey) => unknown;

/** What a server says of a method beside its handler. */
export interface MethodOptions {
  /**
   * Whether the handler may run again when an earlier run of the same call began and nobody knows how it ended;
   * it then finds `ctx.mayHaveRun` true and looks for itself. Only for commands with `effects: EXTERNAL`.
   * Default: false, and such a repeat is refused with OUTCOME_UNKNOWN.
   */
  readonly rerun?: boolean;
}

/** Options of a service's methods, by the names of their handlers. */
export type ServiceOptions<Handlers> = { readonly [Name in keyof Handlers]?: MethodOptions };

/** The handlers of all services of a server. */
export class Implementations {
  readonly #handlers = new Map<MethodDefinition, Handler>();
  /** By their full names, such as "board.v1.BoardService.Tail". */
  readonly #named = new Map<string, MethodDefinition>();
  readonly #services = new Set<string>();
  readonly #reruns = new Set<MethodDefinition>();
  readonly #replies = new Map<MethodDefinition, ReplyAgain>();
  #sealed = false;

  /**
   * Takes a service's handlers.
   *
   * @throws TypeError for what is no definition, a missing handler, a service that is implemented already, or
   * an option that its method cannot have.
   */
  add(definition: ServiceDefinition<never>, handlers: unknown, options: object = {}): void {
    const name = serviceName(definition);
    if (this.#sealed) {
      throw new TypeError(`holdfast: implement ${name} before listen, and before the routes are mounted.`);
    }
    if (this.#services.has(name)) {
      throw new TypeError(
        `holdfast: ${name} is implemented already. A server has one implementation of a service.`,
      );
    }
    const bound = Object.entries(definition.$methods).map(
      ([method, its]) => [its, handlerOf(handlers, method)] as const,
    );
    const missing = Object.keys(definition.$methods).filter((_, at) => bound[at]?.[1] === undefined);
    if (missing.length > 0) {
      throw new TypeError(`holdfast: ${name} lacks a handler for ${missing.join(", ")}.`);
    }
    const reruns = rerunsOf(definition, name, options);
    for (const its of reruns) this.#reruns.add(its);
    for (const [its, handler] of bound) {
      if (handler === undefined) continue;
      this.#handlers.set(its, handler);
      this.#named.set(`${its.method.parent.typeName}.${its.method.name}`, its);
    }
    for (const [method, its] of Object.entries(definition.$methods)) {
      const again = replyAgainOf((handlers as Record<string, unknown>)[method]);
      if (again !== undefined) this.#replies.set(its, again);
    }
    this.#services.add(name);
  }

  has(service: string): boolean {
    return this.#services.has(service);
  }

  /** Every method; nothing can be added any more. */
  definitions(): Iterable<MethodDefinition> {
    this.#sealed = true;
    return this.#handlers.keys();
  }

  /** The method of a full name, such as "board.v1.BoardService.Tail". */
  named(name: string): MethodDefinition | undefined {
    return this.#named.get(name);
  }

  /** The times without a sign of the heartbeats; without one, the default. */
  goneAfter(): GoneAfter {
    const times = [...this.#handlers.keys()].flatMap((its) =>
      its.kind === "heartbeat" ? [its.goneAfterMs] : [],
    );
    if (times.length === 0) return { leastMs: goneAfterMs, mostMs: goneAfterMs };
    return { leastMs: Math.min(...times), mostMs: Math.max(...times) };
  }

  mayRerun(definition: MethodDefinition): boolean {
    return this.#reruns.has(definition);
  }

  /** Makes the replies of an engine's command on the state of now; undefined for other methods. */
  replyAgain(definition: MethodDefinition): ReplyAgain | undefined {
    return this.#replies.get(definition);
  }

  handler(definition: MethodDefinition): Handler {
    const handler = this.#handlers.get(definition);
    if (handler === undefined)
      throw new TypeError(`holdfast: no handler for ${definition.method.toString()}`);
    return handler;
  }
}

/** The methods that may run again. */
function rerunsOf(
  definition: ServiceDefinition<never>,
  service: string,
  options: object,
): readonly MethodDefinition[] {
  return Object.entries(options as Record<string, MethodOptions | undefined>).flatMap(([method, option]) => {
    const its = definition.$methods[method];
    if (its === undefined) {
      throw new TypeError(`holdfast: options are given for ${method}, which ${service} does not have.`);
    }
    if (option?.rerun !== true) return [];
    if (its.kind === "command" && its.effects === "external") return [its];
    throw new TypeError(
      `holdfast: rerun is given for ${service}.${method}, which is not a command with effects: EXTERNAL. Others ` +
        "leave no trace when they fail, and run again anyway.",
    );
  });
}

function serviceName(definition: unknown): string {
  const shaped = definition as
    | (Partial<ServiceDefinition> & { readonly $members?: unknown })
    | null
    | undefined;
  const name: unknown = shaped?.$service?.typeName;
  if (typeof name === "string" && typeof shaped?.$methods === "object") return name;
  if (typeof name === "string" && typeof shaped?.$members === "object") {
    throw new TypeError(
      `holdfast: ${name} is a held object. Serve it with server.serve and a function that makes one, and hold it with ` +
        "link.hold.",
    );
  }
  throw new TypeError(
    "holdfast: implement takes a service's definition, the constant that protoc-gen-holdfast writes for it " +
      "(in the file …_holdfast.ts), and its handlers. A service of a …_pb file is not one.",
  );
}

function handlerOf(handlers: unknown, method: string): Handler | undefined {
  if (typeof handlers !== "object" || handlers === null) return undefined;
  const found: unknown = (handlers as Record<string, unknown>)[method];
  // A handler may be a method of a class, which wants its `this`.
  return typeof found === "function" ? (found.bind(handlers) as Handler) : undefined;
}
