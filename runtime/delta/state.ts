/**
 * A state of a served object: a value that changes by drafts, and tells what changed.
 *
 * Source: design "Wire: State deltas".
 */
import { create, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { create as produce } from "mutative";
import { FewSet } from "../base/few-set.ts";
import type { StateMember, StateSource } from "../base/objects.ts";
import { operationsBetween } from "./diff.ts";
import type { Change, Operation } from "./operation.ts";
import { settled } from "./settled.ts";

/**
 * Makes a state, for an object's factory to return.
 *
 * ```ts
 * const entries = state(EntryListSchema, { entries: [] });
 * entries.update((draft) => draft.entries.push(create(EntrySchema, { text: "milk" })));
 * ```
 *
 * @param first - its first value. A message that is given becomes the state's own, and is frozen. Default: the
 * empty message.
 * @throws TypeError for a value that does not fit the schema.
 */
export function state<Desc extends DescMessage>(
  schema: Desc,
  first?: MessageInitShape<Desc>,
): StateMember<MessageShape<Desc>> {
  return new State<Desc>(schema, first === undefined ? create(schema) : create(schema, first));
}

/** Whether it was made by {@link state}: a factory may return anything. */
export function isState(value: unknown): value is StateMember<MessageShape<DescMessage>> {
  return value instanceof State;
}

type Hear<T> = (change: Change<T>) => void;

/** What a state has become so far, and who hears of it: the host's view. */
class Cell<T> implements StateSource<T, Change<T>> {
  readonly schema: DescMessage;
  value: T;
  version = 1;
  failure: Error | undefined;
  readonly #listeners = new FewSet<Hear<T>>();
  /** Changes that a listener made while another change is being told: all hear them in order. */
  #untold: Change<T>[] | undefined;
  #telling = false;

  constructor(schema: DescMessage, value: T) {
    this.schema = schema;
    this.value = value;
  }

  subscribe(fn: Hear<T>): () => void {
    // A wrapper of its own, so that one function subscribed twice is called twice and removed once.
    const listener: Hear<T> = (change) => fn(change);
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(change: Change<T>): void {
    const untold = (this.#untold ??= []);
    untold.push(change);
    if (this.#telling) return;
    this.#telling = true;
    try {
      for (let next = untold.shift(); next !== undefined; next = untold.shift()) {
        for (const listener of this.#listeners.all()) if (this.#listeners.has(listener)) listener(next);
      }
    } finally {
      this.#telling = false;
      if (untold.length === 0) this.#untold = undefined;
    }
  }
}

class State<Desc extends DescMessage> implements StateMember<MessageShape<Desc>> {
  readonly #schema: Desc;
  readonly #cell: Cell<MessageShape<Desc>>;
  #drafting = false;

  constructor(schema: Desc, first: MessageShape<Desc>) {
    this.#schema = schema;
    this.#cell = new Cell(schema, settled(schema, first));
  }

  get value(): MessageShape<Desc> {
    return this.#cell.value;
  }

  get source(): StateSource<MessageShape<Desc>, Change<MessageShape<Desc>>> {
    return this.#cell;
  }

  update(change: (draft: MessageShape<Desc>) => void): void {
    this.#assertUsable("update");
    const before = this.value;
    this.#drafting = true;
    let after: MessageShape<Desc>;
    try {
      after = drafted(before, change);
    } finally {
      this.#drafting = false;
    }
    if (after === before) return;
    settled(this.#schema, after, before);
    const operations = operationsBetween(this.#schema, before, after);
    if (operations?.length !== 0) this.#become(after, operations);
  }

  replace(value: MessageShape<Desc>): void {
    this.#assertUsable("replace");
    if (value !== this.value) this.#become(settled(this.#schema, value), undefined);
  }

  fail(cause: Error): void {
    this.#assertUsable("fail");
    const cell = this.#cell;
    cell.failure = cause;
    cell.version += 1;
    cell.tell({ kind: "failed", version: cell.version, failure: cause });
  }

  #become(value: MessageShape<Desc>, operations: readonly Operation[] | undefined): void {
    const cell = this.#cell;
    cell.value = value;
    cell.version += 1;
    cell.tell({ kind: "value", version: cell.version, value, operations });
  }

  #assertUsable(what: string): void {
    const name = this.#schema.typeName;
    if (this.#cell.failure !== undefined) {
      throw new TypeError(`holdfast: ${what} of a state of ${name} that has failed`, {
        cause: this.#cell.failure,
      });
    }
    if (this.#drafting) {
      throw new TypeError(
        `holdfast: ${what} of a state of ${name} inside its own update. Change the draft that update gives.`,
      );
    }
  }
}

/** Bytes are replaced, not drafted; messages of proto2 have a prototype of their own, and are. */
function mark(target: unknown): "immutable" | undefined {
  return target instanceof Uint8Array ? undefined : "immutable";
}

function drafted<T extends object>(before: T, change: (draft: T) => void): T {
  // What it returns is of no interest: `(draft) => draft.list.push(…)` returns a number.
  const run: (draft: T) => unknown = change;
  return produce(
    before,
    (draft) => {
      const returned = run(draft as T);
      if (returned instanceof Promise) {
        returned.catch(() => undefined);
        throw new TypeError("holdfast: update takes a function that is not async. Wait first, then update.");
      }
    },
    { mark },
  );
}
