import { expect, it } from "vitest";
import { gate, Notebooks } from "../notebooks.ts";
import { failing, holdNotes, kept, outcomeOf } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: a release at the moment of the binding sends none of the calls that waited",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const ready = gate();
    notebooks.onStart = () => ready.passed;
    const notes = holdNotes(world);
    const calls = ["a", "b", "c"].map((text) => kept(notes.add({ text })));
    notes.title.subscribe(() => void notes.$release());
    await world.settle();
    ready.open();
    for (const call of calls) {
      expect(await outcomeOf(world, call)).toEqual(failing({ reason: "RELEASED", outcome: "not-run" }));
    }
    expect(notebooks.calls).toEqual([]);
  },
);

it.each(worlds)(
  "in $name: a call whose deadline comes in the turn of the binding ends once",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const ready = gate();
    notebooks.onStart = () => ready.passed;
    const notes = holdNotes(world);
    const call = kept(notes.add({ text: "late" }, { timeoutMs: 1_000 }));
    const next = notes.add({ text: "in time" });
    world.clock.timer(1_000, () => ready.open());
    await world.settle();
    await world.clock.advance(1_000);
    expect(await outcomeOf(world, call)).toEqual(failing({ reason: "PARK_TIMEOUT", outcome: "not-run" }));
    await next;
    expect(notebooks.calls).toEqual(["in time"]);
  },
);
