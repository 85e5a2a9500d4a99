// Breaks a copy of the sources in one place after the other, and counts the seeds until the simulation finds it:
// `npm run sim:planted -- [--seeds N] [--only TEXT]… [--write]`.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Breakage, breakages } from "./breakages.ts";
import { writeTable } from "./table.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "5000" },
    only: { type: "string", multiple: true, default: [""] },
    write: { type: "boolean", default: false },
  },
});
const root = fileURLToPath(new URL("../../..", import.meta.url));
const copy = mkdtempSync(join(tmpdir(), "holdfast-planted-"));
const say = (line: string): void => void process.stdout.write(`${line}\n`);

export interface Found {
  readonly breakage: Breakage;
  /** Seeds until the first breach; undefined: none. */
  readonly seeds: number | undefined;
  readonly seedsMost: number;
  readonly rule: string;
}

try {
  for (const name of ["runtime", "server", "gen", "test/simulation", "package.json", "tsconfig.json"]) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  const found: Found[] = [];
  for (const breakage of breakages.filter(({ name }) => values.only.some((text) => name.includes(text)))) {
    found.push(look(breakage));
    // Each at once: all of them take long, and what is known stays known.
    if (values.write) writeTable(join(root, "docs/simulation.md"), breakages, found);
  }
  const missed = found.filter(({ seeds }) => seeds === undefined);
  say(
    `sim:planted: ${missed.length === 0 ? "ok" : "failed"} ${found.length - missed.length} of ${found.length} found`,
  );
  process.exitCode = missed.length === 0 ? 0 : 1;
} finally {
  rmSync(copy, { recursive: true, force: true });
}

function look(breakage: Breakage): Found {
  const file = join(copy, breakage.file);
  const text = readFileSync(file, "utf8");
  const parts = text.split(breakage.from);
  if (parts.length !== 2) {
    throw new RangeError(`"${breakage.name}": its text stands ${parts.length - 1} times in ${breakage.file}`);
  }
  writeFileSync(file, parts.join(breakage.to));
  try {
    const args = ["--conditions=holdfast-source", "--import", "tsx", "test/simulation/main.ts"];
    const json = join(copy, "result.json");
    rmSync(json, { force: true });
    const run = spawnSync(process.execPath, [...args, "--first", "--seeds", values.seeds, "--json", json], {
      cwd: copy,
      encoding: "utf8",
    });
    const result = readResult(json);
    // A program that ends before its last line is broken too, and that is found.
    const rule = /^ {2}(\w+):/m.exec(run.stdout)?.[1] ?? (result === undefined ? "it stopped" : "");
    const seeds = result?.ok === true ? undefined : (result?.count ?? 1);
    say(`${breakage.name}: ${seeds === undefined ? "NOT FOUND" : `${seeds} seeds (${rule})`}`);
    if (result === undefined) say(run.stderr.split("\n").slice(0, 8).join("\n"));
    return { breakage, seeds, seedsMost: Number(values.seeds), rule };
  } finally {
    writeFileSync(file, text);
  }
}

function readResult(json: string): { readonly ok: boolean; readonly count: number } | undefined {
  try {
    return JSON.parse(readFileSync(json, "utf8")) as { ok: boolean; count: number };
  } catch {
    return undefined;
  }
}
