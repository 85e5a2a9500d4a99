import { expect, it } from "vitest";
import { gate, Notebooks } from "../notebooks.ts";
import { failing, holdNotes, kept, outcomeOf } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: closing the holder's host releases its references and rejects their calls",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const ready = gate();
    notebooks.onStart = () => ready.passed;
    const notes = holdNotes(world);
    const call = kept(notes.add({ text: "milk" }));
    const loop = kept(notes.title[Symbol.asyncIterator]().next());
    await world.settle();
    const closed = world.holder.close();
    expect(notes.$state.value.kind).toBe("released");
    expect(await outcomeOf(world, call)).toEqual(failing({ reason: "RELEASED", outcome: "not-run" }));
    expect(await outcomeOf(world, loop)).toEqual(failing({ reason: "RELEASED" }));
    ready.open();
    await closed;
    await world.holder.close();
    expect(notebooks.calls).toEqual([]);
    expect(() => holdNotes(world)).toThrow(/closed/);
  },
);
