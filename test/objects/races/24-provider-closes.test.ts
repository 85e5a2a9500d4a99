import { expect, it } from "vitest";
import { gate, Notebooks } from "../notebooks.ts";
import { failing, holdNotes, kept, outcomeOf } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: when the provider closes, calls that wait end by their own deadline or with the reference",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const ready = gate();
    notebooks.onStart = () => ready.passed;
    const notes = holdNotes(world);
    const call = kept(notes.add({ text: "milk" }, { timeoutMs: 5_000 }));
    await world.settle();
    const closed = world.provider.close();
    ready.open();
    await closed;
    await world.clock.advance(5_000);
    const reason = world.link === undefined ? "RELEASED" : "PARK_TIMEOUT";
    expect(await outcomeOf(world, call)).toEqual(failing({ reason, outcome: "not-run" }));
    expect(notebooks.calls).toEqual([]);
    expect(notebooks.endedCount).toBe(1);
  },
);
