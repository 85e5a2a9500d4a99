/**
 * A held object lives through a drop: ada writes in a notebook, bob reads it, both through a network that goes away
 * in between. What ada writes meanwhile waits; when the network is back both references are live again by
 * themselves, what waited is sent, and bob's view follows.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Link, linkOf } from "holdfast";
import { faultyProxy, type FaultyProxy } from "holdfast/testing/node";
import {
  Notebook,
  type NotebookEditorReference,
  type NotebookReaderReference,
} from "./gen/notebook/v1/notebook_holdfast.ts";
import { notebookServer } from "./notebook-server.ts";
import { listLine, stateLine } from "./show.ts";

/** Tells of what somebody sees or does. */
export type Say = (who: "ada" | "bob" | "network", text: string) => void;

const params = { session: "shopping" };

/** @returns whether the notebook and bob's view of it ended as they should. */
export async function playDrop(say: Say): Promise<boolean> {
  const server = notebookServer({ editors: ["ada"] });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  const proxy = await faultyProxy({ target: { port } });
  const linkAs = (name: string): Link => linkOf(proxy.origin, { account: name, token: () => name });
  const links = { ada: linkAs("ada"), bob: linkAs("bob") };
  try {
    const ada = await links.ada.get(Notebook, params, { variant: "editor" });
    const bob = await links.bob.get(Notebook, params, { variant: "reader" });
    return await write({ ada, bob, proxy }, say);
  } finally {
    // A link that closes releases what is held from it.
    await Promise.all([links.ada.close(), links.bob.close()]);
    await proxy.close();
    await server.close({ within: 0 });
  }
}

interface Stage {
  readonly ada: NotebookEditorReference;
  readonly bob: NotebookReaderReference;
  readonly proxy: FaultyProxy;
}

async function write({ ada, bob, proxy }: Stage, say: Say): Promise<boolean> {
  say("ada", `holds the notebook as ${ada.variant ?? ""}`);
  say("bob", `holds the notebook as ${bob.variant ?? ""}`);
  ada.$state.subscribe((state) => say("ada", `the notebook is ${stateLine(state)}`));
  bob.$state.subscribe((state) => say("bob", `the notebook is ${stateLine(state)}`));
  bob.entries.subscribe((list) => say("bob", `sees ${listLine(list)}`));

  const seen = sees(bob, "2 bread");
  await ada.add({ text: "milk" });
  await ada.add({ text: "bread" });
  await seen;

  const away = Promise.all([until(ada, "loading"), until(bob, "loading")]);
  await proxy.refuse();
  proxy.cut();
  say("network", "cuts the connections, and nobody listens any more");
  await away;

  const seenAfter = sees(bob, "3 apples");
  const waiting = [ada.add({ text: "apples" }), ada.edit({ id: 1, text: "oat milk" })] as const;
  say("ada", "adds apples and makes it oat milk: both calls wait");
  say("bob", `still sees ${listLine(bob.entries.value)}`);
  await sleep(1_500);
  await proxy.accept();
  say("network", "is back");
  await Promise.all(waiting);
  say("ada", "both calls are done, each ran once");
  await seenAfter;
  await sees(bob, "1 oat milk");
  return listLine(bob.entries.value) === "1 oat milk, 2 bread, 3 apples";
}

/** Resolves when a reference stands so. */
async function until({ $state }: Pick<NotebookReaderReference, "$state">, kind: string): Promise<void> {
  for await (const state of $state) if (state.kind === kind) return;
}

/** Resolves when a reader sees this. */
async function sees({ entries }: NotebookReaderReference, text: string): Promise<void> {
  for await (const list of entries) if (listLine(list).includes(text)) return;
}
