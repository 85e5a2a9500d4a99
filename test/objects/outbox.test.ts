/** Commands with an outbox on a reference: kept by the link, whatever becomes of the reference. */
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { HoldfastError } from "../../runtime/base/errors.ts";
import { state } from "../../runtime/delta/state.ts";
import { memoryOutbox } from "../../runtime/outbox/memory-outbox.ts";
import { Drafts } from "./drafts.ts";
import { Draft, type DraftReference, Ledger } from "./gen/test/objects/v1/notebook_holdfast.ts";
import { DraftLinesSchema } from "./gen/test/objects/v1/notebook_pb.ts";
import { gate } from "./notebooks.ts";
import { failing, kept } from "./suite.ts";
import type { ServerWorld } from "./server-world.ts";
import { serverWorlds, worlds } from "./world.ts";

const hold = (world: Pick<ServerWorld, "holder">, name = "a"): DraftReference =>
  world.holder.hold(Draft, { name });

/** The end of a call, in virtual time: what goes over HTTP takes real turns. */
async function ended<T>(world: ServerWorld, call: Promise<T>): Promise<T | HoldfastError> {
  const outcome = call.catch((error: unknown) => error as HoldfastError);
  const seen = { over: false };
  void outcome.then(() => (seen.over = true));
  for (let count = 0; !seen.over && count < 100; count++) await world.settle();
  return outcome;
}

async function until(world: ServerWorld, what: () => boolean): Promise<void> {
  for (let count = 0; !what() && count < 100; count++) await world.settle();
  expect(what()).toBe(true);
}

describe.each(serverWorlds)("in $name", (kind) => {
  it("a LATE command on a live reference runs once, and leaves nothing behind", async () => {
    await using world = await kind.create({ client: { outbox: { store: memoryOutbox() } } });
    const drafts = new Drafts(world.provider);
    const draft = hold(world);
    await world.settle();
    expect(await ended(world, draft.late({ line: "x" }))).toMatchObject({ count: 1 });
    await world.settle();
    expect(draft.lines.value.lines).toEqual(["x"]);
    expect(drafts.ran).toEqual(["a late x"]);
    expect(world.client.outbox.entries.value).toEqual([]);
  });

  it("a LATE command that ends without an answer waits in the outbox, and leaves as the same call", async () => {
    await using world = await kind.create({ client: { outbox: { store: memoryOutbox() } } });
    const drafts = new Drafts(world.provider);
    const done = gate();
    drafts.onCommand = () => done.passed;
    const draft = hold(world);
    await world.settle();
    const call = kept(draft.late({ line: "x" }, { timeoutMs: 3_000 }));
    await until(world, () => drafts.ran.length === 1);
    await world.clock.advance(3_000);
    const error = await ended(world, call);
    expect(error).toEqual(failing({ reason: "WAITS_IN_OUTBOX", outcome: "in-outbox" }));
    await draft.$release();
    done.open();
    const { callId = "" } = error as HoldfastError;
    const settled = kept(world.client.outbox.settled(callId));
    expect(
      await ended(
        world,
        world.client.outbox.send().then(() => settled),
      ),
    ).toMatchObject({ kind: "reply" });
    expect(drafts.ran).toEqual(["a late x"]);
    expect(drafts.callIds).toEqual([callId]);
  });

  it("an EARLY command on a loading reference is stored at once, and runs when the object is live", async () => {
    await using world = await kind.create({ client: { outbox: { store: memoryOutbox() } } });
    const drafts = new Drafts(world.provider);
    const ready = gate();
    drafts.onStart = () => ready.passed;
    const draft = hold(world, "ä");
    const call = kept(draft.early({ line: "x" }));
    await until(world, () => world.client.outbox.entries.value.length === 1);
    expect(draft.$state.value.kind).toBe("loading");
    expect(drafts.ran).toEqual([]);
    ready.open();
    expect(await ended(world, call)).toMatchObject({ count: 1 });
    expect(drafts.ran).toEqual(["ä early x"]);
    expect(world.client.outbox.entries.value).toEqual([]);
  });

  it("what an earlier link left is sent to its object by the next one, without any reference", async () => {
    const store = memoryOutbox();
    await using world = await kind.create({ client: { outbox: { store, atStart: false } } });
    const drafts = new Drafts(world.provider);
    const ready = gate();
    drafts.onStart = () => ready.passed;
    const call = kept(hold(world).early({ line: "x" }));
    await until(world, () => world.client.outbox.entries.value.length === 1);
    const closed = world.client.close();
    expect(await ended(world, call)).toEqual(failing({ reason: "WAITS_IN_OUTBOX" }));
    await closed;
    ready.open();
    const next = world.anotherLink({ outbox: { store, atStart: false } });
    expect(await ended(world, next.outbox.send())).toMatchObject({ waitingCount: 0 });
    expect(drafts.ran).toEqual(["a early x"]);
    await next.close();
  });

  it("the same command again is the same call for its object alone", async () => {
    await using world = await kind.create({ client: { outbox: { store: memoryOutbox() } } });
    const drafts = new Drafts(world.provider);
    const done = gate();
    drafts.onCommand = () => done.passed;
    const [a, b] = [hold(world, "a"), hold(world, "b")];
    await world.settle();
    const first = kept(a.merged({ line: "x" }, { timeoutMs: 3_000 }));
    await until(world, () => drafts.ran.length === 1);
    await world.clock.advance(3_000);
    const { callId } = (await ended(world, first)) as HoldfastError;
    const merged: string[] = [];
    const onMerged = (id: string): void => void merged.push(id);
    done.open();
    const again = kept(a.merged({ line: "x" }, { onMerged }));
    const other = kept(b.merged({ line: "x" }, { onMerged }));
    const keyed = kept(a.late({ line: "x" }, { key: "k", onMerged }));
    expect(await ended(world, again)).toMatchObject({ count: 1 });
    expect(await ended(world, other)).toMatchObject({ count: 1 });
    expect(await ended(world, keyed)).toMatchObject({ count: 2 });
    expect(merged).toEqual([callId]);
    expect(drafts.ran.toSorted()).toEqual(["a late x", "a merged x", "b merged x"]);
  });

  it("no call overtakes an earlier one: it goes behind commands, and what comes later waits for it", async () => {
    await using world = await kind.create({ client: { outbox: { store: memoryOutbox() } } });
    const drafts = new Drafts(world.provider);
    const gates = { first: gate(), second: gate() };
    drafts.onCommand = (line) => (line === "first" ? gates.first.passed : gates.second.passed);
    const draft = hold(world);
    await world.settle();
    const calls = [draft.plain({ line: "first" }), draft.late({ line: "second" }), draft.count({})];
    for (let count = 0; count < 5; count++) await world.settle();
    expect(drafts.ran).toEqual(["a plain first"]);
    gates.first.open();
    await until(world, () => drafts.ran.length === 2);
    for (let count = 0; count < 5; count++) await world.settle();
    expect(drafts.ran).toEqual(["a plain first", "a late second"]);
    gates.second.open();
    expect(await ended(world, Promise.all(calls))).toMatchObject([{ count: 1 }, { count: 2 }, { count: 2 }]);
  });

  it("a release ends what waits behind it, and not the command itself", async () => {
    await using world = await kind.create({ client: { outbox: { store: memoryOutbox() } } });
    const drafts = new Drafts(world.provider);
    const done = gate();
    drafts.onCommand = () => done.passed;
    const draft = hold(world);
    await world.settle();
    const late = kept(draft.late({ line: "x" }));
    const behind = kept(draft.count({}));
    await until(world, () => drafts.ran.length === 1);
    await draft.$release();
    expect(await ended(world, behind)).toEqual(failing({ reason: "RELEASED", outcome: "not-run" }));
    done.open();
    expect(await ended(world, late)).toMatchObject({ count: 1 });
  });

  it("an object that is broken refuses it for good, whatever its code, and nothing waits", async () => {
    await using world = await kind.create({ client: { outbox: { store: memoryOutbox() } } });
    const drafts = new Drafts(world.provider);
    const ready = gate();
    drafts.onStart = async () => {
      await ready.passed;
      throw new ConnectError("given up", Code.Aborted);
    };
    const draft = hold(world);
    const call = kept(draft.early({ line: "x" }));
    await until(world, () => world.client.outbox.entries.value.length === 1);
    ready.open();
    expect(await ended(world, call)).toEqual(failing({ code: Code.Aborted, outcome: "not-run" }));
    expect(await ended(world, draft.late({ line: "y" }))).toEqual(failing({ outcome: "not-run" }));
    expect(world.client.outbox.entries.value).toEqual([]);
    expect(drafts.ran).toEqual([]);
  });

  it("the variant that its reference was held as is not asked of it, only what its caller may call when it is sent", async () => {
    await using world = await kind.create({ client: { outbox: { store: memoryOutbox() } } });
    let variant = "owner";
    const ran: string[] = [];
    const command = ({ line }: { line: string }): { count: number } => ({ count: ran.push(line) });
    world.provider.serve(Ledger, () => ({ lines: state(DraftLinesSchema), note: command, settle: command }), {
      variant: () => variant,
    });
    const ledger = world.holder.hold(Ledger, { name: "a" }, { variant: "owner" });
    await world.settle();
    await world.link.drop();
    // Nobody holds it as an owner any more; a clerk may note all the same, and not settle.
    variant = "clerk";
    const calls = [ledger.note({ line: "note" }), ledger.settle({ line: "settle" })].map(kept);
    const [note, settle] = await Promise.all(calls.map((call) => ended(world, call)));
    expect(note).toMatchObject({ count: 1 });
    expect(settle).toEqual(failing({ reason: "NO_SUCH_MEMBER", outcome: "not-run" }));
    await world.link.connect();
    expect(ledger.$state.value).toMatchObject({ kind: "failed", cause: { code: Code.PermissionDenied } });
    expect(ran).toEqual(["note"]);
    expect(world.client.outbox.entries.value).toEqual([]);
  });

  it("it waits while its link is away, and nothing of it is lost with the reference", async () => {
    await using world = await kind.create({ client: { outbox: { store: memoryOutbox() } } });
    const drafts = new Drafts(world.provider);
    const draft = hold(world);
    await world.settle();
    await world.link.drop();
    const calls = [draft.early({ line: "x" }), draft.early({ line: "y" })];
    expect(await ended(world, Promise.all(calls))).toMatchObject([{ count: 1 }, { count: 2 }]);
    await world.link.connect();
    expect(draft.lines.value.lines).toEqual(["x", "y"]);
    expect(drafts.ran).toEqual(["a early x", "a early y"]);
  });
});

it.each(worlds)("in $name: a key is for a command with an outbox alone", async ({ create }) => {
  await using world = await create();
  new Drafts(world.provider);
  const draft = world.holder.hold(Draft, { name: "a" });
  await world.settle();
  await expect(draft.plain({ line: "x" }, { key: "k" })).rejects.toThrow(/with a key/);
  await expect(draft.count({}, { key: "k" })).rejects.toThrow(/with a key/);
});

it.each(worlds.filter(({ name }) => !name.startsWith("a server")))(
  "in $name: where there is no link there is no outbox, and such a command is one as any other",
  async ({ create }) => {
    await using world = await create();
    const drafts = new Drafts(world.provider);
    const draft = world.holder.hold(Draft, { name: "a" });
    const calls = [
      draft.early({ line: "x" }),
      draft.late({ line: "y" }, { key: "k" }),
      draft.plain({ line: "z" }),
    ];
    await world.settle();
    expect(await Promise.all(calls)).toMatchObject([{ count: 1 }, { count: 2 }, { count: 3 }]);
    expect(drafts.ran).toEqual(["a early x", "a late y", "a plain z"]);
  },
);
