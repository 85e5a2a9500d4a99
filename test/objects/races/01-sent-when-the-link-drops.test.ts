import { Code } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { gate, Notebooks } from "../notebooks.ts";
import { failing, holdNotes, kept, outcomeOf } from "../suite.ts";
import { linkedWorlds } from "../world.ts";

it.each(linkedWorlds)(
  "in $name: what is sent at most once fails at the drop, outcome unknown, and is never sent again",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const done = gate();
    notebooks.onPoke = () => done.passed;
    const notes = holdNotes(world);
    await world.settle();
    const poke = kept(notes.poke({ text: "once" }));
    await world.settle();
    expect(notebooks.calls).toEqual(["poke once"]);
    await world.link.drop();
    expect(await outcomeOf(world, poke)).toEqual(
      failing({ reason: "NO_REPLY", code: Code.Unavailable, outcome: "unknown" }),
    );
    await world.link.connect();
    expect(notes.$state.value.kind).toBe("live");
    expect(notebooks.calls).toEqual(["poke once"]);
    done.open();
  },
);

it.each(linkedWorlds)(
  "in $name: once-commands and queries that were sent go again in their order, before what waited, and run once",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const done = gate();
    const ids: (string | undefined)[] = [];
    notebooks.onAdd = (_, { callId }) => {
      ids.push(callId);
      return done.passed;
    };
    notebooks.onCount = () => done.passed;
    const notes = holdNotes(world);
    await world.settle();
    const sent = [notes.add({ text: "a" }), notes.count({ text: "b" }), notes.add({ text: "c" })];
    await world.settle();
    await world.link.drop();
    const waited = [notes.add({ text: "d" }), notes.poke({ text: "e" })];
    expect(notebooks.calls).toEqual(["a", "count b", "c"]);
    await world.link.connect();
    const late = notes.add({ text: "f" });
    done.open();
    await world.settle();
    await Promise.all([...sent, ...waited, late]);
    // Only the query ran again.
    expect(notebooks.calls).toEqual(["a", "count b", "c", "count b", "d", "poke e", "f"]);
    expect(new Set(ids).size).toBe(4);
    expect(notes.entries.value.entries.map(({ text }) => text)).toEqual(["a", "c", "d", "f"]);
  },
);
