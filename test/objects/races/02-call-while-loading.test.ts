import { expect, it } from "vitest";
import { gate, Notebooks } from "../notebooks.ts";
import { holdNotes, outcomeOf } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: a call made while the object loads runs once, as soon as it is live",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const ready = gate();
    notebooks.onStart = () => ready.passed;
    const notes = holdNotes(world);
    const call = notes.add({ text: "milk" });
    await world.clock.advance(30_000);
    expect(notebooks.calls).toEqual([]);
    ready.open();
    expect(await outcomeOf(world, call)).toMatchObject({ id: 1 });
    expect(notebooks.calls).toEqual(["milk"]);
  },
);
