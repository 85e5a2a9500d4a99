/**
 * Starts: from a checkpoint and from the whole log, over whole and damaged logs, by older and newer builds.
 * Invariant I15: both give the same state, and equal replies to every repeat.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoardStateSchema } from "../../examples/board/gen/board/v1/state_pb.ts";
import { EngineCheckpointSchema, RecordEnvelopeSchema } from "../../gen/holdfast/store/v1/engine_pb.ts";
import type { Log } from "../../runtime/base/log.ts";
import {
  type BoardEngine,
  call,
  type Command,
  type EngineWorld,
  stateHex,
  type Told,
  worlds,
} from "./engine-world.ts";

const flip = (bytes: Uint8Array): Uint8Array => bytes.map((byte, at) => (at === 3 ? byte ^ 1 : byte));

function hearing(): Log & { readonly errors: string[] } {
  const errors: string[] = [];
  return { errors, info: () => undefined, warn: () => undefined, error: (text) => errors.push(text) };
}

interface Step {
  readonly command: Command;
  readonly item: number;
  readonly by: string;
  /** Calls share few IDs, so that many are repeats. */
  readonly id: number | undefined;
  readonly laterMs: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  command: fc.constantFrom<Command>("post", "claim", "release", "close"),
  item: fc.integer({ min: 1, max: 3 }),
  by: fc.constantFrom("ada", "bob"),
  id: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
  laterMs: fc.constantFrom(0, 1, 3_600_000),
});

type Action = Step | "checkpoint" | "restart" | "restart from log";

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 12, arbitrary: step },
  { weight: 1, arbitrary: fc.constantFrom<Action>("checkpoint", "restart", "restart from log") },
);

function requestOf({ command, item }: Step): object {
  return command === "post" ? { title: `item ${item}` } : { id: `issue-${item}` };
}

/** The command is part of the ID, since one ID names one command. */
function callerOf({ command, by, id, item }: Step): { by: string; id?: string } {
  return id === undefined ? { by } : { by, id: `${command}-${item}-${id}` };
}

async function play(world: EngineWorld, board: BoardEngine, steps: readonly Step[]): Promise<void> {
  for (const each of steps) {
    await world.clock.advance(each.laterMs);
    await call(world, board, each.command, requestOf(each), callerOf(each));
    await world.store.write(() => undefined);
  }
}

/** What every call with an ID is told when it is repeated. */
async function repeats(world: EngineWorld, board: BoardEngine, steps: readonly Step[]): Promise<Told[]> {
  const told: Told[] = [];
  for (const each of steps) {
    if (each.id !== undefined)
      told.push(await call(world, board, each.command, requestOf(each), callerOf(each)));
  }
  return told;
}

describe.each(Object.entries(worlds))("a start over the %s store", (_, openWorld) => {
  it("from a checkpoint and from the whole log gives the same state and equal replies to repeats", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 40 }), async (actions) => {
        await using world = openWorld();
        let board = await world.open();
        const done: Step[] = [];
        for (const each of actions) {
          if (each === "checkpoint") await board.checkpoint();
          else if (each === "restart") board = await world.open();
          else if (each === "restart from log") board = await world.open({ from: "log" });
          else {
            await play(world, board, [each]);
            done.push(each);
          }
        }
        const [short, long] = [await world.open(), await world.open({ from: "log" })];
        expect(stateHex(short)).toBe(stateHex(long));
        expect(stateHex(short)).toBe(stateHex(board));
        expect(short.seq).toBe(long.seq);
        const recent = done.slice(-20); // at most 20 h old, so none is forgotten
        const count = world.rows().length;
        expect(await repeats(world, short, recent)).toEqual(await repeats(world, long, recent));
        expect(world.rows()).toHaveLength(count);
      }),
      { numRuns: 60 },
    );
  });

  it("cuts a torn or corrupt end at the last whole envelope, sets it aside and says so", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 4, maxLength: 15 }),
        fc.integer({ min: 1, max: 3 }),
        fc.constantFrom<readonly [string, (bytes: Uint8Array) => Uint8Array]>(
          ["torn", (bytes) => bytes.slice(0, bytes.length >> 1)],
          ["empty", () => new Uint8Array()],
          ["zeroed", (bytes) => bytes.map(() => 0)],
          ["one bit off", flip],
        ),
        fc.boolean(),
        async (steps, lost, [, damage], checkpointed) => {
          await using world = openWorld();
          const board = await world.open();
          const states = [stateHex(board)];
          board.subscribe(() => undefined);
          for (const each of steps) {
            const before = board.seq;
            await play(world, board, [each]);
            if (board.seq > before) states.push(stateHex(board));
            if (checkpointed && board.seq === 2) await board.checkpoint();
          }
          const whole = Math.max(board.seq - lost, checkpointed ? 2 : 0);
          fc.pre(board.seq > whole);
          for (let seq = whole + 1; seq <= board.seq; seq += 1) world.damage(seq, damage);
          const log = hearing();
          const started = await world.open({ log });
          expect(started.seq).toBe(whole);
          expect(stateHex(started)).toBe(states[whole]);
          expect(started.start.setAside).toEqual({ fromSeq: whole + 1, count: board.seq - whole });
          expect(world.asideCount()).toBe(board.seq - whole);
          expect(log.errors.join()).toContain(`ends with envelope ${whole}`);
          await call(world, started, "post", { title: "goes on" }, { id: "after" });
          expect((await world.open({ from: "log" })).seq).toBe(whole + 1);
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each([
    [
      "damaged",
      (world: EngineWorld) => world.damage(2, flip),
      "envelope 2 is damaged, and 3 after it is whole",
    ],
    ["missing", (world: EngineWorld) => world.drop(2), "envelope 2 is missing, and 3 after it is whole"],
  ])(
    "stops at an envelope that is %s with whole ones after it, and changes nothing",
    async (__, harm, text) => {
      await using world = openWorld();
      const board = await world.open();
      for (const title of ["one", "two", "three"]) await call(world, board, "post", { title });
      harm(world);
      const before = JSON.stringify(world.rows());
      const start = world.open();
      await expect(start).rejects.toThrow(text);
      await expect(start).rejects.toThrow("seq >= 2");
      expect(JSON.stringify(world.rows())).toBe(before);
    },
  );

  it("passes over a damaged checkpoint for the one before, and then for the log", async () => {
    await using world = openWorld();
    const board = await world.open();
    await call(world, board, "post", { title: "one" });
    await board.checkpoint();
    await call(world, board, "post", { title: "two" });
    await board.checkpoint();
    world.damageCheckpoint(2, flip);
    const log = hearing();
    const started = await world.open({ log });
    expect(started.start).toMatchObject({ checkpointSeq: 1, appliedCount: 1 });
    expect(log.errors.join()).toContain("the checkpoint at 2 is passed over");
    world.damageCheckpoint(1, () => new Uint8Array());
    expect((await world.open()).start).toMatchObject({ checkpointSeq: 0, appliedCount: 2 });
    expect(stateHex(await world.open())).toBe(stateHex(board));
  });

  it("keeps the newest two checkpoints", async () => {
    await using world = openWorld();
    const board = await world.open();
    for (let count = 0; count < 4; count += 1) {
      await call(world, board, "post", { title: "one" });
      await board.checkpoint();
    }
    expect(world.checkpointCount()).toBe(2);
  });

  it("makes a checkpoint by itself each `checkpointEvery` commands", async () => {
    await using world = openWorld();
    const board = await world.open();
    // The board's own default is far away: what is counted is seen in the start after 10,000.
    expect(board.start).toEqual({ checkpointSeq: 0, appliedCount: 0, setAside: undefined });
    await Promise.all(
      Array.from({ length: 10_000 }, () => call(world, board, "post", { title: "x" }, { by: "bulk" })),
    );
    await world.store.write(() => undefined);
    await world.store.write(() => undefined);
    const started = await world.open();
    expect(started.start.checkpointSeq).toBeGreaterThanOrEqual(10_000);
    expect(stateHex(started)).toBe(stateHex(board));
  });

  it("trims what is in both checkpoints and older than calls are kept, and nothing else", async () => {
    await using world = openWorld();
    const board = await world.open({ trim: true });
    await call(world, board, "post", { title: "old" }, { id: "old" });
    await board.checkpoint();
    await world.clock.advance(world.store.facts.keepMs + 1);
    await call(world, board, "post", { title: "new" }, { id: "new" });
    await board.checkpoint();
    await call(world, board, "post", { title: "newer" }, { id: "newer" });
    await board.checkpoint();
    expect(world.rows().map(({ seq }) => seq)).toEqual([2, 3]);
    const started = await world.open({ trim: true });
    expect(stateHex(started)).toBe(stateHex(board));
    await call(world, started, "post", { title: "new" }, { id: "new" });
    expect(started.state.postedCount).toBe(3);
    await call(world, started, "post", { title: "last" }, { id: "last" });
    expect(started.seq).toBe(4);
  });
});

it("a trimmed log still starts from the checkpoint before the newest", async () => {
  await using world = worlds.sqlite();
  const board = await world.open({ trim: true });
  await call(world, board, "post", { title: "one" });
  await board.checkpoint();
  await call(world, board, "post", { title: "two" });
  await world.clock.advance(world.store.facts.keepMs + 1);
  await call(world, board, "post", { title: "three" });
  await board.checkpoint();
  world.damageCheckpoint(3, flip);
  const started = await world.open();
  expect(started.start).toMatchObject({ checkpointSeq: 1, appliedCount: 2 });
  expect(stateHex(started)).toBe(stateHex(board));
});

it("a state that something else than apply has changed goes into no checkpoint, and a start is right", async () => {
  await using world = worlds.sqlite();
  const board = await world.open();
  await call(world, board, "post", { title: "one" });
  const right = stateHex(board);
  board.state.postedCount = 7;
  await expect(board.checkpoint()).rejects.toThrow("changed by something else than apply");
  expect(stateHex(await world.open())).toBe(right);
});

/** A field that no build of today knows. */
const newField = new BinaryWriter().tag(999, WireType.LengthDelimited).string("newer").finish();

function append(bytes: Uint8Array, more: Uint8Array): Uint8Array {
  return new Uint8Array([...bytes, ...more]);
}

describe.each(Object.entries(worlds))(
  "a build over the %s store that an older or newer one has written to",
  (_, openWorld) => {
    it("keeps fields of newer records, and makes no checkpoint without their meaning", async () => {
      await using world = openWorld();
      const board = await world.open();
      await call(world, board, "post", { title: "one" }, { id: "call-1" });
      world.damage(1, withNewerRecord, true);
      const before = JSON.stringify(world.rows()[0]);
      const older = await world.open();
      await call(world, older, "post", { title: "two" }, { id: "call-2" });
      await expect(older.checkpoint()).rejects.toThrow("a newer build has written");
      expect(JSON.stringify(world.rows()[0])).toBe(before);
      expect(world.checkpointCount()).toBe(0);
    });

    it("keeps fields of a newer state in its own copies, and makes no checkpoint of it", async () => {
      await using world = openWorld();
      const board = await world.open();
      await call(world, board, "post", { title: "one" });
      await board.checkpoint();
      world.damageCheckpoint(1, withNewerState, true);
      const older = await world.open();
      await call(world, older, "post", { title: "two" });
      expect(toBinary(BoardStateSchema, older.state).join()).toContain(newField.join());
      await expect(older.checkpoint()).rejects.toThrow("a newer build has written");
    });

    it("stops at a record of a type that it does not know, and names it", async () => {
      await using world = openWorld();
      const board = await world.open();
      await call(world, board, "post", { title: "one" });
      world.damage(1, withOtherType, true);
      await expect(world.open()).rejects.toThrow(/envelope 1 .*board\.v1\.Renamed is unknown to this build/);
    });

    it("reads envelopes from before calls had IDs", async () => {
      await using world = openWorld();
      const board = await world.open();
      await call(world, board, "post", { title: "one" });
      world.damage(1, withoutCall, true);
      expect(stateHex(await world.open())).toBe(stateHex(board));
    });
  },
);

function withNewerRecord(bytes: Uint8Array): Uint8Array {
  const envelope = fromBinary(RecordEnvelopeSchema, bytes);
  for (const record of envelope.records) record.value = append(record.value, newField);
  return toBinary(RecordEnvelopeSchema, envelope);
}

function withOtherType(bytes: Uint8Array): Uint8Array {
  const envelope = fromBinary(RecordEnvelopeSchema, bytes);
  for (const record of envelope.records) record.type = "board.v1.Renamed";
  return toBinary(RecordEnvelopeSchema, envelope);
}

function withoutCall(bytes: Uint8Array): Uint8Array {
  const { seq, atMs, by, records } = fromBinary(RecordEnvelopeSchema, bytes);
  return toBinary(RecordEnvelopeSchema, create(RecordEnvelopeSchema, { seq, atMs, by, records }));
}

function withNewerState(bytes: Uint8Array): Uint8Array {
  const checkpoint = fromBinary(EngineCheckpointSchema, bytes);
  checkpoint.state = append(checkpoint.state, newField);
  return toBinary(EngineCheckpointSchema, checkpoint);
}
