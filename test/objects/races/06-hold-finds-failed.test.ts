import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { Notebooks } from "../notebooks.ts";
import { holdNotes, statesOf } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: a hold that finds the object failed is failed with its retryAt, then loading, then live",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    notebooks.onStart = () => {
      throw new ConnectError("away", Code.Unavailable);
    };
    const first = holdNotes(world);
    await world.settle();
    const second = holdNotes(world);
    const told = statesOf(second);
    await world.settle();
    const state = second.$state.value;
    expect(state).toEqual(first.$state.value);
    if (state.kind !== "failed" || state.retryAt === undefined) throw new Error("it has a next attempt");
    notebooks.onStart = () => undefined;
    await world.clock.advance(state.retryAt - world.clock.now() + 1);
    expect(told.slice(-3)).toEqual(["failed", "loading", "live"]);
  },
);
