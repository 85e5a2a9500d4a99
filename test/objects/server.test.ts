/** What objects have of their server: its store, and who holds them as the sign-in goes on. */
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { state } from "../../runtime/delta/state.ts";
import { Draft, Notebook } from "./gen/test/objects/v1/notebook_holdfast.ts";
import { DraftLinesSchema } from "./gen/test/objects/v1/notebook_pb.ts";
import { gate, Notebooks } from "./notebooks.ts";
import { failing, kept, outcomeOf } from "./suite.ts";
import { serverWorlds, worlds } from "./world.ts";

it.each(serverWorlds)(
  "in $name: a command's transaction is one commit with its reply, which a repeat after a drop gets",
  async ({ create }) => {
    await using world = await create();
    const lines = state(DraftLinesSchema, { lines: [] });
    const done = gate();
    let ranCount = 0;
    const nothing = (): Record<string, never> => ({});
    world.provider.serve(Draft, () => ({
      lines,
      late: nothing,
      early: nothing,
      merged: nothing,
      count: nothing,
      async plain({ line }, ctx) {
        ranCount += 1;
        const reply = await ctx.transaction(() => {
          if (line === "refused") throw new ConnectError("no", Code.NotFound);
          return { count: 7 };
        });
        await done.passed;
        return reply;
      },
    }));
    const draft = world.holder.hold(Draft, { name: "a" });
    await world.settle();
    const call = kept(draft.plain({ line: "x" }));
    await world.settle();
    await world.link.drop();
    done.open();
    await world.settle();
    await world.link.connect();
    expect(await outcomeOf(world, call)).toMatchObject({ count: 7 });
    expect(ranCount).toBe(1);
    expect(await outcomeOf(world, draft.plain({ line: "refused" }))).toEqual(
      failing({ code: Code.NotFound, outcome: "refused" }),
    );
    // What the server's own code calls has its transactions too, though nothing of it is kept.
    const inside = world.provider.hold(Draft, { name: "a" });
    expect(await outcomeOf(world, inside.plain({ line: "x" }))).toMatchObject({ count: 7 });
    await inside.$release();
  },
);

it.each(worlds.filter(({ name }) => !name.startsWith("a server")))(
  "in $name: a host without a store says so to a command that wants a transaction",
  async ({ create }) => {
    await using world = await create();
    const said: string[] = [];
    const notebooks = new Notebooks(world.provider);
    notebooks.onAdd = async (_, ctx) => {
      await ctx.transaction(() => ({})).catch((error: unknown) => said.push(String(error)));
    };
    const notes = world.holder.hold(Notebook, { session: "S1" }, { variant: "editor" });
    await world.settle();
    await outcomeOf(world, notes.add({ text: "milk" }));
    expect(said).toEqual([expect.stringMatching(/needs a server's store/)]);
  },
);

it.each(serverWorlds)(
  "in $name: a wire whose sign-in is renewed with other grants goes on, and its holds are bound anew",
  async ({ create }) => {
    let now = (): number => 0;
    let tokenCount = 0;
    await using world = await create({
      server: {
        authenticate: ({ token }) => ({
          by: "rita",
          grants: [token === "1" ? "write" : "read"],
          until: now() + 120_000,
        }),
      },
      client: { token: () => `${(tokenCount += 1)}` },
    });
    now = () => world.clock.now();
    new Notebooks(world.provider, {
      variant: ({ grants }) => (grants.includes("write") ? "editor" : "reader"),
    });
    const notes = world.holder.hold(Notebook, { session: "S1" });
    await world.settle();
    expect(notes.variant).toBe("editor");
    const events = { open: world.traffic.openCount };
    const told: string[] = [];
    notes.$state.subscribe(({ kind }) => told.push(kind));
    for (let count = 0; notes.variant === "editor" && count < 30; count++) await world.clock.advance(5_000);
    expect(notes.variant).toBe("reader");
    expect(told).toEqual(["loading", "live"]);
    expect(world.traffic.openCount).toBe(events.open);
  },
);
