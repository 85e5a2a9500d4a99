import { expect, it } from "vitest";
import { unsentBytesHigh } from "../../../runtime/wire/wire-end.ts";
import { Notebooks } from "../notebooks.ts";
import { holdNotes } from "../suite.ts";
import { remoteWorlds } from "../world.ts";

it.each(remoteWorlds)(
  "in $name: a slow watcher gets the newest value alone, memory stays bounded, and no old value comes last",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const notes = holdNotes(world);
    await world.settle();
    const heard: string[] = [];
    notes.title.subscribe(({ text }) => heard.push(text));
    const before = world.traffic.receivedBytes;
    const { provider } = world.ends();
    provider.heldBytes = unsentBytesHigh + 1;
    const long = "x".repeat(10_000);
    for (let round = 1; round <= 1_000; round++) {
      notebooks.last.title.update((draft) => void (draft.text = `${round} ${long}`));
      if (round % 100 === 0) await world.clock.advance(50);
    }
    expect(heard).toEqual([]);
    expect(world.traffic.receivedBytes - before).toBe(0);
    provider.heldBytes = 0;
    notebooks.last.title.update((draft) => void (draft.text = "last"));
    await world.clock.advance(50);
    expect(heard).toEqual(["last"]);
    // And from then on each change as it comes.
    notebooks.last.title.update((draft) => void (draft.text = "after"));
    await world.settle();
    expect(heard).toEqual(["last", "after"]);
    expect(world.traffic.receivedBytes - before).toBeLessThan(1_000);
  },
);
