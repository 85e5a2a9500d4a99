import { expect, it } from "vitest";
import { gate, Notebooks } from "../notebooks.ts";
import { holdNotes, outcomeOf } from "../suite.ts";
import { linkedWorlds } from "../world.ts";

it.each(linkedWorlds)(
  "in $name: a once-command that ran on an object which is gone is answered with what was kept, not run on the fresh one",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 0 });
    const done = gate();
    notebooks.onAdd = () => done.passed;
    const notes = holdNotes(world);
    await world.settle();
    const add = notes.add({ text: "milk" });
    await world.settle();
    await world.link.drop();
    expect(notebooks.endedCount).toBe(1);
    done.open();
    await world.settle();
    await world.link.connect();
    expect(notebooks.activations).toHaveLength(2);
    expect(await outcomeOf(world, add)).toMatchObject({ id: 1 });
    expect(notebooks.calls).toEqual(["milk"]);
    expect(notes.entries.value.entries).toEqual([]);
  },
);
