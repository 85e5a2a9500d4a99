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

export interface Implementation {
  readonly states: ReadonlyMap<string, StateSource<Message, Change>>;
  readonly handlers: ReadonlyMap<string, MemberHandler>;
}

/**
 * @throws HoldfastError, broken, naming each member that is missing or of another kind.
 */
export function checkedImplementation(definition: ObjectDefinition, made: unknown): Implementation {
  const states = new Map<string, StateSource<Message, Change>>();
  const handlers = new Map<string, MemberHandler>();
  const faults: string[] = [];
  const parts = (typeof made === "object" && made !== null ? made : {}) as Record<string, unknown>;
  for (const [name, member] of Object.entries(definition.$members)) {
    const part = parts[name];
    if (member.kind !== "state") {
      // A method of a class wants its `this`.
      if (typeof part === "function") handlers.set(name, part.bind(made) as MemberHandler);
      else faults.push(`${name} is not a function`);
      continue;
    }
    const { typeName } = member.method.output;
    if (!isState(part)) faults.push(`${name} is not made with state(schema, first)`);
    else if (part.source.schema.typeName !== typeName) {
      faults.push(`${name} is a state of ${part.source.schema.typeName} in place of ${typeName}`);
    } else states.set(name, part.source as StateSource<Message, Change>);
  }
  if (faults.length > 0) {
    throw new HoldfastError(
      `the factory of ${definition.$service.typeName} returned something else than its object: ${faults.join(", ")}`,
      { code: Code.Unimplemented },
    );
  }
  return { states, handlers };
}
