/** The project's files as the repository's own checks see them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import ts from "typescript";

export const root = resolve(import.meta.dirname, "../..");

/** A file: its path from the root with forward slashes, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** Folders that hold no file of the project: what others wrote, and what is made again at any time. */
const passedOver: readonly string[] = ["node_modules", "dist", "coverage", ".git", ".holdfast"];

/** All files below these paths (from the root) whose names end so, in the order of their paths. */
export function filesBelow(paths: readonly string[], endings: readonly string[]): readonly SourceFile[] {
  const found: string[] = [];
  for (const path of paths) walk(join(root, path), found);
  return found
    .filter((path) => endings.some((ending) => path.endsWith(ending)))
    .sort()
    .map((path) => ({ path: relative(root, path).split(sep).join("/"), text: readFileSync(path, "utf8") }));
}

function walk(path: string, found: string[]): void {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (passedOver.includes(entry.name)) continue;
    const at = join(path, entry.name);
    if (entry.isDirectory()) walk(at, found);
    else if (entry.isFile()) found.push(at);
  }
}

export function isTest(path: string): boolean {
  return path.endsWith(".test.ts") || path.startsWith("test/");
}

/** Made by a generator. */
export function isGenerated(path: string): boolean {
  return /(^|\/)(gen|golden)\//.test(path);
}

/** What a file imports, types too, as it is written there. */
export function importsOf(file: SourceFile): readonly string[] {
  return ts.preProcessFile(file.text, true, true).importedFiles.map((found) => found.fileName);
}

/** The project's file that a relative import means, or undefined for a package. */
export function targetOf(importer: string, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  return relative(root, resolve(root, dirname(importer), specifier))
    .split(sep)
    .join("/");
}

/** The npm package that an import means, or undefined for a file of the project. */
export function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith(".")) return undefined;
  if (specifier.startsWith("node:")) return "node:";
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/** The text of a file of the project. */
export function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}
