import { expect, it } from "vitest";
import { Notebooks } from "../notebooks.ts";
import { holdNotes } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)("in $name: hold then release in one turn keeps the object as it is", async ({ create }) => {
  await using world = await create();
  const notebooks = new Notebooks(world.provider, { lingerMs: 0 });
  const first = holdNotes(world);
  await first.add({ text: "milk" });
  const second = holdNotes(world);
  await first.$release();
  await world.settle();
  expect(second.$state.value.kind).toBe("live");
  expect(second.entries.value.entries).toHaveLength(1);
  expect(notebooks.activations).toHaveLength(1);
});

it.each(worlds)(
  "in $name: release then hold in one turn, a hundred times, ends with one live object",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 0 });
    let notes = holdNotes(world);
    await world.settle();
    for (let round = 0; round < 100; round++) {
      void notes.$release();
      notes = holdNotes(world);
    }
    await world.settle();
    expect(notes.$state.value.kind).toBe("live");
    notebooks.last.title.update((draft) => void (draft.text = "still heard"));
    await world.settle();
    expect(notes.title.value.text).toBe("still heard");
    expect(notebooks.activations.length - notebooks.endedCount).toBe(1);
  },
);
