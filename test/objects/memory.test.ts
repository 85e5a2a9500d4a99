/** What is over is let go of. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { Notebooks } from "./notebooks.ts";
import { holdNotes } from "./suite.ts";
import { type ObjectWorld, worlds } from "./world.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Whether the engine has let go of it, once the turns are over in which it may still be on a stack. */
async function isCollected(world: ObjectWorld, ref: WeakRef<object>): Promise<boolean> {
  for (let round = 0; round < 20 && ref.deref() !== undefined; round++) {
    await world.settle();
    collect();
  }
  return ref.deref() === undefined;
}

describe.each(worlds)("in $name", ({ create }) => {
  it("a released reference is collected, while its object lives on", async () => {
    await using world = await create();
    new Notebooks(world.provider);
    const keeper = holdNotes(world);
    const released = await (async () => {
      const notes = holdNotes(world);
      notes.title.subscribe(() => undefined);
      notes.$state.subscribe(() => undefined);
      await notes.add({ text: "milk" });
      await notes.$release();
      return new WeakRef(notes);
    })();
    expect(await isCollected(world, released)).toBe(true);
    expect(keeper.$state.value.kind).toBe("live");
  });

  it("an object is collected when its linger is over", async () => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 1_000 });
    const object = await (async () => {
      const notes = holdNotes(world);
      await notes.add({ text: "milk" });
      await notes.$release();
      return new WeakRef(notebooks.last);
    })();
    await world.clock.advance(999);
    expect(object.deref()).toBeDefined();
    await world.clock.advance(1);
    notebooks.activations.length = 0;
    expect(await isCollected(world, object)).toBe(true);
  });
});
