import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { gate, Notebooks } from "../notebooks.ts";
import { failing, holdNotes, kept, outcomeOf } from "../suite.ts";
import { worlds } from "../world.ts";

it.each(worlds)(
  "in $name: a loop begun before the first binding waits, and gets the first value",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const ready = gate();
    notebooks.onStart = () => ready.passed;
    const notes = holdNotes(world);
    const next = notes.title[Symbol.asyncIterator]().next();
    expect(await outcomeOf(world, next)).toBe("waits");
    ready.open();
    expect(await outcomeOf(world, next)).toMatchObject({ value: { text: "S1" } });
  },
);

it.each(worlds)(
  "in $name: a loop that has had no value rejects with the cause, or with RELEASED",
  async ({ create }) => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const ready = gate();
    notebooks.onStart = () => ready.passed.then(() => Promise.reject(new ConnectError("no", Code.NotFound)));
    const [failed, released] = [holdNotes(world), holdNotes(world)];
    const atFailure = kept(failed.title[Symbol.asyncIterator]().next());
    const loop = released.title[Symbol.asyncIterator]();
    const atRelease = kept(loop.next());
    await world.settle();
    await released.$release();
    ready.open();
    expect(await outcomeOf(world, atFailure)).toEqual(failing({ code: Code.NotFound }));
    expect(await outcomeOf(world, atRelease)).toEqual(failing({ reason: "RELEASED" }));
    expect(await loop.next()).toEqual({ done: true, value: undefined });
  },
);
