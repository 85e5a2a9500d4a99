import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { gate, Notebooks } from "../notebooks.ts";
import { holdNotes } from "../suite.ts";
import { worlds } from "../world.ts";

const away = new ConnectError("away", Code.Unavailable);

it.each(worlds)(
  "in $name: an object that fails while it lingers ends, and is not tried again",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 60_000 });
    const notes = holdNotes(world);
    await world.settle();
    await notes.$release();
    await world.settle();
    notebooks.last.self.fail(away);
    await world.clock.advance(120_000);
    expect(notebooks.endedCount).toBe(1);
    expect(notebooks.activations).toHaveLength(1);
  },
);

it.each(worlds)(
  "in $name: the last release during the activation ends it, whatever its factory does then",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 60_000 });
    const ready = gate();
    notebooks.onStart = () => ready.passed;
    const notes = holdNotes(world);
    await world.settle();
    await notes.$release();
    await world.settle();
    expect(notebooks.last.self.signal.aborted).toBe(true);
    expect(notebooks.endedCount).toBe(0);
    ready.open();
    await world.settle();
    expect(notebooks.endedCount).toBe(1);
    expect(notebooks.activations).toHaveLength(1);
  },
);
