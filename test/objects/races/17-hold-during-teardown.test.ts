import { expect, it } from "vitest";
import { gate, Notebooks } from "../notebooks.ts";
import { holdNotes } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: a hold while the last instance still ends waits for that, then has a fresh object",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 0 });
    const ending = gate();
    notebooks.onEnd = () => ending.passed;
    const old = holdNotes(world);
    await old.add({ text: "milk" });
    await old.$release();
    const fresh = holdNotes(world);
    await world.clock.advance(5_000);
    expect(fresh.$state.value.kind).toBe("loading");
    expect(notebooks.activations).toHaveLength(1);
    ending.open();
    await world.settle();
    expect(fresh.$state.value.kind).toBe("live");
    expect(fresh.entries.value.entries).toEqual([]);
  },
);

it.each(worlds)(
  "in $name: an end that hangs is left behind after the ready timeout, with a word in the log",
  async ({ create }) => {
    await using world = await create({ readyTimeoutMs: 10_000 });
    const notebooks = new Notebooks(world.provider, { lingerMs: 0 });
    notebooks.onEnd = () => gate().passed;
    const old = holdNotes(world);
    await world.settle();
    await old.$release();
    const fresh = holdNotes(world);
    await world.clock.advance(10_000);
    expect(fresh.$state.value.kind).toBe("live");
    expect(world.errors).toContainEqual(expect.stringContaining("has not ended in 10000 ms"));
  },
);
