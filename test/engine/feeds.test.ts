/** What an engine's commands publish: in their own commit, so that a stream over it survives what the log does. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { Board } from "../../examples/board/gen/board/v1/board_holdfast.ts";
import type { TailResponse } from "../../examples/board/gen/board/v1/board_pb.ts";
import { boardRules } from "../../examples/board/rules.ts";
import { createServer, memoryStore, type Store } from "../../server/index.ts";
import { sqliteStore } from "../../server/sqlite/index.ts";
import type { DurableName } from "../../server/topic/topics.ts";
import { notOfTheEngine } from "./engine-world.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

async function serve(store: Store, refuse: () => boolean = () => false) {
  const board = await boardRules.open(store);
  const server = createServer({ store }).implement(Board, board.handlers(notOfTheEngine));
  const happened = server.topic(Board.tail, "", { durable: true });
  board.feed(({ records, origin }, { state, publish }) => {
    for (const record of records) {
      if (record.$typeName === "board.v1.Posted")
        publish(happened, { by: `${origin.seq}`, item: state.items[record.id] });
    }
    if (refuse()) throw new Error("the feed fails");
  });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  return {
    post: async (title: string) => {
      const init = {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ title }),
      };
      return (await fetch(`${url}/board.v1.BoardService/Post`, init)).status;
    },
    follow: async (after?: { epoch: string; seq: number }) =>
      (happened as unknown as DurableName).follow(after, 0),
    board,
    close: () => server.close({ within: 0 }),
  };
}

function take(follower: Awaited<ReturnType<Awaited<ReturnType<typeof serve>>["follow"]>>): string[] {
  const batch = follower.takeBatch();
  if (typeof batch === "string") return [batch];
  return batch.items.map(({ seq, message }) => {
    const { by, item } = message as TailResponse;
    return `${seq}: command ${by}, ${item?.title}`;
  });
}

describe.each([
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(":memory:")],
] as const)("an engine's feed on %s", (_, open) => {
  it("publishes what a command did, with the state after it, and nothing of one that is refused", async () => {
    const served = await serve(open());
    const follower = await served.follow();
    expect([await served.post("milk"), await served.post(""), await served.post("bread")]).toEqual([
      200, 400, 200,
    ]);
    expect(take(follower)).toEqual(["1: command 1, milk", "2: command 2, bread"]);
    await served.close();
  });

  it("that throws undoes its command", async () => {
    let failing = true;
    const served = await serve(open(), () => failing);
    const follower = await served.follow();
    expect(await served.post("milk")).toBe(500);
    failing = false;
    expect(await served.post("bread")).toBe(200);
    expect(Object.values(served.board.state.items).map(({ title }) => title)).toEqual(["bread"]);
    expect(take(follower)).toEqual(["1: command 1, bread"]);
    await served.close();
  });
});

it("a stream over an engine's feed goes on after a restart, with the same numbers", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-feed-"));
  folders.push(folder);
  const open = (): Store => sqliteStore(join(folder, "board.db"));
  const first = await serve(open());
  const { at } = await first.follow();
  for (const title of ["a", "b", "c"]) await first.post(title);
  await first.close();
  const second = await serve(open());
  await second.post("d");
  const again = await second.follow({ ...at, seq: 1 });
  expect([again.restarted, ...take(again)]).toEqual([
    false,
    "2: command 2, b",
    "3: command 3, c",
    "4: command 4, d",
  ]);
  await second.close();
});
