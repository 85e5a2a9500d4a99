import { expect, it } from "vitest";
import { Notebooks } from "../notebooks.ts";
import { holdNotes } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: without a linger a new hold finds a fresh object, with nothing of the old one",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 0 });
    const old = holdNotes(world);
    await old.add({ text: "milk" });
    const before = notebooks.last;
    await old.$release();
    await world.settle();
    const fresh = holdNotes(world);
    await world.settle();
    before.title.update((draft) => void (draft.text = "said by the old one"));
    await world.settle();
    expect(fresh.entries.value.entries).toEqual([]);
    expect(fresh.title.value.text).toBe("S1");
  },
);
