/** What every world's references and objects do: the tables of docs/guide/objects.md, row by row. */
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { HoldfastError } from "../../runtime/base/errors.ts";
import type { ReferenceState } from "../../runtime/base/objects.ts";
import {
  Counter,
  Notebook,
  type NotebookEditorReference,
  Slow,
} from "./gen/test/objects/v1/notebook_holdfast.ts";
import { gate, Notebooks } from "./notebooks.ts";
import type { ObjectWorld, World } from "./world.ts";

/** A reference as an editor's program has it. */
export function holdNotes(world: ObjectWorld, session = "S1"): NotebookEditorReference {
  return world.holder.hold(Notebook, { session }, { variant: "editor" });
}

/** Every state of a reference from now on. */
export function statesOf(notes: NotebookEditorReference): ReferenceState["kind"][] {
  const kinds: ReferenceState["kind"][] = [notes.$state.value.kind];
  notes.$state.subscribe(({ kind }) => kinds.push(kind));
  return kinds;
}

/** What a promise came to, or "waits". */
export async function outcomeOf(world: ObjectWorld, promise: Promise<unknown>): Promise<unknown> {
  let outcome: unknown = "waits";
  promise.then(
    (value) => (outcome = value),
    (error: unknown) => (outcome = error),
  );
  await world.settle();
  return outcome;
}

/** A promise whose rejection is looked at later. */
export function kept<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Attributes of an error of a reference or of a call on it. */
export function failing(init: Partial<Pick<HoldfastError, "reason" | "code" | "outcome">>): unknown {
  return expect.objectContaining(init);
}

const transient = (): ConnectError => new ConnectError("the disk is away", Code.Unavailable);
const broken = (): ConnectError => new ConnectError("no such notebook", Code.NotFound);

/** An object that fails so at its start, and is held. */
async function failedNotes(
  world: ObjectWorld,
  cause: () => Error,
): Promise<{ readonly notebooks: Notebooks; readonly notes: NotebookEditorReference }> {
  const notebooks = new Notebooks(world.provider);
  notebooks.onStart = () => {
    throw cause();
  };
  const notes = holdNotes(world);
  await world.settle();
  return { notebooks, notes };
}

export function objectSuite({ name, create }: World): void {
  describe(`in ${name}`, () => {
    referenceTable(create);
    acquisitionTable(create);
    parkingRules(create);
    retryRules(create);
    lingerRules(create);
    variantRules(create);
    watchRules(create);
    contextRules(create);
  });
}

function referenceTable(create: World["create"]): void {
  describe("a reference", () => {
    it("that is loading holds calls back, and before the first binding a read throws NOT_READY", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const ready = gate();
      notebooks.onStart = () => ready.passed;
      const notes = holdNotes(world);
      expect(notes.$state.value).toEqual({ kind: "loading" });
      expect(notes.variant).toBeUndefined();
      expect(() => notes.entries.value).toThrow(failing({ reason: "NOT_READY" }));
      expect(notes.entries.get()).toBeUndefined();
      const reply = notes.add({ text: "milk" });
      expect(await outcomeOf(world, reply)).toBe("waits");
      ready.open();
      expect(await outcomeOf(world, reply)).toMatchObject({ id: 1 });
    });

    it("that is live runs calls, and its members are readable", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = holdNotes(world);
      await world.settle();
      expect(notes.$state.value).toEqual({ kind: "live" });
      expect(notes.variant).toBe("editor");
      expect(notes.title.value.text).toBe("S1");
      notebooks.last.title.update((draft) => void (draft.text = "Groceries"));
      await world.settle();
      expect(notes.title.value.text).toBe("Groceries");
      expect(notes.title.get()).toBe(notes.title.value);
      await expect(notes.count({ text: "" })).resolves.toMatchObject({ count: 0 });
    });

    it("that is failed rejects calls at once with the cause, and reads throw it", async () => {
      await using world = await create();
      const { notes, notebooks } = await failedNotes(world, broken);
      const cause = failing({ code: Code.NotFound });
      expect(notes.$state.value).toMatchObject({ kind: "failed", cause, retryAt: undefined });
      await expect(notes.add({ text: "milk" })).rejects.toEqual(
        failing({ code: Code.NotFound, outcome: "not-run" }),
      );
      expect(() => notes.entries.value).toThrow(cause);
      expect(notebooks.calls).toEqual([]);
    });

    it("that failed after it was live keeps its last values for whoever only looks", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = holdNotes(world);
      await world.settle();
      notebooks.last.self.fail(broken());
      await world.settle();
      expect(notes.$state.value.kind).toBe("failed");
      expect(notes.variant).toBe("editor");
      expect(notes.title.get()?.text).toBe("S1");
      expect(() => notes.title.value).toThrow(failing({ code: Code.NotFound }));
    });

    it("that is loading again has its last values", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = holdNotes(world);
      await world.settle();
      const again = gate();
      notebooks.onStart = () => again.passed;
      notebooks.last.self.fail(transient());
      await world.clock.advance(250);
      expect(notes.$state.value.kind).toBe("loading");
      expect(notes.title.value.text).toBe("S1");
      again.open();
    });

    it("that is released rejects calls, reads throw, and twice is once", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider, { lingerMs: 0 });
      const [notes, other] = [holdNotes(world), holdNotes(world)];
      await world.settle();
      await notes.$release();
      await notes.$release();
      expect(notes.$state.value).toEqual({ kind: "released" });
      await expect(notes.add({ text: "milk" })).rejects.toEqual(
        failing({ reason: "RELEASED", outcome: "not-run" }),
      );
      expect(() => notes.entries.value).toThrow(failing({ reason: "RELEASED" }));
      await world.settle();
      expect(notebooks.endedCount).toBe(0);
      await expect(other.add({ text: "milk" })).resolves.toMatchObject({ id: 1 });
    });

    it("tells every state in order, and on release its loops end without what they have not taken", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = holdNotes(world);
      const told = statesOf(notes);
      const seen: string[] = [];
      const quick = (async () => {
        for await (const { kind } of notes.$state) seen.push(kind);
      })();
      const slow = notes.$state[Symbol.asyncIterator]();
      await world.settle();
      notebooks.last.self.fail(transient());
      await world.clock.advance(250);
      await world.settle();
      await notes.$release();
      await quick;
      expect(told).toEqual(["loading", "live", "failed", "loading", "live", "released"]);
      expect(seen).toEqual(["loading", "live", "failed", "loading", "live"]);
      expect(await slow.next()).toEqual({ done: true, value: undefined });
    });
  });
}

function acquisitionTable(create: World["create"]): void {
  describe("hold and get", () => {
    it("throw and reject for params that do not fit", async () => {
      await using world = await create();
      new Notebooks(world.provider);
      const params = { session: 5 } as unknown as { session: string };
      const refusal = failing({ code: Code.InvalidArgument });
      expect(() => world.holder.hold(Notebook, params)).toThrow(refusal);
      await expect(world.holder.get(Notebook, params)).rejects.toEqual(refusal);
    });

    it("of an object that activates: hold is loading, get waits, and both are live with it", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const ready = gate();
      notebooks.onStart = () => ready.passed;
      const notes = holdNotes(world);
      const got = world.holder.get(Notebook, { session: "S1" });
      expect(await outcomeOf(world, got)).toBe("waits");
      ready.open();
      await got;
      expect(notes.$state.value.kind).toBe("live");
      expect(notebooks.activations).toHaveLength(1);
    });

    it("of an object that fails for now: hold is failed and tells when, then loading; get waits", async () => {
      await using world = await create();
      const { notebooks, notes } = await failedNotes(world, transient);
      const state = notes.$state.value;
      expect(state).toMatchObject({ kind: "failed", cause: failing({ code: Code.Unavailable }) });
      if (state.kind !== "failed" || state.retryAt === undefined) throw new Error("it will be tried again");
      expect(state.retryAt - world.clock.now()).toBeLessThanOrEqual(250);
      const got = world.holder.get(Notebook, { session: "S1" });
      expect(await outcomeOf(world, got)).toBe("waits");
      const ready = gate();
      notebooks.onStart = () => ready.passed;
      await world.clock.advance(250);
      expect(notes.$state.value.kind).toBe("loading");
      ready.open();
      expect((await got).$state.value.kind).toBe("live");
    });

    it("of an object that goes on failing: get rejects at its deadline with the last cause, and holds no more", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      let attempts = 0;
      notebooks.onStart = () => {
        throw new ConnectError(`attempt ${(attempts += 1)}`, Code.Unavailable);
      };
      const got = world.holder.get(Notebook, { session: "S1" }, { readyTimeoutMs: 3_000 });
      const outcome = outcomeOf(world, got);
      await outcome;
      await world.clock.advance(2_999);
      expect(await outcomeOf(world, got)).toBe("waits");
      const last = attempts;
      await world.clock.advance(1);
      await expect(got).rejects.toEqual(failing({ code: Code.Unavailable }));
      await expect(got).rejects.toThrow(`attempt ${last}`);
      await world.clock.advance(60_000);
      expect(attempts).toBe(last);
    });

    it("of a broken object: hold is failed, get rejects at once", async () => {
      await using world = await create();
      const { notes } = await failedNotes(world, broken);
      expect(notes.$state.value).toMatchObject({ kind: "failed", retryAt: undefined });
      const got = world.holder.get(Notebook, { session: "S1" });
      expect(await outcomeOf(world, got)).toEqual(failing({ code: Code.NotFound }));
    });

    it("of an object that is live: both are live", async () => {
      await using world = await create();
      new Notebooks(world.provider);
      const first = await world.holder.get(Notebook, { session: "S1" });
      const second = await world.holder.get(Notebook, { session: "S1" }, { variant: "editor" });
      expect([first.$state.value.kind, second.$state.value.kind]).toEqual(["live", "live"]);
      expect(second.title.value.text).toBe("S1");
    });

    it("that is aborted: get releases and rejects ABORTED", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      notebooks.onStart = () => gate().passed;
      const stop = new AbortController();
      const got = world.holder.get(Notebook, { session: "S1" }, { signal: stop.signal });
      await world.settle();
      stop.abort(new Error("enough"));
      await expect(got).rejects.toEqual(failing({ reason: "ABORTED" }));
      await world.settle();
      expect(notebooks.last.self.signal.aborted).toBe(true);
    });

    it("with an object that never starts: get rejects in time, and so does its activation", async () => {
      await using world = await create({ readyTimeoutMs: 1_000 });
      const notebooks = new Notebooks(world.provider);
      notebooks.onStart = ({ self }) =>
        new Promise((_, reject) => self.signal.addEventListener("abort", reject));
      const got = world.holder.get(Notebook, { session: "S1" }, { readyTimeoutMs: 500 });
      void kept(got);
      const notes = holdNotes(world);
      await world.settle();
      await world.clock.advance(500);
      await expect(got).rejects.toEqual(failing({ reason: "PARK_TIMEOUT", code: Code.Unavailable }));
      await world.clock.advance(500);
      expect(notes.$state.value).toMatchObject({
        kind: "failed",
        cause: failing({ code: Code.Unavailable }),
      });
    });
  });
}

function parkingRules(create: World["create"]): void {
  describe("a call that waits", () => {
    it("is sent once the object is live, in the order in which it was made, before later calls", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const ready = gate();
      notebooks.onStart = () => ready.passed;
      const notes = holdNotes(world);
      const texts = ["a", "b", "c", "d"];
      const replies = texts.map((text) => notes.add({ text }));
      notes.$state.subscribe(({ kind }) => {
        if (kind === "live") void notes.add({ text: "made when it went live" });
      });
      ready.open();
      await world.settle();
      await Promise.all(replies);
      expect(notebooks.calls).toEqual([...texts, "made when it went live"]);
    });

    it("rejects PARK_TIMEOUT at the smaller of its budget and the reference's time, from when it was made", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      notebooks.onStart = () => gate().passed;
      const notes = world.holder.hold(
        Notebook,
        { session: "S1" },
        { variant: "editor", readyTimeoutMs: 5_000 },
      );
      const first = kept(notes.add({ text: "takes the reference's time" }));
      const budget = kept(notes.add({ text: "has less" }, { timeoutMs: 2_000 }));
      await world.settle();
      await world.clock.advance(1_000);
      const later = notes.add({ text: "made later" });
      await world.clock.advance(1_000);
      const timeout = failing({ reason: "PARK_TIMEOUT", code: Code.Unavailable, outcome: "not-run" });
      expect(await outcomeOf(world, budget)).toEqual(timeout);
      await world.clock.advance(3_000);
      expect(await outcomeOf(world, first)).toEqual(timeout);
      expect(await outcomeOf(world, later)).toBe("waits");
      await notes.$release();
      expect(await outcomeOf(world, later)).toEqual(failing({ reason: "RELEASED", outcome: "not-run" }));
      expect(notebooks.calls).toEqual([]);
    });

    it("is not renewed by a new attempt of the object", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = world.holder.hold(
        Notebook,
        { session: "S1" },
        { variant: "editor", readyTimeoutMs: 3_000 },
      );
      await world.settle();
      notebooks.last.self.fail(transient());
      await world.settle();
      notebooks.onStart = () => gate().passed;
      notes.$retry();
      await world.settle();
      const call = notes.add({ text: "milk" });
      await world.clock.advance(2_999);
      expect(await outcomeOf(world, call)).toBe("waits");
      await world.clock.advance(1);
      expect(await outcomeOf(world, call)).toEqual(failing({ reason: "PARK_TIMEOUT" }));
    });

    it("rejects at once when its caller aborts, with the object's cause when it fails, RELEASED at the release", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const ready = gate();
      notebooks.onStart = () => ready.passed.then(() => Promise.reject(broken()));
      const notes = holdNotes(world);
      const stop = new AbortController();
      const aborted = notes.add({ text: "a" }, { signal: stop.signal });
      const waits = notes.add({ text: "b" });
      await world.settle();
      stop.abort();
      expect(await outcomeOf(world, aborted)).toEqual(failing({ reason: "ABORTED", outcome: "not-run" }));
      ready.open();
      expect(await outcomeOf(world, waits)).toEqual(failing({ code: Code.NotFound, outcome: "not-run" }));
    });

    it("has no room beside 2,048 others", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const ready = gate();
      notebooks.onStart = () => ready.passed;
      const notes = holdNotes(world);
      const replies = Array.from({ length: 2_048 }, () => notes.count({ text: "" }));
      const full = failing({ reason: "TOO_MANY_PARKED", code: Code.ResourceExhausted, outcome: "not-run" });
      await expect(notes.count({ text: "" })).rejects.toEqual(full);
      ready.open();
      await world.settle();
      await Promise.all(replies);
      await expect(notes.count({ text: "" })).resolves.toMatchObject({ count: 0 });
    });

    it("sends what it was at the moment of the call", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = holdNotes(world);
      const request = { text: "milk" };
      const reply = notes.add(request);
      request.text = "changed later";
      await world.settle();
      await reply;
      expect(notebooks.calls).toEqual(["milk"]);
    });
  });

  describe("a call that was sent", () => {
    it("ends with its budget, and may have run", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const done = gate();
      notebooks.onAdd = () => done.passed;
      const notes = holdNotes(world);
      const call = kept(notes.add({ text: "milk" }, { timeoutMs: 4_000 }));
      await world.settle();
      await world.clock.advance(4_000);
      expect(await outcomeOf(world, call)).toEqual(failing({ reason: "BUDGET_ENDED", outcome: "unknown" }));
      done.open();
    });

    it("rejects with the object's cause when that fails, and its outcome is unknown", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      notebooks.onAdd = () => gate().passed;
      const notes = holdNotes(world);
      const call = notes.add({ text: "milk" });
      await world.settle();
      notebooks.last.self.fail(broken());
      expect(await outcomeOf(world, call)).toEqual(failing({ code: Code.NotFound, outcome: "unknown" }));
    });

    it("rejects RELEASED at the release, outcome unknown; a query's handler is told to stop", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      let stopped = false;
      notebooks.onAdd = () => gate().passed;
      notebooks.onCount = ({ signal }) =>
        new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            stopped = true;
            resolve();
          }),
        );
      const notes = holdNotes(world);
      const calls = [kept(notes.add({ text: "milk" })), kept(notes.count({ text: "" }))];
      await world.settle();
      await notes.$release();
      for (const call of calls) {
        expect(await outcomeOf(world, call)).toEqual(failing({ reason: "RELEASED", outcome: "unknown" }));
      }
      expect(stopped).toBe(true);
    });
  });
}

function retryRules(create: World["create"]): void {
  describe("a failed object", () => {
    it("tries again in windows that grow to 30 s, and is live when it can be", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const starts: number[] = [];
      notebooks.onStart = () => {
        starts.push(world.clock.monotonic());
        throw transient();
      };
      const notes = holdNotes(world);
      await world.clock.advance(120_000);
      const waits = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
      expect(waits[0]).toBeLessThanOrEqual(250);
      expect(Math.max(...waits)).toBeLessThanOrEqual(30_000);
      expect(waits.at(-1)).toBeGreaterThanOrEqual(15_000);
      notebooks.onStart = () => undefined;
      await world.clock.advance(30_000);
      expect(notes.$state.value.kind).toBe("live");
    });

    it("that is broken is not tried again until asked, which renews it", async () => {
      await using world = await create();
      const { notebooks, notes } = await failedNotes(world, broken);
      await world.clock.advance(600_000);
      expect(notebooks.activations).toHaveLength(1);
      notebooks.onStart = () => undefined;
      notes.$retry();
      await world.settle();
      expect(notes.$state.value.kind).toBe("live");
    });

    it("tries at once when asked, in place of its window", async () => {
      await using world = await create();
      const { notebooks, notes } = await failedNotes(world, transient);
      notebooks.onStart = () => undefined;
      notes.$retry();
      await world.settle();
      expect(notes.$state.value.kind).toBe("live");
      await world.clock.advance(1_000);
      expect(notebooks.activations).toHaveLength(2);
    });

    it("by itself says so with self.fail, and the next activation begins when the last has ended", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = holdNotes(world);
      const told = statesOf(notes);
      await world.settle();
      const ending = gate();
      notebooks.onEnd = () => ending.passed;
      notebooks.last.self.fail(new Error("a secret of the server"));
      await world.clock.advance(1_000);
      expect(notebooks.activations).toHaveLength(1);
      ending.open();
      await world.settle();
      expect(notebooks.activations).toHaveLength(2);
      expect(told).toEqual(["loading", "live", "failed", "loading", "live"]);
      expect(world.errors.length).toBeGreaterThan(0);
    });

    it("shows nothing of an error that was not meant for holders", async () => {
      await using world = await create();
      const { notes } = await failedNotes(world, () => new Error("password of the disk"));
      const state = notes.$state.value;
      if (state.kind !== "failed") throw new Error("it is failed");
      expect(state.cause.code).toBe(Code.Internal);
      expect(state.cause.message).not.toContain("password");
      await notes.$release();
    });

    it("names what its factory left out, and is broken", async () => {
      await using world = await create();
      world.provider.serve(Slow, () => ({ work: 5 }) as never);
      const slow = world.holder.hold(Slow, { name: "a" });
      await world.settle();
      const state = slow.$state.value;
      if (state.kind !== "failed") throw new Error("it is failed");
      expect(state.retryAt).toBeUndefined();
      expect(state.cause.message).toMatch(/progress is not made with state.*work is not a function/);
    });
  });
}

function lingerRules(create: World["create"]): void {
  describe("an object without references", () => {
    it("ends at once without a linger, and the next hold finds a fresh one", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider, { lingerMs: 0 });
      const notes = holdNotes(world);
      await notes.add({ text: "milk" });
      await notes.$release();
      await world.settle();
      expect(notebooks.endedCount).toBe(1);
      const again = holdNotes(world);
      await world.settle();
      expect(again.entries.value.entries).toEqual([]);
    });

    it("stays for its linger, which goes before the schema's, and is used again in that time", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider, { lingerMs: 1_000 });
      const notes = holdNotes(world);
      await notes.add({ text: "milk" });
      for (let round = 0; round < 3; round++) {
        const next = holdNotes(world);
        await world.settle();
        await (round === 0 ? notes : next).$release();
        await next.$release();
        await world.clock.advance(990);
      }
      const last = holdNotes(world);
      await world.settle();
      expect(last.entries.value.entries).toHaveLength(1);
      expect(notebooks.activations).toHaveLength(1);
      await last.$release();
      await world.clock.advance(999);
      expect(notebooks.endedCount).toBe(0);
      await world.clock.advance(1);
      expect(notebooks.endedCount).toBe(1);
    });

    it("lingers as its schema says when serve says nothing", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = holdNotes(world);
      await world.settle();
      await notes.$release();
      await world.clock.advance(299_999);
      expect(notebooks.endedCount).toBe(0);
      await world.clock.advance(1);
      expect(notebooks.endedCount).toBe(1);
    });

    it("lingers with a failed state all the same", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider, { lingerMs: 1_000 });
      const notes = holdNotes(world);
      await world.settle();
      notebooks.last.title.fail(new ConnectError("no title", Code.DataLoss));
      await notes.$release();
      await world.clock.advance(500);
      const again = holdNotes(world);
      await world.settle();
      expect(notebooks.activations).toHaveLength(1);
      expect(again.entries.value.entries).toEqual([]);
      expect(() => again.title.value).toThrow(failing({ code: Code.DataLoss }));
    });

    it("ends at once when it is failed", async () => {
      await using world = await create();
      const { notebooks, notes } = await failedNotes(world, transient);
      await notes.$release();
      await world.clock.advance(60_000);
      expect(notebooks.activations).toHaveLength(1);
      expect(notebooks.endedCount).toBe(1);
    });
  });
}

function variantRules(create: World["create"]): void {
  describe("a variant", () => {
    it("is the last declared one by default, and the provider's choice by caller", async () => {
      const caller = { by: "rita", grants: ["read"] };
      await using world = await create({ caller });
      const asked: unknown[] = [];
      new Notebooks(world.provider, {
        variant: (by, params) => {
          asked.push([by.by, params.session]);
          return by.grants.includes("write") ? "editor" : "reader";
        },
      });
      const notes = await world.holder.get(Notebook, { session: "S1" });
      expect(notes.variant).toBe("reader");
      expect(asked).toEqual([["rita", "S1"]]);
      expect(notes.title.value.text).toBe("S1");
    });

    it("that lacks a method refuses it NO_SUCH_MEMBER, also for a call that waited", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider, { variant: () => "reader" });
      const notes = world.holder.hold(Notebook, { session: "S1" });
      if (notes.variant === "reader") throw new Error("it is not bound yet");
      const waited = notes.add({ text: "milk" });
      const refusal = failing({ reason: "NO_SUCH_MEMBER", code: Code.InvalidArgument, outcome: "not-run" });
      expect(await outcomeOf(world, waited)).toEqual(refusal);
      await expect(notes.add({ text: "milk" })).rejects.toEqual(refusal);
      expect(notebooks.calls).toEqual([]);
    });

    it("that is undefined refuses the holder alone, broken, until it asks again", async () => {
      await using world = await create();
      let open = false;
      const notebooks = new Notebooks(world.provider, { variant: () => (open ? "editor" : undefined) });
      const notes = holdNotes(world);
      await world.settle();
      const refusal = { kind: "failed", cause: failing({ code: Code.PermissionDenied }), retryAt: undefined };
      expect(notes.$state.value).toMatchObject(refusal);
      expect(notebooks.activations).toHaveLength(0);
      open = true;
      notes.$retry();
      await world.settle();
      expect(notes.$state.value.kind).toBe("live");
    });

    it("that is another than the program is written for fails the reference, broken", async () => {
      await using world = await create();
      new Notebooks(world.provider, { variant: () => "reader" });
      const notes = holdNotes(world);
      await world.settle();
      expect(notes.$state.value).toMatchObject({
        kind: "failed",
        cause: failing({ code: Code.PermissionDenied }),
        retryAt: undefined,
      });
      const got = world.holder.get(Notebook, { session: "S1" }, { variant: "editor" });
      await expect(got).rejects.toEqual(failing({ code: Code.PermissionDenied }));
    });
  });
}

function watchRules(create: World["create"]): void {
  describe("a loop over a state", () => {
    it("gives the present value, then every new one, skips to the newest, and ends at the release", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = holdNotes(world);
      await world.settle();
      const loop = notes.title[Symbol.asyncIterator]();
      expect((await loop.next()).value?.text).toBe("S1");
      for (const text of ["a", "b", "c"]) {
        notebooks.last.title.update((draft) => void (draft.text = text));
        await world.settle();
      }
      expect((await loop.next()).value?.text).toBe("c");
      const next = loop.next();
      await notes.$release();
      expect(await next).toEqual({ done: true, value: undefined });
      await expect(notes.title[Symbol.asyncIterator]().next()).rejects.toEqual(
        failing({ reason: "RELEASED" }),
      );
    });

    it("goes on through a failure and a new activation, from the value that is there then", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = holdNotes(world);
      await world.settle();
      const seen: number[] = [];
      const loop = (async () => {
        for await (const { entries } of notes.entries) seen.push(entries.length);
      })();
      await notes.add({ text: "milk" });
      notebooks.last.self.fail(transient());
      await world.clock.advance(250);
      await world.settle();
      await notes.add({ text: "eggs" });
      await world.settle();
      await notes.$release();
      await loop;
      expect(seen).toEqual([0, 1, 0, 1]);
    });

    it("throws the state's error when that has failed; the object stays live", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = holdNotes(world);
      await world.settle();
      const loop = notes.title[Symbol.asyncIterator]();
      await loop.next();
      const next = loop.next();
      notebooks.last.title.fail(new ConnectError("no title", Code.DataLoss));
      await expect(next).rejects.toEqual(failing({ code: Code.DataLoss }));
      expect(await loop.next()).toEqual({ done: true, value: undefined });
      expect(notes.$state.value.kind).toBe("live");
      await expect(notes.add({ text: "milk" })).resolves.toMatchObject({ id: 1 });
    });

    it("opened while the reference is failed rejects with the cause; one that has begun stays open", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = holdNotes(world);
      await world.settle();
      const begun = notes.title[Symbol.asyncIterator]();
      await begun.next();
      notebooks.last.self.fail(broken());
      await world.settle();
      const cause = failing({ code: Code.NotFound });
      await expect(notes.title[Symbol.asyncIterator]().next()).rejects.toEqual(cause);
      expect(await outcomeOf(world, begun.next())).toBe("waits");
    });
  });

  it("a subscriber hears every new value until it is removed", async () => {
    await using world = await create();
    const notebooks = new Notebooks(world.provider);
    const notes = holdNotes(world);
    await world.settle();
    const heard: string[] = [];
    const remove = notes.title.subscribe(({ text }) => heard.push(text));
    for (const text of ["a", "b"]) notebooks.last.title.update((draft) => void (draft.text = text));
    await world.settle();
    remove();
    notebooks.last.title.update((draft) => void (draft.text = "c"));
    await world.settle();
    expect(heard).toEqual(["a", "b"]);
  });
}

function contextRules(create: World["create"]): void {
  describe("a handler", () => {
    it("knows its caller, the call's ID and deadline, and what the client sent", async () => {
      const caller = { by: "rita", grants: ["write"] };
      await using world = await create({ caller });
      const notebooks = new Notebooks(world.provider);
      const ids: (string | undefined)[] = [];
      notebooks.onAdd = (_, context) => {
        ids.push(context.callId);
        expect(context.caller).toEqual(caller);
        expect(context.requestHeader.get("x-trace")).toBe("1");
        expect(context.deadline).toBe(world.clock.monotonic() + 2_000);
        expect(context.mayHaveRun).toBe(false);
      };
      const notes = holdNotes(world);
      const options = { timeoutMs: 2_000, headers: { "x-trace": "1" } };
      await notes.add({ text: "a" }, options);
      await notes.add({ text: "b" }, options);
      expect(ids[0]).toMatch(/^[\w-]{22}$/);
      expect(new Set(ids).size).toBe(2);
    });

    it("refuses with its own error, and what else it throws is for the log", async () => {
      await using world = await create();
      const notebooks = new Notebooks(world.provider);
      const notes = holdNotes(world);
      notebooks.onAdd = () => {
        throw new ConnectError("full", Code.FailedPrecondition);
      };
      const refused = failing({ code: Code.FailedPrecondition, outcome: "refused" });
      await expect(notes.add({ text: "a" })).rejects.toEqual(refused);
      expect(world.errors).toEqual([]);
    });
  });

  it("an object without params is one for all, and lives as long as its host", async () => {
    await using world = await create();
    let starts = 0;
    const { state } = await import("../../runtime/delta/state.ts");
    const { CounterTotalSchema } = await import("./gen/test/objects/v1/notebook_pb.ts");
    world.provider.serve(Counter, () => {
      starts += 1;
      const total = state(CounterTotalSchema);
      return {
        total,
        increase: ({ amount }) => {
          total.update((draft) => void (draft.total += amount));
          return { total: total.value.total };
        },
      };
    });
    for (let round = 0; round < 3; round++) {
      const counter = await world.holder.get(Counter, {});
      await counter.increase({ amount: 2n });
      await counter.$release();
      await world.clock.advance(3_600_000);
    }
    const counter = await world.holder.get(Counter, {});
    expect(counter.total.value.total).toBe(6n);
    expect(starts).toBe(1);
  });
}
