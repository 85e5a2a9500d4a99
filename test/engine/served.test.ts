/** An engine behind a real server: the journal, the log and the state together, over each store. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Board } from "../../examples/board/gen/board/v1/board_holdfast.ts";
import { boardRules } from "../../examples/board/rules.ts";
import { createServer, memoryStore, type ServerOptions, type Store } from "../../server/index.ts";
import { sqliteStore } from "../../server/sqlite/index.ts";
import { type BoardEngine, notOfTheEngine } from "./engine-world.ts";

interface Served extends AsyncDisposable {
  readonly board: BoardEngine;
  send(method: string, body: object, by: string, id: string): Promise<Sent>;
}

interface Sent {
  readonly repeat: boolean;
  readonly mark: string | null;
  readonly body: {
    readonly item?: { readonly heldBy?: string };
    readonly note?: string;
    readonly message?: string;
  };
}

async function serve(store: Store, limits: ServerOptions["limits"] = {}): Promise<Served> {
  const board = await boardRules.open(store);
  const server = createServer({
    store,
    limits,
    authenticate: ({ token }) => (token === undefined ? undefined : { by: token }),
  }).implement(Board, board.handlers(notOfTheEngine));
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  return {
    board,
    async send(method, body, by, id) {
      const headers = {
        "content-type": "application/json",
        authorization: `Bearer ${by}`,
        "holdfast-call": `"${id.padEnd(22, "0")}"`,
      };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      const answer = await fetch(`${url}/board.v1.BoardService/${method}`, init);
      return {
        repeat: answer.headers.get("holdfast-repeat") === "1",
        mark: answer.headers.get("holdfast-settled"),
        body: (await answer.json()) as Sent["body"],
      };
    },
    [Symbol.asyncDispose]: () => server.close({ within: 0 }),
  };
}

describe.each([
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(":memory:")],
] as const)("an engine's service over the %s store", (_, openStore) => {
  it("answers a repeat on the state of now, its note kept, and marks it as a repeat", async () => {
    await using served = await serve(openStore());
    await served.send("Post", { title: "buy milk" }, "ada", "a");
    const first = await served.send("Claim", { id: "issue-1" }, "ada", "b");
    expect(first).toMatchObject({ repeat: false, mark: "ran", body: { item: { heldBy: "ada" } } });
    const noted = await served.send("Claim", { id: "issue-1" }, "ada", "c");
    expect(noted.body.note).toBe("it was yours already");
    await served.send("Release", { id: "issue-1" }, "ada", "d");
    await served.send("Claim", { id: "issue-1" }, "bob", "e");
    const again = await served.send("Claim", { id: "issue-1" }, "ada", "b");
    expect(again).toMatchObject({ repeat: true, mark: "ran", body: { item: { heldBy: "bob" } } });
    const notedAgain = await served.send("Claim", { id: "issue-1" }, "ada", "c");
    expect(notedAgain.body).toEqual({ item: again.body.item, note: "it was yours already" });
    expect(served.board.seq).toBe(5);
  });

  it("keeps a refusal in the journal and in the log", async () => {
    await using served = await serve(openStore());
    const no = await served.send("Claim", { id: "issue-1" }, "ada", "a");
    expect(no).toMatchObject({ repeat: false, mark: "refused", body: { message: "there is no issue-1" } });
    await served.send("Post", { title: "buy milk" }, "ada", "b");
    const again = await served.send("Claim", { id: "issue-1" }, "ada", "a");
    expect(again).toMatchObject({ repeat: true, mark: "refused", body: { message: "there is no issue-1" } });
    expect(served.board.seq).toBe(2);
  });

  it("undoes a command whose reply is too large to keep, and keeps that it was refused", async () => {
    await using served = await serve(openStore(), { keptReplyBytesMost: 100 });
    const large = await served.send("Post", { title: "x".repeat(150) }, "ada", "a");
    expect(large).toMatchObject({ repeat: false, mark: "refused" });
    expect(served.board.state.postedCount).toBe(0);
    await served.send("Post", { title: "small" }, "ada", "b");
    expect(served.board.state.items["issue-1"]?.title).toBe("small");
    const again = await served.send("Post", { title: "x".repeat(150) }, "ada", "a");
    expect(again).toEqual({ ...large, repeat: true });
    expect(served.board.seq).toBe(2);
  });

  it("runs a call once whose tries come at the same time", async () => {
    await using served = await serve(openStore());
    const tries = [1, 2, 3].map(() => served.send("Post", { title: "buy milk" }, "ada", "a"));
    const told = await Promise.all(tries);
    expect(new Set(told.map(({ body }) => JSON.stringify(body)))).toHaveProperty("size", 1);
    expect(served.board.state.postedCount).toBe(1);
  });
});

it("a server that is started again on its file has its state, and answers repeats from before", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-engine-"));
  try {
    const file = join(folder, "board.db");
    await using before = await serve(sqliteStore(file));
    const post = await before.send("Post", { title: "buy milk" }, "ada", "a");
    const no = await before.send("Release", { id: "issue-1" }, "bob", "b");
    await before[Symbol.asyncDispose]();
    await using after = await serve(sqliteStore(file));
    expect(after.board.seq).toBe(2);
    expect(await after.send("Post", { title: "buy milk" }, "ada", "a")).toEqual({ ...post, repeat: true });
    expect(await after.send("Release", { id: "issue-1" }, "bob", "b")).toEqual({ ...no, repeat: true });
    expect(after.board.seq).toBe(2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
