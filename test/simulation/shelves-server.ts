/** The held objects of the simulation's server: what each activation is, has and does goes into the history. */
import { Code, ConnectError } from "@connectrpc/connect";
import { sleep, type Timer } from "../../runtime/base/clock.ts";
import type { CommandContext } from "../../runtime/base/handlers.ts";
import type { Self, StateMember } from "../../runtime/base/objects.ts";
import { state } from "../../runtime/delta/state.ts";
import type { SimulatedProcess } from "../../runtime/testing/simulated-process.ts";
import type { Server } from "../../server/index.ts";
import { noteOf, type Schema } from "./builds.ts";
import type { QueueObject, ShelfObject } from "./gen/test/simulation/v1/shelves_holdfast.ts";
import type { Stand, StandSchema } from "./gen/test/simulation/v1/shelves_pb.ts";
import { create } from "@bufbuild/protobuf";
import type { Content, History } from "./history.ts";
import type { Ledger, Stage } from "./ledger.ts";
import type { Plan } from "./plan.ts";

/** How an activation goes. */
export interface StartFate {
  readonly takesMs: number;
  readonly fail: "transient" | "broken" | undefined;
  /** It fails by itself so many ms after its start; undefined: it does not. */
  readonly failsAfterMs: number | undefined;
  /** Its end takes so long. */
  readonly endMs: number;
}

export interface ShelvesParts {
  readonly ledger: Ledger;
  readonly history: History;
  /** Of the server's own build. */
  readonly schema: Schema;
  readonly startOf: () => StartFate;
  /** How this run of a handler fails; undefined: it does not. */
  readonly failureOf: (key: string) => "before" | "after" | "again" | undefined;
  readonly writers: Plan["writers"];
}

const nobody = "nobody";
/** Longer than a failure that passes is waited out by itself. */
const shelfAgainMs = 40_000;

/** One activation, as the history knows it. */
class Activation {
  readonly object: string;
  readonly name: string;
  readonly #history: History;
  readonly #schema: typeof StandSchema;
  readonly #changes = new Map<string, number>();

  constructor(object: string, name: string, history: History, schema: typeof StandSchema) {
    this.object = object;
    this.name = name;
    this.#history = history;
    this.#schema = schema;
  }

  /** The next stand of one of its states, and what else that will hold. */
  next(member: string, content: Content = {}): Stand {
    const change = (this.#changes.get(member) ?? -1) + 1;
    this.#changes.set(member, change);
    this.#history.add({ kind: "stand", member, activation: this.name, change, content });
    return create(this.#schema, { activation: this.name, change });
  }
}

type Command = { readonly key: string; readonly thinkMs: number };

export function serveShelves(server: Server, process: SimulatedProcess, parts: ShelvesParts): void {
  const { ledger, history, writers, failureOf, schema } = parts;
  const { Shelf, Queue, Room, messages, build } = schema;
  const { clock } = process;
  let madeCount = 0;

  const begin = async (object: string, self: Self): Promise<Activation> => {
    madeCount += 1;
    const made = new Activation(object, `${process.name} ${object} #${madeCount}`, history, messages.Stand);
    history.add({ kind: "made", object, activation: made.name, server: process.name });
    const { takesMs, fail, failsAfterMs, endMs } = parts.startOf();
    self.onEnd(async () => {
      if (endMs > 0) await sleep(clock, endMs);
      history.add({ kind: "unmade", activation: made.name });
    });
    if (takesMs > 0) await sleep(clock, takesMs, self.signal);
    if (fail === "transient") throw new ConnectError("not now", Code.Unavailable);
    if (fail === "broken") throw new ConnectError("cannot be", Code.FailedPrecondition);
    if (failsAfterMs !== undefined) {
      const timer = clock.timer(failsAfterMs, () =>
        self.fail(new ConnectError("worn out", Code.Unavailable)),
      );
      self.onEnd(() => timer.cancel());
    }
    return made;
  };
  const start = async ({ key, thinkMs }: Command, ctx: CommandContext): Promise<string> => {
    const by = ctx.caller.by ?? nobody;
    history.add({ kind: "started", key, callId: ctx.callId ?? "", server: process.name, by });
    if (thinkMs > 0) await sleep(clock, thinkMs, ctx.signal);
    if (failureOf(key) !== undefined) throw new Error("the handler fails");
    return by;
  };
  /** Puts a key into the store, then into the state. */
  const put = async (
    list: string,
    request: Command,
    ctx: CommandContext,
    show: () => void,
  ): Promise<{ by: string }> => {
    const by = await start(request, ctx);
    const reply = await ctx.transaction((tx) => {
      const { key } = request;
      (tx as Stage).append({ key, callId: ctx.callId ?? "", by, server: process.name, list });
      return { by };
    });
    show();
    return reply;
  };

  const markingOf = (name: string, made: Activation): Pick<ShelfObject, "marks" | "mark"> => {
    const list = `marks ${name}`;
    const first = { keys: [...ledger.keysOf(list)] };
    const marks = state(messages.Marks, { stand: made.next("marks", first), ...first });
    return {
      marks,
      mark: (request, ctx) =>
        put(list, request, ctx, () =>
          marks.update((draft) => {
            draft.stand = made.next("marks", { keys: [...draft.keys, request.key] });
            draft.keys.push(request.key);
          }),
        ),
    };
  };

  server.serve(
    Shelf,
    async ({ params: { name }, self }): Promise<ShelfObject> => {
      const made = await begin(`shelf ${name}`, self);
      const first = contentOf(build, ledger.keysOf(`shelf ${name}`));
      const keys = state(messages.Keys, { stand: made.next("keys", first), ...first });
      const knocks = state(messages.Knocks, { stand: made.next("knocks") });
      const marking = build === 2 ? markingOf(name, made) : undefined;
      return {
        keys,
        knocks,
        put: (request, ctx) =>
          put(`shelf ${name}`, request, ctx, () =>
            keys.update((draft) => {
              const next = contentOf(build, [...draft.keys, request.key]);
              draft.stand = made.next("keys", next);
              draft.keys.push(request.key);
              if (next.notes !== undefined) Object.assign(draft.notes, next.notes);
            }),
          ),
        ...marking,
        async knock(request, ctx) {
          const by = await start(request, ctx);
          const { key } = request;
          ledger.actElsewhere({ key, callId: ctx.callId ?? "", by, server: process.name });
          restand(knocks, made.next("knocks"));
          return { by };
        },
        look: () => ({ length: keys.value.keys.length }),
      } as ShelfObject;
    },
    { variant: ({ by }) => (mayWrite(writers, by) ? "writer" : "reader") },
  );

  server.serve(Queue, async ({ params: { name }, self }): Promise<QueueObject> => {
    const made = await begin(`queue ${name}`, self);
    const first = { keys: [...ledger.keysOf(`queue ${name}`)] };
    const waiting = state(messages.Waiting, { stand: made.next("waiting", first), ...first });
    return {
      waiting,
      push: (request, ctx) =>
        put(`queue ${name}`, request, ctx, () =>
          waiting.update((draft) => {
            draft.stand = made.next("waiting", { keys: [...draft.keys, request.key] });
            draft.keys.push(request.key);
          }),
        ),
    };
  });

  server.serve(Room, async ({ params: { name }, self }) => {
    const made = await begin(`room ${name}`, self);
    const shelf = await self.get(Shelf, { name });
    const first = shelf.keys.value.stand;
    const view = state(messages.View, {
      stand: made.next("view"),
      ...(first === undefined ? {} : { shelf: first }),
    });
    const stop = shelf.keys.subscribe(({ stand }) =>
      view.update((draft) => {
        draft.stand = made.next("view");
        if (stand !== undefined) draft.shelf = create(messages.Stand, stand);
      }),
    );
    // A room outlives a shelf that has failed for good: it asks for another one, and then again and again.
    let asking: Timer | undefined;
    const stopAsking = shelf.$state.subscribe(({ kind }) => {
      asking?.cancel();
      if (kind === "failed") asking = clock.timer(shelfAgainMs, () => shelf.$retry());
    });
    self.onEnd(() => {
      stop();
      stopAsking();
      asking?.cancel();
    });
    return { view };
  });
}

export function mayWrite(writers: Plan["writers"], by: string | undefined): boolean {
  return writers === "everybody" || (writers === "signedIn" ? by !== undefined : by === "alice");
}

function restand(member: StateMember<{ stand?: Stand | undefined } & object>, stand: Stand): void {
  member.update((draft) => {
    draft.stand = stand;
  });
}

/** What a shelf holds by its keys: the note of each, and that of the last one under a name of its own. */
function contentOf(
  build: number,
  keys: readonly string[],
): { keys: string[]; notes?: Record<string, string> } {
  if (build === 1) return { keys: [...keys] };
  const notes = Object.fromEntries(keys.map((key) => [key, noteOf(key)]));
  return { keys: [...keys], notes: { ...notes, last: noteOf(keys.at(-1) ?? "") } };
}
