import { expect, it } from "vitest";
import { gate, Notebooks } from "../notebooks.ts";
import { failing, holdNotes, kept, outcomeOf } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: a reference released while it loads rejects its calls, and nothing of them runs",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const ready = gate();
    notebooks.onStart = () => ready.passed;
    const notes = holdNotes(world);
    const call = kept(notes.add({ text: "milk" }));
    await world.settle();
    await notes.$release();
    await world.settle();
    ready.open();
    expect(await outcomeOf(world, call)).toEqual(failing({ reason: "RELEASED", outcome: "not-run" }));
    await world.clock.advance(1_000);
    expect(notebooks.calls).toEqual([]);
    expect(notes.$state.value.kind).toBe("released");
    expect(notebooks.endedCount).toBe(1);
  },
);
