/**
 * Runs the board's server until it is told to stop: `npm run board:server -- --port 8080`. The board lies in
 * `.holdfast/board.db`, or where `--db FILE` says; with `--memory` it goes with the process. With `--runs` it
 * prints a line for each command that ran.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { type ClientBuild, consoleLog, memoryStore } from "holdfast/server";
import { sqliteStore } from "holdfast/server/sqlite";
import { boardServer } from "./board-server.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "8080" },
    db: { type: "string", default: ".holdfast/board.db" },
    memory: { type: "boolean", default: false },
    runs: { type: "boolean", default: false },
    // Serves programs of this major version alone, as after a change that older ones cannot follow.
    major: { type: "string" },
  },
});
const onRun = (method: string, callId: string | undefined): void =>
  console.log(`ran ${method} ${callId ?? "-"}`);
if (!values.memory) mkdirSync(dirname(values.db), { recursive: true });
const store = values.memory ? memoryStore() : sqliteStore(values.db);
const { major } = values;
const build =
  major === undefined
    ? {}
    : { build: { id: `${major}.0.0`, accepts: (client: ClientBuild) => client.major === Number(major) } };
const server = await boardServer(
  { store, signals: true, ...build, ...(values.runs ? {} : { log: consoleLog }) },
  values.runs ? onRun : undefined,
);
const { port } = await server.listen({ port: Number(values.port) });
console.log(`the board is at http://127.0.0.1:${port}`);
