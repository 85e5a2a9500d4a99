import { expect, it } from "vitest";
import { Notebook } from "../gen/test/objects/v1/notebook_holdfast.ts";
import { Notebooks } from "../notebooks.ts";
import { failing, kept, outcomeOf } from "../suite.ts";
import { linkedWorlds, remoteWorlds } from "../world.ts";

it.each(linkedWorlds)(
  "in $name: a reconnect that binds another variant changes all at once; what waited is checked against the new one",
  async ({ create }) => {
    await using world = await create();
    let variant = "editor";
    const notebooks = new Notebooks(world.provider, { variant: () => variant });
    const notes = world.holder.hold(Notebook, { session: "S1" });
    await world.settle();
    if (notes.variant === "reader") throw new Error("it is an editor's");
    expect(notes.variant).toBe("editor");
    await notes.add({ text: "milk" });
    const seen: unknown[] = [];
    notes.title.subscribe(() => seen.push(notes.variant));
    await world.link.drop();
    expect(notes.variant).toBe("editor");
    const waited = kept(notes.add({ text: "eggs" }));
    variant = "reader";
    await world.link.connect();
    expect(notes.variant).toBe("reader");
    expect(await outcomeOf(world, waited)).toEqual(failing({ reason: "NO_SUCH_MEMBER", outcome: "not-run" }));
    await expect(notes.add({ text: "bread" })).rejects.toEqual(failing({ reason: "NO_SUCH_MEMBER" }));
    expect(notes.entries.value.entries.map(({ text }) => text)).toEqual(["milk"]);
    expect(notebooks.calls).toEqual(["milk"]);
  },
);

it.each(remoteWorlds)(
  "in $name: other grants of who is there bind anew over the same wire, and a refusal fails",
  async ({ create }) => {
    await using world = await create({ caller: { by: "rita", grants: ["write"] } });
    new Notebooks(world.provider, {
      variant: ({ grants }) =>
        grants.includes("write") ? "editor" : grants.includes("read") ? "reader" : undefined,
    });
    const notes = world.holder.hold(Notebook, { session: "S1" });
    const told: (string | undefined)[] = [];
    notes.$state.subscribe(({ kind }) => told.push(`${kind} ${notes.variant ?? ""}`));
    await world.settle();
    world.accepted().regrant({ by: "rita", grants: ["read"] });
    await world.settle();
    expect(told).toEqual(["live editor", "loading editor", "live reader"]);
    world.accepted().regrant({ by: "rita", grants: [] });
    await world.settle();
    expect(notes.$state.value.kind).toBe("failed");
    world.accepted().regrant({ by: "rita", grants: ["write"] });
    await world.settle();
    expect(notes.variant).toBe("editor");
    expect(notes.$state.value.kind).toBe("live");
  },
);
