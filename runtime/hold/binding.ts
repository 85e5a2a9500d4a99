/**
 * What a new binding changes of what a reference has: decided for all states at once, so that no program sees one
 * state from before a drop beside one from after it.
 *
 * Source: design "Held objects: Drops and re-holds".
 */
import type { Message } from "@bufbuild/protobuf";
import type { BoundStates } from "./bound-states.ts";

/** What is told to whoever watches a state, once all states are adopted. */
export type Adoption =
  | { readonly member: string; readonly kind: "value"; readonly value: Message }
  | { readonly member: string; readonly kind: "failed"; readonly failure: Error }
  /** The variant lacks it, and the one before had it, or there was none. */
  | { readonly member: string; readonly kind: "lost" };

/**
 * @param members - the names of all states that the object can have.
 * @param before - what the reference has.
 * @param after - what the binding brings.
 * @returns what changed. A state whose value is the same one says nothing: its watches have it.
 */
export function adoptionsOf(
  members: readonly string[],
  before: BoundStates,
  after: BoundStates,
): readonly Adoption[] {
  return members.flatMap((member): Adoption[] => {
    const was = before.get(member);
    const is = after.get(member);
    if (is === undefined) return [{ member, kind: "lost" }];
    if (is.failure !== undefined) {
      return was?.failure === is.failure ? [] : [{ member, kind: "failed", failure: is.failure }];
    }
    return was?.value === is.value ? [] : [{ member, kind: "value", value: is.value }];
  });
}
