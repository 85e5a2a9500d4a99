/**
 * The server that is killed: a table of its own in the store's file, an engine, and a file that stands for the world outside.
 * Says `listening PORT` when it is there and `busy N` at its Nth command, one line each.
 *
 * Arguments: the database, the file outside, the port (0: any).
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { Code, ConnectError } from "@connectrpc/connect";
import { consoleLog } from "../../runtime/base/log.ts";
import type { CommandContext } from "../../runtime/base/handlers.ts";
import { createServer } from "../../server/index.ts";
import { sqliteStore } from "../../server/sqlite/index.ts";
import { Ledger } from "./gen/test/crash/v1/ledger_holdfast.ts";
import { Logbook } from "./gen/test/crash/v1/logbook_holdfast.ts";
import { logbookRules } from "./logbook.ts";

interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: unknown[]): { readonly lastInsertRowid: number | bigint } };
}

const [, , file = "", outside = "", port = "0"] = process.argv;
const store = sqliteStore(file, { log: { ...consoleLog, info: () => undefined } });
const database = store.database as Database;
// No UNIQUE: a command that ran twice has to show.
database.exec("CREATE TABLE IF NOT EXISTS ledger (id INTEGER PRIMARY KEY, key TEXT NOT NULL, call TEXT)");
const insert = database.prepare("INSERT INTO ledger (key, call) VALUES (?, ?)");
const logbook = await logbookRules.open(store, { log: consoleLog });
logbook.subscribe(sayBusy);

let count = 0;
/** Tells whoever is to kill it how far it has come. */
function sayBusy(): void {
  count += 1;
  process.stdout.write(`busy ${count}\n`);
}

/** One line, in one write: a kill leaves it whole or absent. */
function actOutside(key: string, { callId }: CommandContext): void {
  appendFileSync(outside, `${key} ${callId ?? ""}\n`);
}

function didOutside({ callId }: CommandContext): boolean {
  return existsSync(outside) && readFileSync(outside, "utf8").includes(` ${callId ?? ""}\n`);
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const server = createServer({ store, log: { ...consoleLog, info: () => undefined } });
server.implement(
  Ledger,
  {
    put: async ({ key, refuse }, context) => {
      sayBusy();
      await turn();
      return context.transaction(() => {
        const { lastInsertRowid } = insert.run(key, context.callId ?? null);
        if (refuse) throw new ConnectError("the test wants a refusal", Code.FailedPrecondition);
        return { row: BigInt(lastInsertRowid) };
      });
    },
    pay: async ({ key }, context) => {
      sayBusy();
      await turn();
      actOutside(key, context);
      await turn();
      return {};
    },
    send: async ({ key }, context) => {
      sayBusy();
      await turn();
      if (!context.mayHaveRun || !didOutside(context)) actOutside(key, context);
      await turn();
      return {};
    },
  },
  { send: { rerun: true } },
);
server.implement(Logbook, logbook.handlers({}));
const address = await server.listen({ host: "127.0.0.1", port: Number(port) });
process.stdout.write(`listening ${address.port}\n`);
