import { expect, it } from "vitest";
import { memoryPair } from "../../../runtime/wire/memory.ts";
import { Notebooks } from "../notebooks.ts";
import { holdNotes } from "../suite.ts";
import { remoteWorlds } from "../world.ts";

// A link opens its wires by itself, one after the other: no program can call `connect` too early there. What is like it,
// a wire that opens while the one before still answers, is in drops.test.ts.
it.each(remoteWorlds)(
  "in $name: connect throws until the wire before has closed wholly, and then holds again",
  async ({ create }) => {
    await using world = await create();
    new Notebooks(world.provider);
    const notes = holdNotes(world);
    await world.settle();
    const [mine] = memoryPair();
    expect(() => world.holder.connect(mine)).toThrow(/has not closed yet/);
    const { closed } = world.connected();
    world.connected().close();
    expect(() => world.holder.connect(mine)).toThrow(/has not closed yet/);
    await world.settle();
    await closed;
    expect(notes.$state.value.kind).toBe("loading");
    await world.link.connect();
    expect(notes.$state.value.kind).toBe("live");
  },
);
