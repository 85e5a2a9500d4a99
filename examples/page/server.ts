/**
 * Serves the page, and the board that it shows: `npm run page`. Open what it prints in two windows, as two people; stop
 * the program and start it again, and see both go on.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { sqliteStore } from "holdfast/server/sqlite";
import { createServer } from "vite";
import { boardServer } from "../board/board-server.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "8080" },
    "page-port": { type: "string", default: "5173" },
    db: { type: "string", default: ".holdfast/board.db" },
  },
});

// In a program of your own, vite needs none of this: holdfast comes built, from node_modules.
const vite = await createServer({
  configFile: false,
  root: fileURLToPath(new URL(".", import.meta.url)),
  resolve: { conditions: ["holdfast-source", "module", "browser", "development"] },
  server: {
    host: "127.0.0.1",
    port: Number(values["page-port"]),
    strictPort: true,
    fs: { allow: ["../.."] },
    hmr: false,
  },
  logLevel: "warn",
});
await vite.listen();

mkdirSync(dirname(values.db), { recursive: true });
const page = (vite.resolvedUrls?.local[0] ?? "").replace(/\/$/, "");
const board = await boardServer({ store: sqliteStore(values.db), signals: true, cors: { origins: [page] } });
const { port } = await board.listen({ port: Number(values.port) });
const query = port === 8080 ? "" : `&server=http://127.0.0.1:${port}`;
for (const name of ["ann", "bob"]) console.log(`${name}'s board: ${page}/?as=${name}${query}`);
