/** The crash test's programs as single files, so that a start costs a tenth of what the sources cost, and their lives. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));

export interface Programs {
  readonly server: string;
  readonly client: string;
}

/** Makes both programs below node_modules, from where they find the packages that they import. */
export async function makePrograms(): Promise<Programs> {
  const outdir = join(root, "node_modules/.cache/holdfast-crash", String(process.pid));
  mkdirSync(outdir, { recursive: true });
  await build({
    entryPoints: [join(here, "server-process.ts"), join(here, "client-process.ts")],
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["holdfast-source"],
    external: packageNames(),
    logLevel: "error",
  });
  return { server: join(outdir, "server-process.mjs"), client: join(outdir, "client-process.mjs") };
}

/** Packages stay outside: some of them require each other in ways that a bundle cannot. */
function packageNames(): string[] {
  const text = readFileSync(join(root, "package.json"), "utf8");
  const { dependencies, peerDependencies, devDependencies } = JSON.parse(text) as Record<string, object>;
  return Object.keys({ ...dependencies, ...peerDependencies, ...devDependencies });
}

/** A program that runs, and the lines that it says. */
export interface Started {
  readonly process: ChildProcess;
  /** The first line that begins with a word. Rejects when the program ends without it. */
  line(word: string): Promise<string>;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
}

/** What a program has said on its standard error; a crash test that fails shows the end of it. */
export const complaints: string[] = [];

export function start(program: string, args: readonly string[]): Started {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  const lines: string[] = [];
  const waiting: { word: string; resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  const matching = (word: string): string | undefined => lines.find((line) => line.startsWith(word));
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    for (const one of waiting) if (line.startsWith(one.word)) one.resolve(line);
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    complaints.push(line);
    if (complaints.length > 200) complaints.shift();
  });
  const ended = once(child, "exit").then(([code, signal]) => String(signal ?? code));
  void ended.then((how) => {
    const said = complaints.slice(-20).join("\n");
    for (const { word, reject } of waiting) {
      reject(new Error(`it ended (${how}) without saying ${word}:\n${said}`));
    }
  });
  return {
    process: child,
    ended,
    line: (word) =>
      new Promise((resolve, reject) => {
        const said = matching(word);
        if (said !== undefined) resolve(said);
        else waiting.push({ word, resolve, reject });
      }),
  };
}
