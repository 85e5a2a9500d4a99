/** What a client costs before its first call: its size in a browser, and the time from a process's start to a reply. */
import { spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import { isForeign } from "../peers.ts";
import { startPair } from "../sides/pair.ts";
import type { Workload, WorkloadRow } from "../workload.ts";

/** Where entries are resolved from: peers' packages lie below, the project's own above. */
const peersFolder = fileURLToPath(new URL("../peers/", import.meta.url));
const holdfastFolder = fileURLToPath(new URL("../holdfast/", import.meta.url));

/** What the code of each schema imports: a page with messages has it. */
const schema = `export { fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";`;

function sizeRow(name: string, entry: string): WorkloadRow {
  const isOwn = name.startsWith("holdfast");
  return {
    name,
    foreign: isForeign(name),
    open: () =>
      Promise.resolve({
        async round() {
          const { outputFiles } = await build({
            stdin: { contents: entry, resolveDir: isOwn ? holdfastFolder : peersFolder, loader: "ts" },
            conditions: ["holdfast-source"],
            platform: "browser",
            format: "esm",
            target: "es2022",
            bundle: true,
            minify: true,
            write: false,
            logLevel: "silent",
          });
          const [output] = outputFiles;
          if (output === undefined) throw new Error("esbuild made no output");
          return {
            "minified bytes": output.contents.byteLength,
            "gzip bytes": gzipSync(output.contents, { level: 9 }).byteLength,
          };
        },
        close: () => Promise.resolve(),
      }),
  };
}

/** The server's half of a peer's file, as far as it comes from modules of its own. */
const withoutServer: Plugin = {
  name: "without the server",
  setup(its) {
    its.onResolve({ filter: /^(?:\.\/serve\.ts|socket\.io)$/ }, ({ path }) => ({
      path,
      namespace: "server",
    }));
    its.onLoad({ filter: /.*/, namespace: "server" }, () => ({ contents: "exports.serve = undefined;" }));
  },
};

/** A program of one call, bundled, so that nobody's modules are read one by one. */
function startRow(name: string, peer: string): WorkloadRow {
  return {
    name,
    foreign: isForeign(peer),
    async open(options) {
      const { server, stop } = await startPair(peer, { ...options, profiles: undefined });
      const folder = join(process.cwd(), `.holdfast/bench-start-${process.pid}`);
      mkdirSync(folder, { recursive: true });
      const outfile = join(folder, `${name.replaceAll(/\W+/g, "-")}.mjs`);
      const [path, exported] = entryOf(peer);
      await build({
        stdin: {
          contents: `
            import { peers } from ${JSON.stringify(path)};
            const { connect } = peers.find(({ name }) => name === ${JSON.stringify(exported)});
            const connected = await connect(Number(process.argv[2]));
            const { n } = await connected.ask({ text: "sixteen letters!", n: 1 });
            process.exit(n === 2 ? 0 : 1);`,
          resolveDir: fileURLToPath(new URL("..", import.meta.url)),
          loader: "ts",
        },
        conditions: ["holdfast-source"],
        platform: "node",
        format: "esm",
        target: "node20",
        bundle: true,
        minify: true,
        external: ["better-sqlite3", "bufferutil", "utf-8-validate"],
        banner: {
          js: `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`,
        },
        plugins: [withoutServer],
        outfile,
        logLevel: "silent",
      });
      const port = await server.port();
      return {
        async warmUp() {
          await runFor(outfile, port);
        },
        async round() {
          return { "ms to the first reply": await runFor(outfile, port) };
        },
        async close() {
          rmSync(folder, { recursive: true, force: true });
          await stop();
        },
      };
    },
  };
}

async function runFor(outfile: string, port: number): Promise<number> {
  const startMs = performance.now();
  const child = spawn(process.execPath, [outfile, String(port)], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const code = await new Promise((resolve) => child.once("exit", resolve));
  if (code !== 0) throw new Error(`the program ended with ${String(code)}: ${said}`);
  return performance.now() - startMs;
}

function entryOf(peer: string): readonly [path: string, name: string] {
  const files: Readonly<Record<string, string>> = {
    holdfast: "./holdfast/calls.ts",
    Connect: "./peers/connect.ts",
    gRPC: "./peers/grpc.ts",
    tRPC: "./peers/trpc.ts",
    capnweb: "./peers/capnweb.ts",
    "socket.io": "./peers/socket-io.ts",
    ws: "./peers/ws.ts",
  };
  return [files[peer.split(",")[0] ?? ""] ?? "", peer];
}

export const workloads: readonly Workload[] = [
  {
    name: "start/size in a browser",
    about: "What a page loads for a client, its schemas apart, in bytes after minifying and gzip.",
    base: "Connect, unary and streams",
    ratioOf: "gzip bytes",
    roundCount: 1,
    rows: [
      sizeRow("holdfast, calls", `${schema} export { linkOf } from "holdfast";`),
      sizeRow(
        "holdfast, calls and streams",
        `${schema} export { linkOf } from "holdfast"; export { resumable, beating } from "holdfast/generated-v1";`,
      ),
      sizeRow(
        "holdfast, calls, streams, references and wires",
        `${schema} export { linkOf } from "holdfast"; export { resumable, beating } from "holdfast/generated-v1";
         export { webSocketWires } from "holdfast/web/wire";`,
      ),
      sizeRow(
        "Connect, unary and streams",
        `${schema} export { createClient } from "@connectrpc/connect";
         export { createTransport } from "@connectrpc/connect/protocol-connect";`,
      ),
      sizeRow(
        "protobuf-es alone",
        `${schema} export { create, fromBinary, toBinary, fromJson, toJson } from "@bufbuild/protobuf";`,
      ),
      sizeRow(
        "tRPC, HTTP and WebSocket",
        `export { createTRPCClient, httpBatchLink, wsLink, createWSClient } from "@trpc/client";`,
      ),
      sizeRow("socket.io-client", `export { io } from "socket.io-client";`),
      sizeRow("capnweb", `export { newWebSocketRpcSession } from "capnweb";`),
    ],
  },
  {
    name: "start/time to the first reply",
    about: "A bundled program of Node from its start to the end of its first call.",
    base: "ws",
    ratioOf: "ms to the first reply",
    rows: [
      "holdfast, HTTP/2",
      "holdfast, wire",
      "Connect, HTTP/2",
      "gRPC",
      "tRPC, WebSocket",
      "tRPC, HTTP",
      "capnweb",
      "socket.io",
      "ws",
    ].map((peer) => startRow(peer, peer)),
  },
];
