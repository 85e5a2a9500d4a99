/**
 * The class of an object's references: one for each definition, made at its first use, so that a reference itself is
 * one small object whose members lie in the prototype.
 *
 * Source: design "Held objects".
 */
import type { Message } from "@bufbuild/protobuf";
import type { CallOptions } from "../base/calls.ts";
import type { ObjectDefinition } from "../base/definition.ts";
import { asyncDispose } from "../base/dispose.ts";
import type { Reference, ReferenceState } from "../base/objects.ts";
import type { Watchable } from "../base/watchable.ts";
import type { HeldMember } from "./member.ts";
import type { ReferenceCore } from "./reference.ts";

/** What all references have; those of an object add its members. */
class HeldReference implements Reference {
  readonly #core: ReferenceCore;

  constructor(core: ReferenceCore) {
    this.#core = core;
  }

  static coreOf(reference: HeldReference): ReferenceCore {
    return reference.#core;
  }

  get $state(): Watchable<ReferenceState> {
    return this.#core.watchable;
  }

  get variant(): string | undefined {
    return this.#core.variant;
  }

  $retry(): void {
    this.#core.retry();
  }

  $release(): Promise<void> {
    this.#core.release();
    return Promise.resolve();
  }

  [asyncDispose](): Promise<void> {
    return this.$release();
  }
}

type ReferenceClass = new (core: ReferenceCore) => HeldReference;

const classes = new WeakMap<ObjectDefinition, ReferenceClass>();

/** What a program gets for a core. */
export function referenceTo(definition: ObjectDefinition, core: ReferenceCore): Reference {
  let made = classes.get(definition);
  if (made === undefined) classes.set(definition, (made = compiled(definition)));
  return new made(core);
}

/** What stands behind a reference. */
export function coreOf(reference: unknown): ReferenceCore {
  return HeldReference.coreOf(reference as HeldReference);
}

function compiled(definition: ObjectDefinition): ReferenceClass {
  const ReferenceOfType = class extends HeldReference {};
  const { prototype } = ReferenceOfType;
  for (const [name, member] of Object.entries(definition.$members)) {
    if (member.kind === "state") {
      Object.defineProperty(prototype, name, {
        get(this: HeldReference): HeldMember {
          return HeldReference.coreOf(this).member(name);
        },
        configurable: true,
      });
      continue;
    }
    const call = function (this: HeldReference, request: unknown, options?: CallOptions): Promise<Message> {
      return HeldReference.coreOf(this).call(name, member, request, options);
    };
    Object.defineProperty(prototype, name, { value: call, configurable: true, writable: true });
  }
  return ReferenceOfType;
}
