/** Runs the board's server until it is told to stop: `npm run board:server -- --port 8080`. */
import { parseArgs } from "node:util";
import { consoleLog } from "holdfast/server";
import { boardServer } from "./board-server.ts";

const { values } = parseArgs({ options: { port: { type: "string", default: "8080" } } });
const server = boardServer({ signals: true, log: consoleLog });
const { port } = await server.listen({ port: Number(values.port) });
console.log(`the board is at http://127.0.0.1:${port}`);
