/** Commands over a port, kept in a file: what a user's handlers, links and plain clients meet. */
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it, vi } from "vitest";
import { silentLog } from "../../runtime/base/log.ts";
import { createLinkOf } from "../../runtime/link/registry.ts";
import { nodePlatform, type NodeLinkOptions } from "../../runtime/node/index.ts";
import { createServer, type ServerOptions } from "../../server/index.ts";
import type { SqliteStore } from "../../server/sqlite/index.ts";
import { Ledger, ledgerClient, type LedgerHandlers } from "../crash/gen/test/crash/v1/ledger_holdfast.ts";
import { typeErrors } from "../codegen/typecheck.ts";
import { systemClock } from "../../runtime/base/clock.ts";
import { type Database, databaseOf, folder } from "./support.ts";

const handlers: LedgerHandlers = {
  put: ({ key, refuse }, ctx) =>
    ctx.transaction((tx) => {
      (tx as Database).prepare("INSERT INTO ledger (key) VALUES (?)").run(key);
      if (refuse) throw new ConnectError("no", Code.NotFound);
      const { id } = (tx as Database).prepare("SELECT max(id) AS id FROM ledger").get() as { id: number };
      return { row: BigInt(id) };
    }),
  pay: () => ({}),
  send: () => ({}),
};

async function start(store: SqliteStore, options: ServerOptions = {}) {
  databaseOf(store).exec("CREATE TABLE IF NOT EXISTS ledger (id INTEGER PRIMARY KEY, key TEXT)");
  const server = createServer({ store, ...options }).implement(Ledger, handlers);
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  const linkOf = createLinkOf<NodeLinkOptions>(nodePlatform, ["httpVersion", "tls"]);
  const link = linkOf(url);
  return { server, url, client: ledgerClient(link), link };
}

const put = (url: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${url}/test.crash.v1.LedgerService/Put`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

const ids = { "holdfast-call": '"aaaaaaaaaaaaaaaaaaaaaa"' };

describe("a server with its calls in a file", () => {
  it("answers a repeat after its end and a new start as it did before, and runs it once", async () => {
    await using files = folder();
    const first = files.open({ clock: systemClock });
    const before = await start(first);
    const said = await (await put(before.url, { key: "a" }, ids)).text();
    await before.link.close();
    await before.server.close({ within: 0 });
    const second = files.open({ clock: systemClock });
    const after = await start(second);
    const again = await put(after.url, { key: "a" }, ids);
    expect(await again.text()).toBe(said);
    expect(again.headers.get("holdfast-repeat")).toBe("1");
    expect(databaseOf(second).prepare("SELECT count(*) AS n FROM ledger").get()).toEqual({ n: 1 });
    await after.link.close();
    await after.server.close({ within: 0 });
  });

  it("rolls a refusal back, for links and for plain clients without a call ID", async () => {
    await using files = folder();
    const store = files.open({ clock: systemClock });
    const { server, client, link, url } = await start(store);
    expect((await client.put({ key: "a" })).row).toBe(1n);
    await expect(client.put({ key: "b", refuse: true })).rejects.toMatchObject({ outcome: "refused" });
    expect((await put(url, { key: "c", refuse: true })).status).toBe(404);
    expect(await (await put(url, { key: "d" })).json()).toEqual({ row: "2" });
    const keys = databaseOf(store).prepare("SELECT key FROM ledger ORDER BY id").all();
    expect(keys).toEqual([{ key: "a" }, { key: "d" }]);
    await link.close();
    await server.close({ within: 0 });
  });

  it("closes when its store can no longer be trusted", async () => {
    await using files = folder();
    const store = files.open({ clock: systemClock });
    const log = { ...silentLog, error: vi.fn() };
    const { server, url, link } = await start(store, { log });
    databaseOf(store).exec("DROP TABLE holdfast_calls"); // stands for a file that has gone bad
    // Its connections are cut, perhaps before the answer is out.
    const status = await put(url, { key: "a" }, ids).then(
      (answer) => answer.status,
      () => 503,
    );
    expect(status).toBe(503);
    await server.close();
    expect(String(log.error.mock.calls)).toContain("store is broken");
    await link.close();
  });
});

describe("an option of a method", () => {
  it.each([
    [
      "of a command without effects elsewhere",
      { put: { rerun: true } },
      /not a command with effects: EXTERNAL/,
    ],
    ["of no method", { putt: { rerun: true } }, /does not have/],
  ])("%s is refused when the service is implemented", (_, options, text) => {
    expect(() => createServer().implement(Ledger, handlers, options as object)).toThrow(text);
  });
});

describe("the type of tx", () => {
  const handler = `
    import { createServer } from "holdfast/server";
    import { sqliteStore } from "holdfast/server/sqlite";
    import type { CommandContext } from "holdfast/generated-v1";
    export async function claim(ctx: CommandContext): Promise<{ id: number }> {
      return ctx.transaction((tx) => ({ id: tx.next() }));
    }
    export const next: () => number = () => sqliteStore("x").database.next();
    createServer({ store: sqliteStore("x") });
  `;
  const register = `
    export interface Mine { next(): number }
    declare module "holdfast/server" { interface Register { tx: Mine } }
  `;

  it("is what the program registers once", () => {
    expect(typeErrors({ "a.ts": `${handler}\n${register}` }, "ts")).toEqual([]);
  });

  it("is unknown for a program that says nothing", () => {
    expect(typeErrors({ "a.ts": handler }, "ts").join()).toContain("'tx' is of type 'unknown'");
  });
});
