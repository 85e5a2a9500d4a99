/** What a drop costs, and what goes over a wire: what is sent again, and what is not. */
import { create, type DescMessage } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { Holds, Reference } from "../../runtime/base/objects.ts";
import { jsonCodec } from "../../runtime/codec/json.ts";
import { msgpackCodec } from "../../runtime/codec/msgpack.ts";
import { state } from "../../runtime/delta/state.ts";
import { createHost, type Host } from "../../runtime/hold/host.ts";
import { seededRandom } from "../../runtime/testing/seeded-random.ts";
import { virtualClock } from "../../runtime/testing/virtual-clock.ts";
import { memoryPair } from "../../runtime/wire/memory.ts";
import { Document, Notebook, Serial, Slow } from "./gen/test/objects/v1/notebook_holdfast.ts";
import {
  DocumentContentSchema,
  DocumentParamsSchema,
  EntryListSchema,
  NotebookParamsSchema,
  NotebookTitleSchema,
  SerialLogSchema,
  SlowParamsSchema,
  SlowProgressSchema,
} from "./gen/test/objects/v1/notebook_pb.ts";
import { gate, Notebooks } from "./notebooks.ts";
import { memoryPipe } from "./pipes.ts";
import { remoteKind } from "./remote-world.ts";
import { failing, holdNotes, kept, outcomeOf, statesOf } from "./suite.ts";
import { linkedWorlds, remoteWorlds, serverWorlds } from "./world.ts";

describe.each(linkedWorlds)("in $name", (kind) => {
  it("a drop makes every reference loading, and the next connect makes all live, with the values of then", async () => {
    await using world = await kind.create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 60_000 });
    const held = ["S1", "S2", "S3"].map((session) => holdNotes(world, session));
    const told = held.map(statesOf);
    await world.settle();
    await world.link.drop();
    expect(held.map(({ title }) => title.value.text)).toEqual(["S1", "S2", "S3"]);
    notebooks.activations[1]?.title.update((draft) => void (draft.text = "changed meanwhile"));
    await world.link.connect();
    expect(told).toEqual(held.map(() => ["loading", "live", "loading", "live"]));
    expect(held.map(({ title }) => title.value.text)).toEqual(["S1", "changed meanwhile", "S3"]);
    expect(notebooks.activations).toHaveLength(3);
  });

  it("a reference that is released without a link is not held again, and what waited rejects", async () => {
    await using world = await kind.create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 0 });
    const notes = holdNotes(world);
    await world.settle();
    await world.link.drop();
    const waits = kept(notes.add({ text: "milk" }));
    await notes.$release();
    expect(await outcomeOf(world, waits)).toEqual(failing({ reason: "RELEASED", outcome: "not-run" }));
    await world.link.connect().catch(() => undefined);
    expect(notebooks.activations).toHaveLength(1);
    expect(notebooks.calls).toEqual([]);
  });

  it("linger alone keeps an object through a drop; without it a fresh one waits for the end of the old", async () => {
    await using world = await kind.create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 0 });
    const ending = gate();
    const notes = holdNotes(world);
    await notes.add({ text: "milk" });
    notebooks.onEnd = () => ending.passed;
    await world.link.drop();
    await world.link.connect();
    expect(notes.$state.value.kind).toBe("loading");
    expect(notebooks.activations).toHaveLength(1);
    ending.open();
    await world.settle();
    expect(notes.$state.value.kind).toBe("live");
    expect(notes.entries.value.entries).toEqual([]);
  });

  it("a state that failed is failed after the reconnect, and the others are as they are", async () => {
    await using world = await kind.create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 60_000 });
    const notes = holdNotes(world);
    await world.settle();
    await world.link.drop();
    notebooks.last.title.fail(new ConnectError("no title", Code.DataLoss));
    await world.link.connect();
    expect(() => notes.title.value).toThrow(failing({ code: Code.DataLoss }));
    expect(notes.entries.value.entries).toEqual([]);
    await world.link.drop();
    await world.link.connect();
    expect(() => notes.title.value).toThrow(failing({ code: Code.DataLoss }));
  });

  it("a call that waits through drops has one deadline, and names what keeps it", async () => {
    await using world = await kind.create();
    new Notebooks(world.provider);
    const notes = world.holder.hold(
      Notebook,
      { session: "S1" },
      { variant: "editor", readyTimeoutMs: 3_000 },
    );
    await world.settle();
    await world.link.drop();
    const waits = kept(notes.add({ text: "milk" }));
    await world.clock.advance(3_000);
    expect(await outcomeOf(world, waits)).toEqual(failing({ reason: "PARK_TIMEOUT", outcome: "not-run" }));
  });

  it("commands of a serial object start when the last is settled, also those that go again after a drop", async () => {
    await using world = await kind.create();
    const first = gate();
    const log = state(SerialLogSchema);
    const started: string[] = [];
    world.provider.serve(
      Serial,
      () => ({
        log,
        append: async ({ line, wait }) => {
          started.push(line);
          if (wait) await first.passed;
          log.update((draft) => void draft.lines.push(line));
          return { count: log.value.lines.length };
        },
      }),
      { lingerMs: 60_000 },
    );
    const serial = world.holder.hold(Serial, { name: "a" });
    await world.settle();
    const calls = [
      serial.append({ line: "a", wait: true }),
      serial.append({ line: "b" }),
      serial.append({ line: "c" }),
    ];
    await world.settle();
    expect(started).toEqual(["a"]);
    await world.link.drop();
    await world.link.connect();
    expect(started).toEqual(["a"]);
    first.open();
    await world.settle();
    await Promise.all(calls);
    expect(started).toEqual(["a", "b", "c"]);
    expect(log.value.lines).toEqual(["a", "b", "c"]);
  });
});

describe.each(remoteWorlds)("in $name", (kind) => {
  it("what has not changed since is not sent again, member by member", async () => {
    await using world = await kind.create();
    const notebooks = new Notebooks(world.provider, { lingerMs: 60_000 });
    const notes = holdNotes(world);
    await notes.add({ text: "x".repeat(10_000) });
    await world.settle();
    const value = notes.entries.value;
    const received = async (): Promise<number> => {
      const before = world.traffic.receivedBytes;
      await world.link.drop();
      await world.link.connect();
      return world.traffic.receivedBytes - before;
    };
    expect(await received()).toBeLessThan(500);
    expect(notes.entries.value).toBe(value);
    notebooks.last.title.update((draft) => void (draft.text = "new title"));
    await world.settle();
    await world.link.drop();
    notebooks.last.title.update((draft) => void (draft.text = "newer title"));
    const before = world.traffic.receivedBytes;
    await world.link.connect();
    expect(world.traffic.receivedBytes - before).toBeLessThan(600);
    expect(notes.entries.value).toBe(value);
    expect(notes.title.value.text).toBe("newer title");
  });

  it("equal references are one hold on the wire, and the last one gives it back", async () => {
    await using world = await kind.create();
    new Notebooks(world.provider);
    const notes = Array.from({ length: 100 }, () => holdNotes(world));
    await world.settle();
    const before = world.traffic.sentBytes;
    for (const each of notes.slice(1)) await each.$release();
    await world.settle();
    expect(world.traffic.sentBytes).toBe(before);
    await notes[0]?.$release();
    await world.settle();
    expect(world.traffic.sentBytes).toBeGreaterThan(before);
  });

  it("a provider that loads later answers what was asked meanwhile, without what was given back", async () => {
    const ready = gate();
    await using world = await kind.create({
      load: async (host) => {
        await ready.passed;
        new Notebooks(host);
      },
    });
    const [notes, gone] = [holdNotes(world, "S1"), holdNotes(world, "S2")];
    await world.settle();
    await gone.$release();
    await world.settle();
    expect(notes.$state.value.kind).toBe("loading");
    ready.open();
    await world.settle();
    expect(notes.$state.value.kind).toBe("live");
  });

  it("a type that nobody serves is failed, broken", async () => {
    await using world = await kind.create();
    const notes = holdNotes(world);
    await world.settle();
    expect(notes.$state.value).toMatchObject({
      kind: "failed",
      cause: failing({ code: Code.Unimplemented }),
      retryAt: undefined,
    });
    await notes.$release();
  });
});

const codecs = [
  { name: "json", codec: jsonCodec, most: 120 },
  { name: "msgpack", codec: msgpackCodec, most: 40 },
] as const;

/** Types of every kind, each with params that tell one object from another. */
const unchangedKinds = [
  {
    kind: "one state, no variants",
    hold: (host: Holds, id: string): Reference => host.hold(Document, { id }),
    params: (id: string) => ({ schema: DocumentParamsSchema as DescMessage, init: { id } }),
  },
  {
    kind: "two states, named variants",
    hold: (host: Holds, id: string): Reference => host.hold(Notebook, { session: id }),
    params: (id: string) => ({ schema: NotebookParamsSchema as DescMessage, init: { session: id } }),
  },
  {
    kind: "held as a variant by its name",
    hold: (host: Holds, id: string): Reference => host.hold(Notebook, { session: id }, { variant: "editor" }),
    params: (id: string) => ({ schema: NotebookParamsSchema as DescMessage, init: { session: id } }),
  },
  {
    kind: "params of two fields",
    hold: (host: Holds, id: string): Reference => host.hold(Slow, { name: id, shard: 3 }),
    params: (id: string) => ({ schema: SlowParamsSchema as DescMessage, init: { name: id, shard: 3 } }),
  },
];

/** Objects that stay warm, changed some hundred times before. */
function serveAll(host: Host): void {
  host.serve(
    Document,
    () => {
      const content = state(DocumentContentSchema);
      for (let at = 0; at < 300; at++) content.update((draft) => void (draft.revision = at + 1));
      return { content, write: () => ({}) };
    },
    { lingerMs: 60_000 },
  );
  new Notebooks(host, { lingerMs: 60_000 });
  host.serve(Slow, () => ({ progress: state(SlowProgressSchema), work: () => ({}) }), { lingerMs: 60_000 });
}

describe.each(codecs)("with $name", ({ name, codec, most }) => {
  it.each(unchangedKinds)(
    `a reference that has not changed costs at most ${most} bytes each way beyond its params: $kind`,
    async ({ hold, params }) => {
      await using world = await remoteKind(memoryPipe, name).create();
      serveAll(world.provider);
      const perReference = async (count: number): Promise<{ sent: number; received: number }> => {
        const held = Array.from({ length: count }, (_, at) => hold(world.holder, `${1_000 + at}`));
        await world.settle();
        await world.link.drop();
        const [sent, received] = [world.traffic.sentBytes, world.traffic.receivedBytes];
        await world.link.connect();
        expect(held.every(({ $state }) => $state.value.kind === "live")).toBe(true);
        const bytes = {
          sent: world.traffic.sentBytes - sent,
          received: world.traffic.receivedBytes - received,
        };
        for (const each of held) await each.$release();
        await world.settle();
        return bytes;
      };
      const { schema, init } = params("1000");
      const paramsBytes = codec.pack(codec.shape(schema, create(schema, init))).length;
      const [few, many] = [await perReference(10), await perReference(110)];
      const sent = (many.sent - few.sent) / 100 - paramsBytes;
      const received = (many.received - few.received) / 100;
      expect(sent).toBeLessThanOrEqual(most);
      expect(received).toBeLessThanOrEqual(most);
    },
  );

  it("a change that 1,000 watchers of other wires get is encoded once", async () => {
    const clock = virtualClock();
    const provider = createHost({ clock, random: seededRandom(1) });
    const content = state(DocumentContentSchema, { text: "a" });
    provider.serve(Document, () => ({ content, write: () => ({}) }));
    const holders = Array.from({ length: 1_000 }, (_, at) => {
      const host = createHost({ clock, random: seededRandom(at + 2), connects: true });
      const [mine, theirs] = memoryPair();
      provider.accept(theirs, { principal: { by: undefined, grants: [] } });
      host.connect(mine, { codec: name });
      return { host, document: host.hold(Document, { id: "1" }) };
    });
    for (let count = 0; count < 10; count++) await clock.settle();
    expect(holders.every(({ document }) => document.$state.value.kind === "live")).toBe(true);
    const shape = codec.shape;
    let changeCount = 0;
    const counted = codec as { shape: typeof shape };
    counted.shape = (desc, message) => {
      if (desc.typeName === "holdfast.link.v1.Change") changeCount += 1;
      return shape(desc, message);
    };
    try {
      content.update((draft) => void (draft.text += "b"));
      for (let count = 0; count < 10; count++) await clock.settle();
    } finally {
      counted.shape = shape;
    }
    expect(holders.every(({ document }) => document.content.value.text === "ab")).toBe(true);
    expect(changeCount).toBe(1);
    await Promise.all(holders.map(({ host }) => host.close()));
    await provider.close();
    for (let count = 0; count < 10; count++) await clock.settle();
    expect(clock.pendingCount).toBe(0);
  });
});

it("a host in the middle holds from one side and serves to the other", async () => {
  await using far = await remoteKind(memoryPipe, "msgpack").create();
  const source = state(DocumentContentSchema, { text: "far" });
  far.provider.serve(Document, () => ({ content: source, write: () => ({}) }));
  far.holder.serve(Notebook, async ({ self }) => {
    const document = await self.get(Document, { id: "1" });
    const title = state(NotebookTitleSchema, { text: document.content.value.text });
    self.onEnd(document.content.subscribe(({ text }) => title.update((draft) => void (draft.text = text))));
    const entries = state(EntryListSchema);
    const nothing = (): Record<string, never> => ({});
    return { title, entries, add: nothing, edit: nothing, poke: nothing, count: nothing, typing: nothing };
  });
  const near = createHost({ clock: far.clock, connects: true });
  const [mine, theirs] = memoryPair();
  far.holder.accept(theirs, { principal: { by: "near", grants: [] } });
  near.connect(mine);
  const notes = near.hold(Notebook, { session: "S1" });
  for (let count = 0; count < 4; count++) await far.settle();
  expect(notes.title.value.text).toBe("far");
  source.update((draft) => void (draft.text = "farther"));
  for (let count = 0; count < 4; count++) await far.settle();
  expect(notes.title.value.text).toBe("farther");
  await near.close();
});

it.each(serverWorlds)(
  "in $name: a wire that the server asks to leave is left with nothing lost",
  async (kind) => {
    await using world = await kind.create();
    const notebooks = new Notebooks(world.provider);
    const done = gate();
    notebooks.onCount = () => done.passed;
    const notes = holdNotes(world);
    await world.settle();
    const slow = notes.count({ text: "" }, { timeoutMs: 3_600_000 });
    // A session without a sign is gone, and its wire has to be opened anew.
    for (let count = 0; world.traffic.openCount < 2 && count < 40; count++) await world.clock.advance(5_000);
    expect(world.traffic.openCount).toBe(2);
    expect(notes.$state.value.kind).toBe("live");
    const later = [notes.poke({ text: "made meanwhile" }), notes.add({ text: "milk" })];
    await world.settle();
    expect(notebooks.calls).toEqual(["count "]);
    done.open();
    await world.settle();
    await Promise.all([slow, ...later]);
    expect(notebooks.calls).toEqual(["count ", "poke made meanwhile", "milk"]);
    expect(world.traffic.openCount).toBe(1);
  },
);

it.each(remoteWorlds)(
  "in $name: a state too large for a wire fails its holder, and the wire lives",
  async (kind) => {
    await using world = await kind.create();
    const content = state(DocumentContentSchema, { text: "x".repeat(5 * 1_048_576) });
    world.provider.serve(Document, () => ({ content, write: () => ({}) }));
    new Notebooks(world.provider);
    const document = world.holder.hold(Document, { id: "1" });
    const notes = holdNotes(world);
    await world.settle();
    expect(document.$state.value).toMatchObject({ kind: "failed", cause: failing({ reason: "TOO_LARGE" }) });
    expect(notes.$state.value.kind).toBe("live");
  },
);
