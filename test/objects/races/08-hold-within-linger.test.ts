import { expect, it } from "vitest";
import { Notebooks } from "../notebooks.ts";
import { holdNotes, statesOf } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: a hold up to the last moment of the linger keeps the object, one after it does not",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 1_000 });
    const first = holdNotes(world);
    await first.add({ text: "milk" });
    for (const waitMs of [0, 50, 990]) {
      const last = holdNotes(world);
      await world.settle();
      await (waitMs === 0 ? first : last).$release();
      await last.$release();
      await world.clock.advance(waitMs);
      const again = holdNotes(world);
      await world.settle();
      expect(again.entries.value.entries).toHaveLength(1);
      await again.$release();
    }
    // What is held again when the timer of an earlier release comes is not ended by it.
    await world.clock.advance(500);
    const held = holdNotes(world);
    await world.clock.advance(5_000);
    expect(held.$state.value.kind).toBe("live");
    expect(notebooks.activations).toHaveLength(1);
    await held.$release();
    await world.clock.advance(1_010);
    const late = holdNotes(world);
    const told = statesOf(late);
    await world.settle();
    expect(told.at(-1)).toBe("live");
    expect(late.entries.value.entries).toEqual([]);
    expect(notebooks.activations).toHaveLength(2);
  },
);
