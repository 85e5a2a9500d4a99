// Installs what the lock file names when that is not there yet, and does nothing otherwise. It imports
// nothing but Node's own modules: on a fresh clone there is nothing else.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fail, run } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const leastNode = [20, 19];

/**
 * What the lock file names and node_modules has not, or has in another version.
 *
 * @param {Record<string, { version?: string, optional?: boolean, link?: boolean }>} locked
 * @param {Record<string, { version?: string }>} installed
 * @returns {string[]}
 */
export function missing(locked, installed) {
  return Object.entries(locked)
    .filter(([path, entry]) => path !== "" && entry.link !== true)
    .filter(([path, { version, optional }]) => {
      const found = installed[path];
      // An optional package may belong to another platform.
      return found === undefined ? optional !== true : found.version !== version;
    })
    .map(([path]) => path.replace(/^.*node_modules\//, ""));
}

/** @param {string} path */
function packagesOf(path) {
  return JSON.parse(readFileSync(join(root, path), "utf8")).packages;
}

/**
 * A development package has a native build. It needs Node's headers, which most installs of Node bring along;
 * without a word of where they are, they would be downloaded.
 */
function useOwnHeaders() {
  const home = dirname(dirname(process.execPath));
  if (existsSync(join(home, "include/node/node.h"))) process.env.npm_config_nodedir ??= home;
}

function setUp() {
  useOwnHeaders();
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < leastNode[0] || (major === leastNode[0] && minor < leastNode[1])) {
    fail(
      `setup: failed: this is Node ${process.versions.node}; holdfast needs ${leastNode.join(".")} or newer.`,
    );
  }
  // npm writes this at the end of each install.
  const record = "node_modules/.package-lock.json";
  const installed = existsSync(join(root, record)) ? packagesOf(record) : undefined;
  const lacking =
    installed === undefined ? ["all packages"] : missing(packagesOf("package-lock.json"), installed);
  if (lacking.length === 0) return;
  const what = lacking.length > 3 ? `${lacking.length} packages` : lacking.join(", ");
  process.stderr.write(`setup: installing ${what}\n`);
  const status = run("npm", [installed === undefined ? "ci" : "install"], { cwd: root, output: "stderr" });
  if (status !== 0) {
    fail(
      "setup: failed: npm could not install. If package.json and package-lock.json differ, run `npm install`.",
    );
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setUp();
