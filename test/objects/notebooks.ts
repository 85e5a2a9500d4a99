/** Notebooks whose starts and commands a test directs. */
import { create } from "@bufbuild/protobuf";
import type { CommandContext, HandlerContext } from "../../runtime/base/handlers.ts";
import type { ObjectContext, Self, StateMember } from "../../runtime/base/objects.ts";
import { state } from "../../runtime/delta/state.ts";
import type { Host } from "../../runtime/hold/host.ts";
import type { ServeOptions } from "../../runtime/hold/served-type.ts";
import { Notebook, type NotebookObject } from "./gen/test/objects/v1/notebook_holdfast.ts";
import {
  type AddRequest,
  type EntryList,
  EntryListSchema,
  EntrySchema,
  type NotebookParamsSchema,
  type NotebookTitle,
  NotebookTitleSchema,
} from "./gen/test/objects/v1/notebook_pb.ts";

type Context = ObjectContext<typeof NotebookParamsSchema>;

/** One activation. */
export class TestNotebook implements NotebookObject {
  readonly self: Self;
  readonly entries: StateMember<EntryList> = state(EntryListSchema, { entries: [] });
  readonly title: StateMember<NotebookTitle>;
  readonly #shop: Notebooks;

  constructor(shop: Notebooks, { params, self }: Context) {
    this.#shop = shop;
    this.self = self;
    this.title = state(NotebookTitleSchema, { text: params.session });
  }

  async add(request: AddRequest, context: CommandContext): Promise<{ id: number }> {
    this.#shop.calls.push(request.text);
    await this.#shop.onAdd(request, context);
    const id = this.entries.value.entries.length + 1;
    this.entries.update((draft) => draft.entries.push(create(EntrySchema, { id, text: request.text })));
    return { id };
  }

  edit(): Record<string, never> {
    return {};
  }

  async poke(request: { text: string }): Promise<{ count: number }> {
    this.#shop.calls.push(`poke ${request.text}`);
    await this.#shop.onPoke();
    return { count: this.#shop.calls.length };
  }

  async count(request: { text: string }, context: HandlerContext): Promise<{ count: number }> {
    this.#shop.calls.push(`count ${request.text}`);
    await this.#shop.onCount(context);
    return { count: this.entries.value.entries.length };
  }

  typing(): Record<string, never> {
    return {};
  }
}

/** All notebooks of a host. */
export class Notebooks {
  /** Every activation that began to be made, oldest first. */
  readonly activations: TestNotebook[] = [];
  /** The texts of the commands that began, oldest first. */
  readonly calls: string[] = [];
  endedCount = 0;
  /** Runs in the factory, before the object is there: throws, or waits. */
  onStart: (context: Context) => void | Promise<void> = () => undefined;
  onAdd: (request: AddRequest, context: CommandContext) => void | Promise<void> = () => undefined;
  onPoke: () => void | Promise<void> = () => undefined;
  onCount: (context: HandlerContext) => void | Promise<void> = () => undefined;
  onEnd: () => void | Promise<void> = () => undefined;

  constructor(host: Pick<Host, "serve">, options?: ServeOptions<typeof NotebookParamsSchema>) {
    host.serve(Notebook, (context) => this.#make(context), options);
  }

  /** The newest activation. */
  get last(): TestNotebook {
    const last = this.activations.at(-1);
    if (last === undefined) throw new Error("no notebook was made yet");
    return last;
  }

  async #make(context: Context): Promise<TestNotebook> {
    const made = new TestNotebook(this, context);
    this.activations.push(made);
    context.self.onEnd(async () => {
      await this.onEnd();
      this.endedCount += 1;
    });
    await this.onStart(context);
    return made;
  }
}

/** A promise that the test lets go on. */
export function gate(): { readonly passed: Promise<void>; open(): void } {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}
