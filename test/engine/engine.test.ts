import { create, fromBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { Board } from "../../examples/board/gen/board/v1/board_holdfast.ts";
import { ClaimResponseSchema, ItemState } from "../../examples/board/gen/board/v1/board_pb.ts";
import { BoardStateSchema, PostedSchema } from "../../examples/board/gen/board/v1/state_pb.ts";
import { RecordEnvelopeSchema } from "../../gen/holdfast/store/v1/engine_pb.ts";
import { engine } from "../../server/engine/engine.ts";
import { sqliteStore } from "../../server/sqlite/index.ts";
import { memoryStore } from "../../server/store/memory-store.ts";
import { call, type Told, worlds } from "./engine-world.ts";

function claimReply(told: Told): { readonly heldBy: string; readonly note: string } {
  if (!("reply" in told)) throw new Error(`refused: ${told.refused}`);
  const { item, note } = fromBinary(ClaimResponseSchema, Buffer.from(told.reply, "hex"));
  return { heldBy: item?.heldBy ?? "", note };
}

describe.each(Object.entries(worlds))("an engine over the %s store", (_, openWorld) => {
  it("decides a command, appends one envelope and folds its records in", async () => {
    await using world = openWorld();
    const board = await world.open();
    await call(world, board, "post", { title: " buy milk " }, { id: "call-1" });
    expect(board.seq).toBe(1);
    expect(board.state.items["issue-1"]).toMatchObject({ title: "buy milk", postedBy: "ada" });
    const envelope = fromBinary(RecordEnvelopeSchema, new Uint8Array(world.rows()[0]?.bytes ?? []));
    expect(envelope).toMatchObject({
      seq: 1n,
      by: "ada",
      command: "board.v1.BoardService.Post",
      call: { space: "by ada", id: "call-1" },
    });
    expect(envelope.records.map(({ type }) => type)).toEqual(["board.v1.Posted"]);
  });

  it("answers a repeat from the log, without a second record", async () => {
    await using world = openWorld();
    const board = await world.open();
    const first = await call(world, board, "post", { title: "buy milk" }, { id: "call-1" });
    const second = await call(world, await world.open(), "post", { title: "buy milk" }, { id: "call-1" });
    expect(second).toEqual(first);
    expect(world.rows()).toHaveLength(1);
  });

  it("tells callers apart who chose the same call ID", async () => {
    await using world = openWorld();
    const board = await world.open();
    await call(world, board, "post", { title: "one" }, { id: "call-1", by: "ada" });
    await call(world, board, "post", { title: "two" }, { id: "call-1", by: "bob" });
    expect(board.state.postedCount).toBe(2);
  });

  it("replies on the state of now: a repeat says who has taken the item over", async () => {
    await using world = openWorld();
    const board = await world.open();
    await call(world, board, "post", { title: "buy milk" }, { id: "call-1" });
    const claim = { id: "call-2", by: "ada" };
    expect(claimReply(await call(world, board, "claim", { id: "issue-1" }, claim)).heldBy).toBe("ada");
    await call(world, board, "release", { id: "issue-1" }, { id: "call-3", by: "ada" });
    await call(world, board, "claim", { id: "issue-1" }, { id: "call-4", by: "bob" });
    expect(claimReply(await call(world, board, "claim", { id: "issue-1" }, claim)).heldBy).toBe("bob");
  });

  it("keeps a call that wrote no record as an empty envelope, its own note only until a start", async () => {
    await using world = openWorld();
    const board = await world.open();
    await call(world, board, "post", { title: "buy milk" }, { id: "call-1" });
    await call(world, board, "claim", { id: "issue-1" }, { id: "call-2" });
    const again = { id: "call-3" };
    expect(claimReply(await call(world, board, "claim", { id: "issue-1" }, again)).note).toBe(
      "it was yours already",
    );
    expect(claimReply(await call(world, board, "claim", { id: "issue-1" }, again)).note).toBe(
      "it was yours already",
    );
    expect(world.rows()).toHaveLength(3);
    const started = await world.open();
    expect(claimReply(await call(world, started, "claim", { id: "issue-1" }, again)).note).toBe("");
    expect(world.rows()).toHaveLength(3);
  });

  it("keeps a refusal as an empty envelope: no late twin runs when it would be accepted", async () => {
    await using world = openWorld();
    const board = await world.open();
    const refused = await call(world, board, "claim", { id: "issue-1" }, { id: "call-1" });
    await call(world, board, "post", { title: "buy milk" }, { id: "call-2" });
    expect(refused).toEqual({ refused: `${Code.NotFound} there is no issue-1` });
    expect(await call(world, await world.open(), "claim", { id: "issue-1" }, { id: "call-1" })).toEqual(
      refused,
    );
    expect(world.rows()).toHaveLength(2);
  });

  it("writes nothing for a plain client's command that came to nothing", async () => {
    await using world = openWorld();
    const board = await world.open();
    await call(world, board, "claim", { id: "issue-1" });
    expect(world.rows()).toHaveLength(0);
  });

  it("refuses another command under a known call ID", async () => {
    await using world = openWorld();
    const board = await world.open();
    await call(world, board, "post", { title: "buy milk" }, { id: "call-1" });
    const told = await call(world, board, "claim", { id: "issue-1" }, { id: "call-1" });
    expect(told).toHaveProperty("refused");
    expect(board.state.items["issue-1"]?.state).toBe(ItemState.OPEN);
  });

  it("decides each of many commands at once on the state with all before it", async () => {
    await using world = openWorld();
    const board = await world.open();
    await call(world, board, "post", { title: "buy milk" }, { id: "post" });
    const names = Array.from({ length: 20 }, (__, at) => `caller-${at}`);
    const told = await Promise.all(
      names.map((by) => call(world, board, "claim", { id: "issue-1" }, { id: "claim", by })),
    );
    expect(told.filter((each) => "reply" in each)).toHaveLength(1);
    await world.store.write(() => undefined); // the refusals are written behind the answers, in their order
    expect(board.seq).toBe(21);
  });

  it("undoes a command whose transaction fails after it was decided, for the next in the same batch too", async () => {
    await using world = openWorld();
    const board = await world.open();
    const failing = {
      clock: world.clock,
      store: {
        ...world.store,
        write: <T>(work: (tx: unknown) => T | Promise<T>) =>
          world.store.write((tx) => {
            void work(tx);
            throw new Error("the kept reply could not be written");
          }) as Promise<T>,
      },
    };
    const lost = call(failing, board, "post", { title: "lost" }, { id: "call-1" });
    const kept = call(world, board, "post", { title: "kept" }, { id: "call-2" });
    await expect(lost).rejects.toThrow("could not be written");
    await kept;
    expect(Object.values(board.state.items).map(({ title }) => title)).toEqual(["kept"]);
    expect(world.rows()).toHaveLength(1);
    expect(board.state.items["issue-1"]?.title).toBe("kept");
  });

  it("tells a listener of each command once it is durable, in order", async () => {
    await using world = openWorld();
    const board = await world.open();
    const heard: string[] = [];
    const stop = board.subscribe(({ origin, command, callId, records, refused }) => {
      const what = refused ? "refused" : records.map(({ $typeName }) => $typeName).join();
      heard.push(`${origin.seq} ${command.split(".").at(-1)} ${callId} ${what}`);
    });
    await call(world, board, "post", { title: "buy milk" }, { id: "call-1" });
    await call(world, board, "release", { id: "issue-1" }, { id: "call-2" });
    await call(world, board, "claim", { id: "issue-1" }, { id: "call-3" });
    await call(world, board, "claim", { id: "issue-1" }, { id: "call-4" });
    stop();
    await call(world, board, "release", { id: "issue-1" }, { id: "call-5" });
    expect(heard).toEqual([
      "1 Post call-1 board.v1.Posted",
      "2 Release call-2 refused",
      "3 Claim call-3 board.v1.Claimed",
      "4 Claim call-4 ",
    ]);
  });

  it("says so when it was opened twice and the other one has written", async () => {
    await using world = openWorld();
    const [one, two] = [await world.open(), await world.open()];
    await call(world, one, "post", { title: "one" }, { id: "call-1" });
    await expect(call(world, two, "post", { title: "two" }, { id: "call-2" })).rejects.toThrow(
      "opened twice",
    );
    expect(world.rows()).toHaveLength(1);
  });
});

describe("an engine's rules", () => {
  const commands = { post: { handle: () => ({}), reply: () => ({}) } };
  const rules = { state: BoardStateSchema, records: [PostedSchema], commands, apply: () => undefined };

  it("are refused for a command that the service does not have", () => {
    const wrong = { ...rules, commands: { list: commands.post } };
    expect(() => engine(Board, wrong as never)).toThrow("BoardService.list is no command that runs once");
  });

  it("are refused with less than one command between two checkpoints", () => {
    expect(() => engine(Board, { ...rules, checkpointEvery: 0 })).toThrow("checkpointEvery is 0");
  });

  it("are typed by the service: requests, replies, records and each command's note", () => {
    engine(Board, {
      ...rules,
      commands: {
        post: {
          handle: (state, { title }) => ({
            records: [create(PostedSchema, { id: `${state.postedCount}`, title })],
          }),
          // @ts-expect-error -- a reply has no such field
          reply: (_state, { records }) => ({ items: records[0]?.title }),
        },
        claim: {
          note: "",
          // @ts-expect-error -- its note is a text
          handle: () => ({ note: 7 }),
          reply: (_state, { note, request }) => ({ note: note.concat(request.id) }),
        },
        close: {
          // @ts-expect-error -- no record of this engine
          handle: () => ({ records: [create(BoardStateSchema)] }),
          reply: () => ({}),
        },
      },
    });
    const open = engine(Board, rules).open(memoryStore());
    return open.then((board) => {
      // @ts-expect-error -- the handlers of the commands that the engine does not take are missing
      expect(Object.keys(board.handlers({ list: () => ({}) }))).toEqual(["list", "post"]);
    });
  });

  it.each([
    ["a promise", () => Promise.resolve({}), "must be synchronous"],
    ["nothing", () => undefined, "it returned nothing"],
    ["a record that is not listed", () => ({ records: [create(BoardStateSchema)] }), "of its `records`"],
  ])("fail a call whose handle returns %s, and keep nothing of it", async (_, handle, text) => {
    await using world = worlds.memory();
    const broken = engine(Board, {
      ...rules,
      commands: { post: { ...commands.post, handle: handle as never } },
    });
    const board = (await broken.open(world.store)) as never;
    await expect(call(world, board, "post", {}, { id: "call-1" })).rejects.toThrow(text);
    expect(world.rows()).toHaveLength(0);
  });

  it("do not run on another store than the server's", async () => {
    await using world = worlds.sqlite();
    const other = sqliteStore(":memory:");
    const board = await world.open();
    const elsewhere = { clock: world.clock, store: other };
    await expect(call(elsewhere, board, "post", { title: "a" }, { id: "call-1" })).rejects.toThrow(
      "another store",
    );
    await other.close();
  });

  it("need a store that can hold a log", async () => {
    const store = { ...memoryStore(), write: async (work: (tx: unknown) => unknown) => work({}) };
    await expect(engine(Board, rules).open(store as never)).rejects.toThrow("none for this kind");
  });

  it("stop the engine when apply does not come to the same twice", async () => {
    await using world = worlds.memory();
    let runs = 0;
    const fickle = engine(Board, {
      ...rules,
      commands: {
        post: { handle: () => ({ records: [create(PostedSchema, { id: "a" })] }), reply: () => ({}) },
      },
      apply() {
        runs += 1;
        if (runs === 2) throw new Error("not today");
      },
    });
    const board = (await fickle.open(world.store)) as never;
    await call(world, board, "post", {}, { id: "call-1" });
    await expect(call(world, board, "post", {}, { id: "call-2" })).resolves.toEqual({
      refused: expect.stringContaining("has stopped") as string,
    });
  });
});
