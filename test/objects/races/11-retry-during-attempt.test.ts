import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { gate, Notebooks } from "../notebooks.ts";
import { holdNotes, statesOf } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: a retry during an attempt, while live and after the release does nothing",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const ready = gate();
    notebooks.onStart = () => ready.passed;
    const notes = holdNotes(world);
    const told = statesOf(notes);
    await world.settle();
    notes.$retry();
    notes.$retry();
    await world.settle();
    ready.open();
    await world.settle();
    notes.$retry();
    await world.settle();
    expect(notebooks.activations).toHaveLength(1);
    expect(told).toEqual(["loading", "live"]);

    notebooks.last.self.fail(new ConnectError("gone", Code.NotFound));
    await world.settle();
    notes.$retry();
    notes.$retry();
    await world.settle();
    expect(notebooks.activations).toHaveLength(2);
    await notes.$release();
    notes.$retry();
    await world.clock.advance(1_000);
    expect(notebooks.activations).toHaveLength(2);
  },
);
