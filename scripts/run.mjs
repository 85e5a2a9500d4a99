// Running other programs, and the last line that every script ends with.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

/**
 * Runs a program of the project (node_modules/.bin is searched first) to its end.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, output?: "inherit" | "stderr" | "quiet" }} [options] "quiet" shows its output only
 * when it fails.
 * @returns {number} its exit status; 1 when a signal ended it
 */
export function run(command, args, { cwd = process.cwd(), output = "inherit" } = {}) {
  const path = `${join(cwd, "node_modules/.bin")}${delimiter}${process.env.PATH ?? ""}`;
  const stdio = output === "inherit" ? "inherit" : output === "stderr" ? ["inherit", 2, 2] : "pipe";
  const result = spawnSync(command, args, {
    cwd,
    stdio,
    env: { ...process.env, PATH: path },
    encoding: "utf8",
  });
  if (result.error !== undefined) process.stderr.write(`${command}: ${result.error.message}\n`);
  if (output === "quiet" && result.status !== 0)
    process.stderr.write(`${result.stdout ?? ""}${result.stderr ?? ""}`);
  return result.status ?? 1;
}

/**
 * Ends the process with a line on stderr.
 *
 * @param {string} line
 * @returns {never}
 */
export function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}

/**
 * The last line of a script, `NAME: ok …` or `NAME: failed …`, its exit status, and its figures as JSON where
 * `--json FILE` asks for them.
 *
 * @param {{ name: string, ok: boolean, text: string, figures?: object }} summary
 */
export function finish({ name, ok, text, figures = {} }) {
  const file = optionOf("--json");
  if (file !== undefined) writeFileSync(file, `${JSON.stringify({ name, ok, text, ...figures }, null, 2)}\n`);
  process.stdout.write(`${name}: ${ok ? "ok" : "failed"} ${text}\n`);
  process.exitCode = ok ? 0 : 1;
}

/**
 * The value that follows an option on the command line.
 *
 * @param {string} name
 * @returns {string | undefined}
 */
export function optionOf(name) {
  const at = process.argv.indexOf(name);
  if (at < 0) return undefined;
  return process.argv[at + 1] ?? fail(`${name} needs a value`);
}
