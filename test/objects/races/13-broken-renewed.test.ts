import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { Notebooks } from "../notebooks.ts";
import { holdNotes } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: a retry of a broken object renews it for everybody, also for its next window",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    let code = Code.NotFound;
    notebooks.onStart = () => {
      throw new ConnectError("no", code);
    };
    const [one, other] = [holdNotes(world), holdNotes(world)];
    await world.clock.advance(60_000);
    expect(other.$state.value).toMatchObject({ kind: "failed", retryAt: undefined });
    code = Code.Unavailable;
    one.$retry();
    await world.settle();
    expect(other.$state.value).toMatchObject({ kind: "failed", retryAt: expect.any(Number) });
    notebooks.onStart = () => undefined;
    await world.clock.advance(1_000);
    expect([one, other].map(({ $state }) => $state.value.kind)).toEqual(["live", "live"]);
  },
);
