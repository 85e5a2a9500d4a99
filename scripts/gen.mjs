// Generates the code of every schema: each buf.gen.yaml of the project, from the root, with the
// buf.workspace.yaml that lies beside it where there is one.
//
//   npm run gen                    all of them
//   npm run gen -- examples/board  those below a folder
//   npm run gen -- --check         writes nothing, and fails when what is there differs
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { finish, run } from "./run.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const passedOver = ["node_modules", "dist", ".git", "coverage"];

/**
 * @param {string} folder
 * @returns {string[]} the templates below it, as paths from the root
 */
function templatesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return passedOver.includes(entry.name) ? [] : templatesBelow(path);
      return entry.name === "buf.gen.yaml" ? [relative(root, path)] : [];
    })
    .sort();
}

/**
 * @param {string} template
 * @returns {string[]} the folders that it writes
 */
function outsOf(template) {
  const outs = [...readFileSync(join(root, template), "utf8").matchAll(/^\s+out: *(\S+)/gm)];
  return [...new Set(outs.map((match) => match[1] ?? ""))];
}

/**
 * @param {string} template
 * @param {string | undefined} into a folder that all is written below, in place of the root
 */
function generate(template, into) {
  const workspace = join(dirname(template), "buf.workspace.yaml");
  const config = existsSync(join(root, workspace)) ? ["--config", workspace] : [];
  const output = into === undefined ? [] : ["--output", into];
  return run("buf", ["generate", "--template", template, ...config, ...output], { cwd: root });
}

/**
 * @param {string} folder
 * @returns {Map<string, string>} each file below it with its text
 */
function filesOf(folder) {
  if (!existsSync(folder)) return new Map();
  const found = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) =>
    entry.isFile(),
  );
  const paths = found.map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [relative(folder, path), readFileSync(path, "utf8")]));
}

/**
 * @param {string} out
 * @param {string} fresh where it was written anew
 * @returns {string[]} what differs
 */
function differences(out, fresh) {
  const [now, then] = [filesOf(join(root, out)), filesOf(join(fresh, out))];
  return [...new Set([...now.keys(), ...then.keys()])]
    .filter((path) => now.get(path) !== then.get(path))
    .map(
      (path) =>
        `${out}/${path} ${now.has(path) ? (then.has(path) ? "differs" : "is left over") : "is missing"}`,
    );
}

const check = process.argv.includes("--check");
const below = process.argv.slice(2).filter((argument) => !argument.startsWith("-"))[0] ?? "";
const templates = templatesBelow(root).filter((path) => path.startsWith(below));
const fresh = check ? mkdtempSync(join(tmpdir(), "holdfast-gen-")) : undefined;
try {
  const broken = templates.filter((template) => generate(template, fresh) !== 0);
  const differing =
    fresh === undefined ? [] : templates.flatMap(outsOf).flatMap((out) => differences(out, fresh));
  for (const line of differing) process.stderr.write(`${line}\n`);
  const counted = `${templates.length} schemas${check ? " up to date" : ""}`;
  const ok = templates.length > 0 && broken.length === 0 && differing.length === 0;
  const advice =
    differing.length > 0 ? `: ${differing.length} files differ; run \`npm run gen\` and commit` : "";
  const failed =
    broken.length > 0
      ? `: ${broken.join(", ")}`
      : templates.length === 0
        ? `: no buf.gen.yaml below "${below}"`
        : advice;
  finish({
    name: "gen",
    ok,
    text: ok ? counted : failed.slice(2),
    figures: { templates, broken, differing },
  });
} finally {
  if (fresh !== undefined) rmSync(fresh, { recursive: true });
}
