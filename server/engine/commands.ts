/** An engine's commands, checked against their service, and bound as the handlers of a server. */
import type { CommandDefinition, MethodDefinition } from "../../runtime/base/definition.ts";
import { type EngineHandler, withReplyAgain } from "./reply-again.ts";
import type { AnyService, PlainCommand } from "./rules.ts";
import type { BoundCommand } from "./writer.ts";

/** A command with its rules. */
export interface Command {
  readonly name: string;
  readonly definition: CommandDefinition;
  readonly rules: PlainCommand;
}

/** @throws TypeError for a name that is no command which an engine can run. */
export function commandsOf(service: AnyService, given: object): readonly Command[] {
  return Object.entries(given as Record<string, PlainCommand>).map(([name, rules]) => {
    const definition: MethodDefinition | undefined = service.$methods[name];
    const full = `${service.$service.typeName}.${name}`;
    if (definition?.kind !== "command" || definition.delivery === "atMostOnce") {
      throw new TypeError(`holdfast: ${full} is no command that runs once, and an engine runs these alone.`);
    }
    if (definition.effects === "external") {
      throw new TypeError(
        `holdfast: ${full} has effects: EXTERNAL. An engine's command changes the engine's state alone; take ` +
          "the option away, or write a handler for it.",
      );
    }
    return { name, definition, rules };
  });
}

/** A command as a handler that carries how its replies are made again. */
export function handlerOf(command: BoundCommand): EngineHandler {
  const handler: EngineHandler = (request, context, key) => command.run(request, context, key);
  return withReplyAgain(handler, command.again);
}

/** The handlers of a service that an object has, which may be one of a class. */
export function boundMethods(service: AnyService, object: object): object {
  const found = Object.keys(service.$methods).flatMap((name) => {
    const method: unknown = (object as { readonly [key: string]: unknown })[name];
    return typeof method === "function" ? [[name, method.bind(object) as unknown] as const] : [];
  });
  return Object.fromEntries(found);
}
