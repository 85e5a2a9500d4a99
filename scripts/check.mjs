// All checks but the tests of behaviour, each shown as it ends. Later ones run although an earlier one failed,
// so that one run shows all that is to mend.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { finish, run } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** @type {readonly (readonly [string, string, readonly string[]])[]} */
const checks = [
  ["types", "tsc", ["--noEmit", "-p", "tsconfig.json"]],
  ["lint", "eslint", ["."]],
  ["format", "biome", ["check", "."]],
  ["repository rules", "vitest", ["run", "test/repo"]],
  ["schemas", "buf", ["lint"]],
  ["schemas' format", "buf", ["format", "--diff", "--exit-code"]],
  ["generated code", "node", ["scripts/gen.mjs", "--check"]],
];

const failed = checks
  .filter(([name, command, args]) => {
    const status = run(command, args, { cwd: root, output: "quiet" });
    process.stdout.write(`${status === 0 ? "ok    " : "failed"}  ${name}\n`);
    return status !== 0;
  })
  .map(([name]) => name);

finish({
  name: "check",
  ok: failed.length === 0,
  text: failed.length === 0 ? `${checks.length} checks` : failed.join(", "),
  figures: { failed },
});
