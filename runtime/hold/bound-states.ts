/**
 * What the states of an object are at one moment. Holders share it, so that it never changes: what is newer is another
 * one. There may be as many of it as there are references, so that it is a list, whose places all objects of a type
 * have in common.
 */
import type { Message } from "@bufbuild/protobuf";
import type { ObjectDefinition } from "../base/definition.ts";

/** A state as of one version. */
export type BoundState =
  | { readonly version: number; readonly value: Message; readonly failure?: undefined }
  | { readonly version: number; readonly value?: undefined; readonly failure: Error };

interface Places {
  readonly names: readonly string[];
  readonly byName: ReadonlyMap<string, number>;
  readonly none: BoundStates;
}

const placesOf = new WeakMap<ObjectDefinition, Places>();

export class BoundStates {
  readonly #byName: ReadonlyMap<string, number>;
  readonly #states: readonly (BoundState | undefined)[];

  private constructor(byName: ReadonlyMap<string, number>, states: readonly (BoundState | undefined)[]) {
    this.#byName = byName;
    this.#states = states;
  }

  /** @param stateOf - gives each state of the type by its TypeScript name; undefined: it is not among these. */
  static of(definition: ObjectDefinition, stateOf: (name: string) => BoundState | undefined): BoundStates {
    const { names, byName } = places(definition);
    return new BoundStates(byName, names.map(stateOf));
  }

  /** Those of an object that was never bound. */
  static none(definition: ObjectDefinition): BoundStates {
    return places(definition).none;
  }

  static placesOf(names: readonly string[]): Places {
    const byName = new Map(names.map((name, place) => [name, place]));
    return { names, byName, none: new BoundStates(byName, []) };
  }

  /** Undefined: the variant lacks it, or the type has no such state. */
  get(name: string): BoundState | undefined {
    const place = this.#byName.get(name);
    return place === undefined ? undefined : this.#states[place];
  }

  /** The same with another value of one state. */
  with(name: string, state: BoundState): BoundStates {
    const place = this.#byName.get(name);
    if (place === undefined) throw new TypeError(`the type has no state ${name}`);
    const states = [...this.#states];
    states[place] = state;
    return new BoundStates(this.#byName, states);
  }
}

/** The names of the states that objects of a type have. */
export function stateNames(definition: ObjectDefinition): readonly string[] {
  return places(definition).names;
}

function places(definition: ObjectDefinition): Places {
  let known = placesOf.get(definition);
  if (known === undefined) {
    const states = Object.entries(definition.$members).filter(([, { kind }]) => kind === "state");
    known = BoundStates.placesOf(states.map(([name]) => name));
    placesOf.set(definition, known);
  }
  return known;
}
