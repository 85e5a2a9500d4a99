import { expect, it } from "vitest";
import { Notebooks } from "../notebooks.ts";
import { holdNotes } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: two equal holds in one turn share one object, and each is released by itself",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 0 });
    const [one, other, elsewhere] = [holdNotes(world), holdNotes(world), holdNotes(world, "S2")];
    await world.settle();
    expect(notebooks.activations.map(({ title }) => title.value.text).sort()).toEqual(["S1", "S2"]);
    await one.add({ text: "milk" });
    await world.settle();
    expect(other.entries.value).toBe(one.entries.value);
    expect(elsewhere.entries.value.entries).toEqual([]);
    await one.$release();
    await one.$release();
    await world.settle();
    expect(other.$state.value.kind).toBe("live");
    expect(notebooks.endedCount).toBe(0);
    await other.$release();
    await world.settle();
    expect(notebooks.endedCount).toBe(1);
  },
);
