import { Code } from "@connectrpc/connect";
import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { state } from "../../../runtime/delta/state.ts";
import { Slow } from "../gen/test/objects/v1/notebook_holdfast.ts";
import { SlowProgressSchema } from "../gen/test/objects/v1/notebook_pb.ts";
import { gate, Notebooks } from "../notebooks.ts";
import { failing, kept, outcomeOf } from "../suite.ts";
import { Notebook } from "../gen/test/objects/v1/notebook_holdfast.ts";
import { remoteWorlds } from "../world.ts";

// What depends on a remote object lives in a host that serves and connects. A link serves nothing, and a server holds
// nothing from elsewhere, so that there is no such object between a server and a link.
it.each(remoteWorlds)(
  "in $name: an object that activates fails for now when what it waits for is dropped, and tries again once that is there",
  async (kind) => {
    await using world = await kind.create();
    const ready = gate();
    world.provider.serve(Slow, async () => {
      await ready.passed;
      return { progress: state(SlowProgressSchema), work: () => ({}) };
    });
    const notebooks = new Notebooks(world.holder);
    notebooks.onStart = async ({ self }) => {
      await self.get(Slow, { name: "disk" });
    };
    const notes = world.holder.hold(Notebook, { session: "S1" }, { variant: "editor" });
    await world.settle();
    expect(notes.$state.value.kind).toBe("loading");
    await world.link.drop();
    expect(notes.$state.value).toMatchObject({
      kind: "failed",
      cause: failing({ code: Code.Unavailable }),
      retryAt: expect.any(Number),
    });
    ready.open();
    await world.link.connect();
    expect(notes.$state.value.kind).toBe("live");
  },
);

it.each(remoteWorlds)(
  "in $name: one that is live stays live when what it depends on is dropped, and its calls there wait",
  async (kind) => {
    await using world = await kind.create();
    const progress = state(SlowProgressSchema);
    world.provider.serve(Slow, () => ({
      progress,
      work: ({ amount }: { readonly amount: number }) => {
        progress.replace(create(SlowProgressSchema, { done: amount }));
        return { done: amount };
      },
    }));
    const notebooks = new Notebooks(world.holder);
    let work: (amount: number) => Promise<unknown> = () => Promise.resolve();
    notebooks.onStart = async ({ self }) => {
      const slow = await self.get(Slow, { name: "disk" });
      work = (amount) => slow.work({ amount });
    };
    const notes = world.holder.hold(Notebook, { session: "S1" }, { variant: "editor" });
    await world.settle();
    await world.link.drop();
    expect(notes.$state.value.kind).toBe("live");
    const waits = kept(work(5));
    expect(await outcomeOf(world, waits)).toBe("waits");
    await world.link.connect();
    expect(await outcomeOf(world, waits)).toMatchObject({ done: 5 });
  },
);
