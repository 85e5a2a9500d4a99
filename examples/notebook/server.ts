/**
 * Runs the notebooks' server until it is told to stop: `npm run notebook:server -- --editor ada --editor bob`. Without
 * `--editor` everybody writes.
 */
import { parseArgs } from "node:util";
import { consoleLog } from "holdfast/server";
import { notebookServer } from "./notebook-server.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "8081" },
    editor: { type: "string", multiple: true },
  },
});
const { editor: editors } = values;
const server = notebookServer({
  log: consoleLog,
  signals: true,
  ...(editors === undefined ? {} : { editors }),
});
const { port } = await server.listen({ port: Number(values.port) });
console.log(`the notebooks are at http://127.0.0.1:${port}`);
