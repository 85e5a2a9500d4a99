import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { Notebooks } from "../notebooks.ts";
import { holdNotes } from "../suite.ts";
import { worlds } from "../world.ts";

const away = new ConnectError("away", Code.Unavailable);

it.each(worlds)(
  "in $name: a subscriber that is told of a binding sees all states of it at once",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const notes = holdNotes(world);
    const seen: unknown[] = [];
    notes.entries.subscribe(({ entries }) =>
      seen.push([entries.length, notes.title.value.text, notes.$state.value.kind]),
    );
    await world.settle();
    await notes.add({ text: "milk" });
    notebooks.last.self.fail(away);
    await world.clock.advance(250);
    expect(seen).toEqual([
      [0, "S1", "live"],
      [1, "S1", "live"],
      [0, "S1", "live"],
    ]);
  },
);

it.each(worlds)(
  "in $name: a subscriber that releases its own reference stops what it would have been told",
  async ({ create }) => {
    await using world = await create();
    new Notebooks(world.provider);
    const notes = holdNotes(world);
    const other = holdNotes(world);
    const heard: string[] = [];
    notes.entries.subscribe(() => void notes.$release());
    notes.title.subscribe(() => heard.push("title"));
    notes.$state.subscribe(({ kind }) => heard.push(kind));
    await world.settle();
    expect(heard).toEqual(["live", "released"]);
    expect(other.$state.value.kind).toBe("live");
  },
);

it.each(worlds)(
  "in $name: a subscriber that holds the same object and another one gets both",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const notes = holdNotes(world);
    const made: ReturnType<typeof holdNotes>[] = [];
    notes.entries.subscribe(() => {
      if (made.length === 0) made.push(holdNotes(world), holdNotes(world, "S2"));
    });
    await world.settle();
    expect(made.map(({ title }) => title.value.text)).toEqual(["S1", "S2"]);
    notebooks.activations[0]?.title.update((draft) => void (draft.text = "new"));
    await world.settle();
    expect([notes, ...made].map(({ title }) => title.value.text)).toEqual(["new", "new", "S2"]);
  },
);

it.each(worlds)("in $name: a subscriber that throws keeps nobody else from hearing", async ({ create }) => {
  await using world = await create();
  new Notebooks(world.provider);
  const notes = holdNotes(world);
  const thrown: unknown[] = [];
  const note = (error: unknown): void => void thrown.push(error);
  process.once("uncaughtException", note);
  const listeners = process.listeners("uncaughtException").filter((listener) => listener !== note);
  for (const listener of listeners) process.off("uncaughtException", listener);
  notes.title.subscribe(() => {
    throw new RangeError("the program's own");
  });
  const heard: string[] = [];
  notes.title.subscribe(({ text }) => heard.push(text));
  await world.settle();
  for (const listener of listeners) process.on("uncaughtException", listener);
  process.off("uncaughtException", note);
  expect(heard).toEqual(["S1"]);
  expect(thrown).toEqual([expect.any(RangeError)]);
  expect(notes.$state.value.kind).toBe("live");
});
