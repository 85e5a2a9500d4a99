/** What a program gives where an object's definition is wanted. */
import type { ObjectDefinition } from "../base/definition.ts";

/** @throws TypeError that says what was given in its place. */
export function assertObject(type: unknown, what: string): asserts type is ObjectDefinition {
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
