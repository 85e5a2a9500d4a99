/** What is over is let go of. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { Notebooks } from "./notebooks.ts";
import { memoryPipe } from "./pipes.ts";
import { remoteKind } from "./remote-world.ts";
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

describe.each([remoteKind(memoryPipe, "json"), remoteKind(memoryPipe, "msgpack")])(
  "in $name",
  ({ create }) => {
    it("a wire that closed is collected with all its tables", async () => {
      await using world = await create();
      new Notebooks(world.provider);
      const notes = holdNotes(world);
      await world.settle();
      const wires = [world.accepted(), world.connected(), world.ends().holder].map(
        (its) => new WeakRef<object>(its),
      );
      await world.link.drop();
      await world.link.connect();
      for (const wire of wires) expect(await isCollected(world, wire)).toBe(true);
      expect(notes.$state.value.kind).toBe("live");
    });

    it("a thousand drops leave nothing behind on a reference that is held", async () => {
      await using world = await create();
      new Notebooks(world.provider, { lingerMs: 60_000 });
      const notes = holdNotes(world);
      notes.title.subscribe(() => undefined);
      await notes.add({ text: "milk" });
      const usedAfter = async (drops: number): Promise<number> => {
        for (let count = 0; count < drops; count++) {
          await world.link.drop();
          const waits = notes.count({ text: "" });
          await world.link.connect();
          await waits;
        }
        for (let round = 0; round < 5; round++) {
          await world.settle();
          collect();
        }
        return process.memoryUsage().heapUsed;
      };
      const before = await usedAfter(200);
      const after = await usedAfter(1_000);
      expect(after - before).toBeLessThan(1_000_000);
      expect(notes.$state.value.kind).toBe("live");
    }, 120_000);
  },
);
