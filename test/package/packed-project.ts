/**
 * The package as a user gets it: built and packed from a copy of the tree (so that neither the tree nor anybody's
 * dist/ changes), unpacked into the node_modules of an empty project whose other packages are links to ours.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { root } from "../repo/source-files.ts";

export interface PackedProject extends Disposable {
  /** The project's folder. */
  readonly folder: string;
  /** The package in its node_modules. */
  readonly packageFolder: string;
  /** The package as npm would publish it. */
  readonly tarball: string;
  /** The packed files, from the package's folder. */
  readonly files: readonly string[];
  /** Writes a file of the project. */
  write(path: string, text: string): void;
  /** Runs a program there and gives its output; throws with the output when it fails. */
  run(command: string, args: readonly string[]): string;
}

const notCopied: readonly string[] = [
  "node_modules",
  "dist",
  ".git",
  "coverage",
  ".holdfast",
  "test",
  "bench",
];

/** Packages that a user's project has beside holdfast: its peers, and the compiler. */
const linked: readonly string[] = [
  "@bufbuild/protobuf",
  "@bufbuild/protoplugin",
  "@bufbuild/protoc-gen-es",
  "@connectrpc/connect",
  "@connectrpc/connect-node",
  "@types/node",
  "undici-types",
  "typescript",
];

export function packProject(): PackedProject {
  const home = mkdtempSync(join(tmpdir(), "holdfast-package-"));
  const copy = join(home, "tree");
  cpSync(root, copy, {
    recursive: true,
    filter: (path) =>
      !path
        .slice(root.length)
        .split(sep)
        .some((part) => notCopied.includes(part)),
  });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"), "dir");
  // The build says on stdout how it went; npm's own words come last.
  runIn(copy, "npm", ["pack", "--pack-destination", home]);
  const folder = join(home, "project");
  const packageFolder = join(folder, "node_modules/holdfast");
  mkdirSync(packageFolder, { recursive: true });
  const { version } = JSON.parse(readFileSync(join(copy, "package.json"), "utf8")) as { version: string };
  const tarball = join(home, `holdfast-${version}.tgz`);
  runIn(home, "tar", ["-xzf", tarball, "-C", packageFolder, "--strip-components=1"]);
  for (const name of linked) {
    const at = join(folder, "node_modules", name);
    mkdirSync(dirname(at), { recursive: true });
    symlinkSync(join(root, "node_modules", name), at, "dir");
  }
  const files = runIn(packageFolder, "find", [".", "-type", "f"]).trim().split("\n");
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  write("package.json", JSON.stringify({ name: "a-users-project", private: true, type: "module" }));
  return {
    folder,
    packageFolder,
    tarball,
    files: files.map((path) => path.replace(/^\.\//, "")),
    write,
    run: (command, args) => runIn(folder, command, args),
    [Symbol.dispose]: () => rmSync(home, { recursive: true }),
  };
}

/** Runs a program in a folder and gives its output; throws with the output when it fails. */
export function runIn(cwd: string, command: string, args: readonly string[]): string {
  try {
    return execFileSync(command, args, { cwd, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`);
  }
}
