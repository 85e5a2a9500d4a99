/**
 * What changes a state's message, as small operations on paths, before any codec. The same operations travel as
 * `holdfast.link.v1.Operation`; `to-wire.ts` and `from-wire.ts` translate.
 *
 * A {@link Change} always carries the whole new value too: values are frozen and share what did not change, so
 * that costs a pointer, and whoever is too far behind for operations takes the value.
 *
 * Source: design "Wire: State deltas".
 */
import type { DescField, Message } from "@bufbuild/protobuf";

/** From a message to one of those in it. */
export interface Step {
  readonly field: DescField;
  /** Which element of a list, or which entry of a map; undefined: the field's own message. */
  readonly at: number | string | undefined;
}

/** Where an operation works: from the state's message along the path, then this field. */
export interface Place {
  readonly path: readonly Step[];
  readonly field: DescField;
}

export type Operation =
  /** The field becomes what it is in `part`, a message of the type at the path; not set there: it is cleared. */
  | (Place & { readonly kind: "set"; readonly part: Message })
  /** The text grows at its end. */
  | (Place & { readonly kind: "append"; readonly text: string })
  /** Elements of a list go, and others come in their place. */
  | (Place & {
      readonly kind: "splice";
      readonly index: number;
      readonly deleteCount: number;
      readonly insert: readonly unknown[];
    })
  /** Entries of a map are put. */
  | (Place & { readonly kind: "put"; readonly entries: Readonly<Record<string, unknown>> })
  /** Keys of a map are removed. */
  | (Place & { readonly kind: "remove"; readonly keys: readonly string[] });

/** What a state has become. `version` is one more than before, or higher where changes were joined. */
export type Change<T = Message> =
  | {
      readonly kind: "value";
      readonly version: number;
      readonly value: T;
      /** What leads from the version before to the value; undefined: only the whole value does. */
      readonly operations: readonly Operation[] | undefined;
    }
  /** It has no value any more. */
  | { readonly kind: "failed"; readonly version: number; readonly failure: Error };

/** More operations than this in one change are sent as the whole value: each has its own path and part. */
export const operationCountMost = 1_000;

/** The fields of a message, or the entries of a map, by the names under which protobuf-es keeps them. */
export type Fields = Record<string, unknown>;

export function fieldsOf(message: object): Fields {
  return message as Fields;
}

/**
 * What the field holds: a scalar, a message, a list, a map; undefined when it is not set. What a proto2 message has
 * as its default does not count.
 */
export function ownValue(message: object, field: DescField): unknown {
  if (field.oneof !== undefined) {
    const chosen = fieldsOf(message)[field.oneof.localName] as Chosen | undefined;
    return chosen?.case === field.localName ? chosen.value : undefined;
  }
  return Object.hasOwn(message, field.localName) ? fieldsOf(message)[field.localName] : undefined;
}

/** A oneof as protobuf-es keeps it. */
export interface Chosen {
  readonly case: string | undefined;
  readonly value?: unknown;
}

/** Puts a value into the field of a message that is still being made. */
export function putValue(message: object, field: DescField, value: unknown): void {
  if (field.oneof === undefined) fieldsOf(message)[field.localName] = value;
  else fieldsOf(message)[field.oneof.localName] = { case: field.localName, value };
}
