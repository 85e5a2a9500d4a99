/** A change between a value and the subscription to it is neither lost nor told twice. */
import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { EntrySchema } from "./gen/test/objects/v1/notebook_pb.ts";
import { Notebooks } from "./notebooks.ts";
import { holdNotes } from "./suite.ts";
import { worlds } from "./world.ts";

it.each(worlds)(
  "in $name: whoever joins a state that changes all the time sees it grow by one, and its end",
  async ({ create: make }) => {
    await using world = await make();
    const random = seededRandom(11);
    const notebooks = new Notebooks(world.provider);
    const first = holdNotes(world);
    await world.settle();
    const seen: { readonly counts: number[]; readonly notes: ReturnType<typeof holdNotes> }[] = [];
    for (let id = 1; id <= 500; id++) {
      if (random.chance(0.4)) {
        const notes = holdNotes(world);
        const counts: number[] = [];
        notes.entries.subscribe(({ entries }) => counts.push(entries.length));
        const now = notes.entries.get()?.entries.length;
        if (now !== undefined) counts.push(now);
        seen.push({ counts, notes });
      }
      notebooks.last.entries.update((draft) => draft.entries.push(create(EntrySchema, { id })));
      if (random.chance(0.1)) await world.settle();
    }
    await world.settle();
    expect(seen.length).toBeGreaterThan(150);
    for (const { counts, notes } of seen) {
      expect(notes.entries.value).toEqual(notebooks.last.entries.value);
      expect(counts.at(-1)).toBe(500);
      for (const [at, count] of counts.entries()) {
        if (at > 0) expect(count).toBeGreaterThan(counts[at - 1] ?? 0);
      }
    }
    expect(first.entries.value.entries).toHaveLength(500);
  },
);
