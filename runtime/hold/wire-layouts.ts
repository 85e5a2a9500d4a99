/**
 * The variants that one wire's holder was told of: each is said once, before the first binding that needs it.
 *
 * Source: design "Held objects: Drops and re-holds".
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Layout } from "../../gen/holdfast/link/v1/link_pb.ts";
import type { ObjectDefinition, VariantDefinition } from "../base/definition.ts";

export interface WireLayout {
  readonly number: number;
  /** The states in the order in which their values go out. */
  readonly states: readonly { readonly name: string; readonly desc: DescMessage }[];
  /** A state's place among them, by its name. */
  readonly places: ReadonlyMap<string, number>;
}

export class WireLayouts {
  readonly #known = new Map<VariantDefinition, WireLayout>();
  readonly #say: (layout: Layout) => void;

  constructor(say: (layout: Layout) => void) {
    this.#say = say;
  }

  /** @param type - the number of the type, as the holder gave it. */
  of(definition: ObjectDefinition, variant: VariantDefinition, type: number): WireLayout {
    let layout = this.#known.get(variant);
    if (layout !== undefined) return layout;
    const states: WireLayout["states"][number][] = [];
    const members: string[] = [];
    const others: string[] = [];
    for (const name of variant.members) {
      const member = definition.$members[name];
      if (member?.kind === "state") {
        states.push({ name, desc: member.method.output });
        members.push(member.method.name);
      } else if (member !== undefined) others.push(member.method.name);
    }
    layout = {
      number: this.#known.size + 1,
      states,
      places: new Map(states.map(({ name }, place) => [name, place])),
    };
    this.#known.set(variant, layout);
    this.#say({
      $typeName: "holdfast.link.v1.Layout",
      number: layout.number,
      type,
      variant: variant.name,
      members: [...members, ...others],
    });
    return layout;
  }
}
