/**
 * A reference through a drop: it is loading while the network is away, calls wait, and when the network is back the
 * link holds the notebook again by itself and what waited is sent.
 *
 *   node --conditions=holdfast-source --import tsx examples/10-drops/main.ts
 */
import { linkOf, type Reference } from "holdfast";
import { createServer } from "holdfast/server";
import { faultyProxy } from "holdfast/testing/node";
import { Notebook } from "../notebook/gen/notebook/v1/notebook_holdfast.ts";
import { emptyNotebook } from "../notebook/notebook.ts";
import { listLine, stateLine } from "../notebook/show.ts";

/** Resolves when a reference stands so. */
async function until({ $state }: Reference, kind: "loading" | "live"): Promise<void> {
  for await (const state of $state) if (state.kind === kind) return;
}

const server = createServer().serve(Notebook, emptyNotebook);
const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
// A network of our own, to be taken away.
const network = await faultyProxy({ target: { port } });
const link = linkOf(network.origin);
try {
  // A reference at once, without a wait. It never rejects: what happens is in its state.
  const notes = link.hold(Notebook, { session: "S1" }, { variant: "editor" });
  console.log(`state: ${stateLine(notes.$state.value)}`);
  notes.$state.subscribe((state) => console.log(`state: ${stateLine(state)}`));
  notes.entries.subscribe((list) => console.log(`entries: ${listLine(list)}`));

  // Made while it loads, so it waits; sent once the notebook is live.
  const { id } = await notes.add({ text: "milk" });
  console.log(`milk is entry ${id}`);

  await network.refuse();
  network.cut();
  console.log("the network is gone");
  await until(notes, "loading");

  // The last value can be read all the time.
  console.log(`last seen: ${listLine(notes.entries.value)}`);
  const parked = [notes.add({ text: "bread" }), notes.add({ text: "apples" })];
  console.log("two calls wait");

  await network.accept();
  console.log("the network is back");
  // In the order in which they were made. The server's linger has kept the notebook meanwhile.
  for (const reply of await Promise.all(parked)) console.log(`done: entry ${reply.id}`);

  await notes.$release();
  await notes
    .add({ text: "late" })
    .catch((error: unknown) => console.log(`after the release: ${String(error)}`));
} finally {
  await link.close();
  await network.close();
  await server.close({ within: 0 });
}
