/** The simulation as one file, with the sources as they are or broken in one place: quick to make, quick to load. */
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import type { Breakage } from "./breakage.ts";

/** Makes a folder one in which a bundle finds its packages. */
export function prepareFolder(root: string, folder: string): void {
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}

/** @throws RangeError if the text of the breakage does not stand in its file exactly once. */
export async function bundle(root: string, file: string, breakage: Breakage | undefined): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: [join(root, "test/simulation/planted/searcher.ts")],
    outfile: file,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["holdfast-source"],
    external: ["@bufbuild/*", "@connectrpc/*", "better-sqlite3", "mutative", "proper-lockfile", "ws"],
    logLevel: "silent",
    plugins: breakage === undefined ? [] : [breaking(root, breakage)],
  });
}

function breaking(root: string, { name, file, from, to }: Breakage): Plugin {
  const path = join(root, file);
  const parts = readFileSync(path, "utf8").split(from);
  if (parts.length !== 2) {
    throw new RangeError(`"${name}": its text stands ${parts.length - 1} times in ${file}`);
  }
  return {
    name: "breakage",
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.ts$/ }, (args) =>
        args.path === path ? { contents: parts.join(to), loader: "ts" } : undefined,
      );
    },
  };
}
