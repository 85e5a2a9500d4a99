// The same seed gives the same history on every Node: `npm run sim:nodes -- [--seeds N] [--node PATH]…`. Without a
// path Node 24 is installed beside the packages.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

/** Of the newest line that is supported for long. */
const otherVersion = "24.22.3";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "50" },
    node: { type: "string", multiple: true },
  },
});
const root = fileURLToPath(new URL("../../..", import.meta.url));
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const folder = mkdtempSync(join(tmpdir(), "holdfast-nodes-"));
try {
  const file = join(folder, "hashes.mjs");
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  await build({
    absWorkingDir: root,
    entryPoints: [join(root, "test/simulation/nodes/hashes.ts")],
    outfile: file,
    ...({ bundle: true, platform: "node", format: "esm", target: "node20", logLevel: "silent" } as const),
    conditions: ["holdfast-source"],
    external: ["@bufbuild/*", "@connectrpc/*", "better-sqlite3", "mutative", "proper-lockfile", "ws"],
  });
  const here = run(process.execPath, file);
  const others = (values.node ?? [installed()]).map((node) => run(node, file));
  const differing = here.lines.filter((line, at) => others.some(({ lines }) => lines[at] !== line));
  for (const line of differing) say(`differs: ${line}`);
  const ok = differing.length === 0 && here.lines.length === Number(values.seeds);
  const names = [here, ...others].map(({ version }) => version).join(", ");
  say(`sim:nodes: ${ok ? "ok" : "failed"} ${here.lines.length} seeds on ${names}`);
  process.exitCode = ok ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function run(node: string, file: string): { readonly version: string; readonly lines: readonly string[] } {
  const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
  const { stdout, stderr, status } = spawnSync(node, [file, "1", values.seeds], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the seeds do not run on Node ${version}: ${stderr.slice(-2_000)}`);
  return { version, lines: stdout.trim().split("\n") };
}

function installed(): string {
  const name = `node-${process.platform}-${process.arch}`;
  const place = join(root, ".holdfast/node-24");
  const args = ["install", "--no-save", "--no-package-lock", "--prefix", place, `${name}@${otherVersion}`];
  const { status, stderr } = spawnSync("npm", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`Node ${otherVersion} cannot be installed: ${stderr.slice(-1_000)}`);
  return join(place, "node_modules", name, "bin/node");
}
