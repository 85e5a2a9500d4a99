/**
 * Runs the board's server until it is told to stop: `npm run board:server -- --port 8080`. With `--runs` it
 * prints a line for each run of a command's handler.
 */
import { parseArgs } from "node:util";
import { consoleLog } from "holdfast/server";
import { boardServer } from "./board-server.ts";

const { values } = parseArgs({
  options: { port: { type: "string", default: "8080" }, runs: { type: "boolean", default: false } },
});
const onRun = (method: string, callId: string | undefined): void => {
  if (values.runs) console.log(`ran ${method} ${callId ?? "-"}`);
};
const server = boardServer({ signals: true, ...(values.runs ? {} : { log: consoleLog }) }, onRun);
const { port } = await server.listen({ port: Number(values.port) });
console.log(`the board is at http://127.0.0.1:${port}`);
