/** What goes wrong with one call ends that call, and nothing else. */
import { expect, it } from "vitest";
import { Drafts } from "./drafts.ts";
import { Draft } from "./gen/test/objects/v1/notebook_holdfast.ts";
import { gate, Notebooks } from "./notebooks.ts";
import { failing, holdNotes, kept, outcomeOf } from "./suite.ts";
import { linkedWorlds, worlds } from "./world.ts";

const large = "x".repeat(5 * 1_048_576);

it.each(worlds)("in $name: headers that cannot be are a TypeError at the call", async ({ create }) => {
  await using world = await create();
  const notebooks = new Notebooks(world.provider);
  const notes = holdNotes(world);
  const headers = { "no name": "x" };
  await expect(notes.add({ text: "milk" }, { headers })).rejects.toThrow(TypeError);
  await world.settle();
  await expect(notes.count({ text: "" }, { headers })).rejects.toThrow(TypeError);
  expect(notebooks.calls).toEqual([]);
});

it.each(worlds)("in $name: a throw of onHeader or onTrailer rejects its call", async ({ create }) => {
  await using world = await create();
  const notebooks = new Notebooks(world.provider);
  notebooks.onAdd = (_, { responseHeader, responseTrailer }) => {
    responseHeader.set("a", "1");
    responseTrailer.set("b", "2");
  };
  const notes = holdNotes(world);
  await world.settle();
  const fail = (): never => {
    throw new RangeError("the program's own");
  };
  for (const callbacks of [{ onHeader: fail }, { onTrailer: fail }]) {
    expect(await outcomeOf(world, notes.add({ text: "milk" }, callbacks))).toEqual(
      new RangeError("the program's own"),
    );
  }
  expect(await outcomeOf(world, notes.add({ text: "eggs" }))).toMatchObject({ id: 3 });
});

it.each(linkedWorlds)(
  "in $name: a request that cannot be written ends its call, sent or after a wait, and no other",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const ready = gate();
    notebooks.onStart = () => ready.passed;
    const notes = holdNotes(world);
    await world.settle();
    const tooLarge = failing({ reason: "TOO_LARGE", outcome: "not-run" });
    const waited = [kept(notes.add({ text: large })), notes.add({ text: "milk" })];
    await expect(notes.add({ text: 5 as never })).rejects.toThrow(/expected string/);
    ready.open();
    await world.settle();
    expect(await outcomeOf(world, waited[0]!)).toEqual(tooLarge);
    expect(await outcomeOf(world, waited[1]!)).toMatchObject({ id: 1 });
    expect(await outcomeOf(world, notes.add({ text: large }))).toEqual(tooLarge);
    expect(await outcomeOf(world, notes.count({ text: large }))).toEqual(failing({ reason: "TOO_LARGE" }));
    expect(notes.$state.value.kind).toBe("live");
    expect(notebooks.calls).toEqual(["milk"]);
  },
);

it.each(linkedWorlds)(
  "in $name: a reply too large for a wire is an error of its call",
  async ({ create }) => {
    await using world = await create();
    const drafts = new Drafts(world.provider);
    drafts.echo = large;
    const draft = world.holder.hold(Draft, { name: "a" });
    await world.settle();
    expect(await outcomeOf(world, draft.count({}))).toEqual(failing({ code: expect.any(Number) }));
    drafts.echo = "";
    expect(await outcomeOf(world, draft.count({}))).toMatchObject({ count: 0 });
    expect(draft.$state.value.kind).toBe("live");
  },
);
