/**
 * What a factory returned, checked against the definition: what is missing is said when the object starts, not when
 * somebody calls it.
 */
import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { ObjectDefinition } from "../base/definition.ts";
import { HoldfastError } from "../base/errors.ts";
import type { StateSource } from "../base/objects.ts";
import type { Change } from "../delta/operation.ts";
import { isState } from "../delta/state.ts";

/** A method as it is called; the generated types hold what its request and reply are. */
export type MemberHandler = (request: Message, context: unknown) => unknown;

type Parts = Readonly<Record<string, unknown>>;

export class Implementation {
  /** In the order of the type's states. */
  readonly sources: readonly StateSource<Message, Change>[];
  readonly #made: Parts;

  constructor(sources: readonly StateSource<Message, Change>[], made: Parts) {
    this.sources = sources;
    this.#made = made;
  }

  /** Undefined: the type has no such method. */
  handler(member: string): MemberHandler | undefined {
    const handler = this.#made[member];
    // A method of a class wants its `this`.
    return typeof handler === "function" ? (handler.bind(this.#made) as MemberHandler) : undefined;
  }
}

/**
 * @throws HoldfastError, broken, naming each member that is missing or of another kind.
 */
export function checkedImplementation(definition: ObjectDefinition, made: unknown): Implementation {
  const sources: StateSource<Message, Change>[] = [];
  const faults: string[] = [];
  const parts = (typeof made === "object" && made !== null ? made : {}) as Parts;
  for (const [name, member] of Object.entries(definition.$members)) {
    const part = parts[name];
    if (member.kind !== "state") {
      if (typeof part !== "function") faults.push(`${name} is not a function`);
      continue;
    }
    const { typeName } = member.method.output;
    if (!isState(part)) faults.push(`${name} is not made with state(schema, first)`);
    else if (part.source.schema.typeName !== typeName) {
      faults.push(`${name} is a state of ${part.source.schema.typeName} in place of ${typeName}`);
    } else sources.push(part.source as StateSource<Message, Change>);
  }
  if (faults.length > 0) {
    throw new HoldfastError(
      `the factory of ${definition.$service.typeName} returned something else than its object: ${faults.join(", ")}`,
      { code: Code.Unimplemented },
    );
  }
  // What is pushed to has room for more.
  return new Implementation(sources.slice(), parts);
}
