/** What one process of a client holds: references whose states and values go into the history. */
import { type Clock, sleep } from "../../runtime/base/clock.ts";
import type { CallOptions } from "../../runtime/base/calls.ts";
import type { Member, Reference } from "../../runtime/base/objects.ts";
import type { Link } from "../../runtime/link/link.ts";
import type { SimulatedProcess } from "../../runtime/testing/simulated-process.ts";
import type { Schema } from "./builds.ts";
import type {
  QueueReference,
  RoomReference,
  ShelfMembers,
} from "./gen/test/simulation/v1/shelves_holdfast.ts";
import type { Stand } from "./gen/test/simulation/v1/shelves_pb.ts";
import type { Content, History } from "./history.ts";
import type { HoldPlan, Op } from "./workload.ts";

interface Standing extends Content {
  readonly stand?: Stand | undefined;
}

export type Held =
  // Readers have fewer members: what they call in vain is told so.
  | { readonly type: "shelf"; readonly reference: Reference & ShelfMembers }
  | { readonly type: "queue"; readonly reference: QueueReference }
  | { readonly type: "room"; readonly reference: RoomReference };

export class Holder {
  readonly #clock: Clock;
  readonly #process: SimulatedProcess;
  readonly #link: Link;
  readonly #history: History;
  readonly #schema: Schema;
  readonly #held = new Map<number, Held>();

  constructor(clock: Clock, process: SimulatedProcess, link: Link, history: History, schema: Schema) {
    this.#clock = clock;
    this.#process = process;
    this.#link = link;
    this.#history = history;
    this.#schema = schema;
  }

  /** The name of the reference of a hold, as the history has it. */
  nameOf(id: number): string {
    return `${this.#process.name} ref ${id}`;
  }

  hold(plan: HoldPlan): void {
    const { id, type, name, thinkMs } = plan;
    if (this.#held.has(id)) return;
    const ref = this.nameOf(id);
    this.#history.add({ kind: "held", ref, object: `${type} ${name}` });
    const held = take(this.#link, plan, this.#schema);
    this.#held.set(id, held);
    const { reference } = held;
    let from = reference.$state.value.kind;
    reference.$state.subscribe((now) => {
      const cause = now.kind === "failed" ? now.cause.rawMessage : undefined;
      const { variant } = reference;
      this.#history.add({ kind: "refState", ref, from, to: now.kind, variant, cause });
      from = now.kind;
    });
    for (const [member, its] of membersOf(held, this.#schema)) {
      its.subscribe((value) => this.#value(ref, member, value));
      // The loop of a state that its server has not ends, also when a later one has it.
      if (thinkMs !== undefined && member !== "marks") void this.#loop(`${ref} loop`, member, its, thinkMs);
    }
  }

  release(id: number): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    void held.reference.$release();
  }

  /** Asks anew for what has failed: for all of it, or for one type's. */
  retry(only?: Held["type"]): void {
    for (const { type, reference } of this.#held.values())
      if (only === undefined || type === only) reference.$retry();
  }

  get(id: number): Held | undefined {
    return this.#held.get(id);
  }

  get shelfIds(): readonly number[] {
    return [...this.#held].filter(([, { type }]) => type === "shelf").map(([id]) => id);
  }

  /** Says what each reference shows just now. */
  look(): void {
    for (const [id, held] of this.#held) {
      const ref = this.nameOf(id);
      const now = held.reference.$state.value;
      const cause = now.kind === "failed" ? now.cause.rawMessage : undefined;
      this.#history.add({ kind: "shows", ref, state: now.kind, cause });
      if (now.kind !== "live") continue;
      for (const [member, its] of membersOf(held, this.#schema)) {
        const value = its.get();
        if (value?.stand === undefined) continue;
        const { activation, change } = value.stand;
        const { keys, notes } = value;
        this.#history.add({ kind: "seen", ref, member, activation, change, content: { keys, notes } });
      }
      if (held.type !== "room") continue;
      const { shelf } = held.reference.view.get() ?? {};
      if (shelf === undefined) continue;
      const { activation, change } = shelf;
      this.#history.add({ kind: "seen", ref, member: "keys", activation, change, content: undefined });
    }
  }

  #value(ref: string, member: string, { stand }: Standing): void {
    const { activation, change } = stand ?? { activation: "", change: -1 };
    this.#history.add({ kind: "value", ref, member, activation, change });
  }

  /** A loop, which skips what it is too slow for. */
  async #loop(ref: string, member: string, its: Member<Standing>, thinkMs: number): Promise<void> {
    try {
      for await (const value of its) {
        this.#value(ref, member, value);
        // No timer of the process: it has none of its own when its link is closed.
        if (thinkMs > 0) await this.#process.hold(sleep(this.#clock, thinkMs));
      }
      this.#history.add({ kind: "unwatched", ref, member });
    } catch {
      // Its reference failed, or was released, before a value came.
    }
  }
}

function take(link: Link, { type, name }: HoldPlan, { Shelf, Queue, Room }: Schema): Held {
  switch (type) {
    case "shelf":
      return { type, reference: link.hold(Shelf, { name }) as Reference & ShelfMembers };
    case "queue":
      return { type, reference: link.hold(Queue, { name }) };
    case "room":
      return { type, reference: link.hold(Room, { name }) };
  }
}

function membersOf(held: Held, { build }: Schema): readonly (readonly [string, Member<Standing>])[] {
  switch (held.type) {
    case "shelf":
      return [
        ["keys", held.reference.keys],
        ["knocks", held.reference.knocks],
        ...(build === 2 ? [["marks", held.reference.marks] as const] : []),
      ];
    case "queue":
      return [["waiting", held.reference.waiting]];
    case "room":
      return [["view", held.reference.view]];
  }
}

export async function callHeld(
  held: Held,
  { kind, key, thinkMs }: Op,
  options: CallOptions,
): Promise<{ readonly by?: string }> {
  if (held.type === "queue" && kind === "push") return held.reference.push({ key, thinkMs }, options);
  if (held.type !== "shelf") throw new TypeError(`a ${held.type} has no ${kind}`);
  if (kind === "put") return held.reference.put({ key, thinkMs }, options);
  if (kind === "mark") return held.reference.mark({ key, thinkMs }, options);
  if (kind === "knock") return held.reference.knock({ key, thinkMs }, options);
  await held.reference.look({ key }, options);
  return {};
}
