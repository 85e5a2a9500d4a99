import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { Notebooks } from "../notebooks.ts";
import { holdNotes, statesOf } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: when one holder of a failed object retries, all of them go with it",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    notebooks.onStart = () => {
      throw new ConnectError("away", Code.Unavailable);
    };
    const all = [holdNotes(world), holdNotes(world), holdNotes(world)];
    const told = all.map(statesOf);
    await world.settle();
    all[0]?.$retry();
    await world.settle();
    notebooks.onStart = () => undefined;
    all[1]?.$retry();
    await world.settle();
    const story = ["loading", "failed", "loading", "failed", "loading", "live"];
    expect(told).toEqual([story, story, story]);
    expect(notebooks.activations).toHaveLength(3);
  },
);
