import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { Notebooks } from "../notebooks.ts";
import { holdNotes, statesOf } from "../suite.ts";
import { linkedWorlds } from "../world.ts";

it.each(linkedWorlds)(
  "in $name: a drop makes a failed reference loading; the next connect holds again, and $retry without a link says nothing",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    notebooks.onStart = () => {
      throw new ConnectError("no such notebook", Code.NotFound);
    };
    const notes = holdNotes(world);
    const told = statesOf(notes);
    await world.settle();
    await world.link.drop();
    expect(notes.$state.value.kind).toBe("loading");
    notes.$retry();
    await world.link.connect();
    // Without a holder it ended; so this is a fresh attempt.
    expect(told).toEqual(["loading", "failed", "loading", "failed"]);
    expect(notebooks.activations).toHaveLength(2);
    notebooks.onStart = () => undefined;
    notes.$retry();
    await world.settle();
    expect(told.slice(-2)).toEqual(["loading", "live"]);
  },
);
