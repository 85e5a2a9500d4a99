import { expect, it } from "vitest";
import { gate, Notebooks } from "../notebooks.ts";
import { holdNotes, outcomeOf, statesOf } from "../suite.ts";
import { linkedWorlds } from "../world.ts";

it.each(linkedWorlds)(
  "in $name: a drop before the object is bound again leaves it loading, and the next connect holds again",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 0 });
    const notes = holdNotes(world);
    const told = statesOf(notes);
    await world.settle();
    const ready = gate();
    notebooks.onStart = () => ready.passed;
    const call = notes.add({ text: "milk" });
    await world.settle();
    await call;
    const got = world.holder.get((await import("../gen/test/objects/v1/notebook_holdfast.ts")).Notebook, {
      session: "S2",
    });
    for (let round = 0; round < 3; round++) {
      await world.link.drop();
      await world.link.connect();
      expect(notes.$state.value.kind).toBe("loading");
      expect(await outcomeOf(world, got)).toBe("waits");
    }
    ready.open();
    await world.settle();
    expect(told).toEqual(["loading", "live", "loading", "live"]);
    expect((await got).$state.value.kind).toBe("live");
  },
);
