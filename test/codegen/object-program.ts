/** What a program does with generated held objects, and what must not compile. */
export const objectProgram = `
import type { DescMessage } from "@bufbuild/protobuf";
import type { CommandContext } from "holdfast/generated-v1";
import type { ObjectDefinition } from "../../../runtime/base/definition.ts";
import type { Holds, Member, ObjectContext, Reference, StateMember } from "../../../runtime/base/objects.ts";
import type { Account } from "./objects/a/v1/account_pb.ts";
import type { Entry } from "./objects/objects/v1/objects_pb.ts";
import {
  Counter, type CounterObject, type CounterReference, libraryClient, Notebook, type NotebookCoOwnerReference,
  type NotebookEditorReference, type NotebookObject, type NotebookReaderReference, type NotebookReference,
  type NotebookVariants, Window, type WindowReference,
} from "./objects/objects/v1/objects_holdfast.ts";
import { Reserved, type ReservedReference$ } from "./object-names/held/v1/names_holdfast.ts";

export async function one(link: Holds): Promise<void> {
  // An object of one variant is one interface.
  const counter = link.hold(Counter, {});
  counter satisfies CounterReference;
  counter.variant satisfies "" | undefined;
  if (counter.$state.value?.kind === "failed") counter.$retry();
  for await (const total of counter.total) total satisfies Entry;
  counter.total.value.id satisfies string;
  counter.total.get() satisfies Entry | undefined;
  counter.total.subscribe((total: Entry) => void total);
  (await counter.increase({ id: "1" }, { timeoutMs: 5 })) satisfies Entry;
  await counter.$release();
  await counter[Symbol.asyncDispose]();
  const live: CounterReference = await link.get(Counter, {}, { signal: AbortSignal.timeout(1), readyTimeoutMs: 1 });
  // @ts-expect-error: a live value is not set by its holders
  live.total.value = live.total.value;
  // @ts-expect-error: nor is the member
  live.total = live.total;
  // @ts-expect-error: a misspelt field
  await live.increase({ ID: "1" });
  // @ts-expect-error: it declares no variant to ask for
  link.hold(Counter, {}, { variant: "reader" });
  // @ts-expect-error: Empty has no fields
  link.hold(Counter, { session: "S1" });

  const window = await link.get(Window, { id: "1" }, { variant: "viewer" });
  window satisfies WindowReference;
  window.variant satisfies "viewer" | undefined;
  window.content.value.id satisfies string;
  // @ts-expect-error: no variant has it
  await window.write({});

  // What is only called stays what it was.
  (await libraryClient({} as never).find({})) satisfies Entry;
}

export async function several(link: Holds): Promise<void> {
  const notes = link.hold(Notebook, { session: "S1" }, { readyTimeoutMs: 5 });
  notes satisfies NotebookReference;
  notes.variant satisfies "reader" | "editor" | "co-owner" | undefined;
  // What all variants have needs no look at the variant.
  for await (const entry of notes.entries) entry.id satisfies string;
  await notes.$release();
  // @ts-expect-error: a reader has no add
  await notes.add({});
  if (notes.variant === "reader") {
    notes.seen.value satisfies Account;
    // @ts-expect-error: the same when it is known to be one
    await notes.add({});
  } else {
    // Not bound yet, an editor or an owner: the call waits, and is checked against the binding.
    (await notes.add({ id: "1" })) satisfies Entry;
    // @ts-expect-error: an editor has no poke
    await notes.poke({});
  }
  if (notes.variant === undefined) {
    await notes.poke({});
    notes.seen satisfies Member<Account>;
  }
  switch (notes.variant) {
    case "reader":
    case "co-owner":
      notes.seen.get() satisfies Account | undefined;
      break;
    case "editor":
      // @ts-expect-error: an editor does not see who saw it
      notes.seen.get();
      break;
    case undefined:
      break;
    default:
      notes satisfies never;
  }
  // @ts-expect-error: no such variant
  if (notes.variant === "raeder") return;

  // A program that is written for one variant says so.
  const editor = link.hold(Notebook, { session: "S1" }, { variant: "editor" });
  editor satisfies NotebookEditorReference;
  editor.variant satisfies "editor" | undefined;
  await editor.add({});
  // @ts-expect-error: an editor has no poke
  await editor.poke({});
  const owner: NotebookCoOwnerReference = await link.get(Notebook, { session: "S1" }, { variant: "co-owner" });
  await owner.poke({});
  const reader: NotebookReaderReference = link.hold(Notebook, {}, { variant: "reader", readyTimeoutMs: 1 });
  // @ts-expect-error: a reader has no add
  await reader.add({});
  // @ts-expect-error: no such variant
  link.hold(Notebook, {}, { variant: "raeder" });
  // @ts-expect-error: the one variant is not the other
  const wrong: NotebookEditorReference = link.hold(Notebook, {}, { variant: "reader" });
  // @ts-expect-error: a misspelt param
  link.hold(Notebook, { sesion: "S1" });

  // Code for any holder takes those of each variant; one that is not bound yet promises every member.
  const show = (any: NotebookReference | NotebookVariants[keyof NotebookVariants]): Entry => any.entries.value;
  [show(notes), show(editor), show(owner), show(reader), show(wrong)] satisfies Entry[];
  const release = (any: Reference): Promise<void> => any.$release();
  await Promise.all([release(notes), release(editor), release(owner), release(reader)]);
  const anyType = (type: ObjectDefinition): string => type.$service.typeName;
  [anyType(Notebook), anyType(Counter), anyType(Window)] satisfies string[];
}

// A reference is never thenable, whatever its members are called.
export async function reserved(link: Holds): Promise<ReservedReference$> {
  const held = await Promise.resolve(link.hold(Reserved, { id: "1" }));
  held.variant satisfies "read-only" | "readOnly" | "then" | "constructor" | "new" | "x-1" | undefined;
  const all = await link.get(Reserved, {}, { variant: "then" });
  await all.delete({}); await all.new({}); await all.class({}); await all.import({}); await all.await({});
  await all.default({}); await all.in({}); await all.enum({}); await all.then$({}); await all.constructor$({});
  all.watch.value.id satisfies string;
  const some = link.hold(Reserved, {}, { variant: "read-only" });
  await some.new({});
  // @ts-expect-error: not of this variant
  await some.delete({});
  return held;
}

declare function serve<Params extends DescMessage, Implementation>(
  type: ObjectDefinition<Params, Reference, Implementation>,
  factory: (context: ObjectContext<Params>) => NoInfer<Implementation> | Promise<NoInfer<Implementation>>,
): void;
declare function state<T>(): StateMember<T>;

const add: NotebookObject["add"] = (request, { callId }) => ({ id: callId ?? request.id });
const rest = {
  seen: state<Account>(),
  add,
  poke: () => ({}),
  typing: () => ({}),
  plain: async () => ({}),
  count: (request: Entry) => request,
};
serve(Notebook, ({ params, self }) => {
  params.session satisfies string;
  const depends = self.hold(Counter, {});
  self.onEnd(() => depends.$release());
  const entries = state<Entry>();
  return {
    ...rest,
    entries,
    add: (request, { callId, transaction }) => {
      callId satisfies string | undefined;
      entries.update((draft) => { draft.id = request.id; });
      return transaction(() => ({ id: request.id }));
    },
  };
});
serve(Counter, async () => ({ total: state<Entry>(), increase: (request) => request }));
// @ts-expect-error: a state is missing
serve(Notebook, () => rest);
// @ts-expect-error: a command is missing
serve(Counter, () => ({ total: state<Entry>() }));
serve(Counter, () => ({
  // @ts-expect-error: a state of another message
  total: state<Account>(),
  increase: (request) => request,
}));
export const counter: CounterObject = {
  total: state<Entry>(),
  // @ts-expect-error: a misspelt field in the reply
  increase: () => ({ ID: "1" }),
};
const { increase } = counter;
increase satisfies (request: Entry, context: CommandContext) => unknown;
export const query: Pick<NotebookObject, "count"> = {
  // @ts-expect-error: only a command has a call ID
  count: (request, { callId }) => ({ id: callId }),
};

Notebook.$lingerMs satisfies number;
Notebook.$variants.map(({ name, members }) => [name, ...members]) satisfies string[][];
Notebook.entries.kind satisfies "state";
Notebook.$members.add.kind satisfies "command";
Notebook.$params.typeName satisfies "a.v1.Account" | string;
`;
