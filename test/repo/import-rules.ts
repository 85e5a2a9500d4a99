/** Which file may import which: the table of docs/architecture.md as a check. */
import { quoted, tableAfter } from "./markdown.ts";
import { importsOf, packageOf, type SourceFile, targetOf } from "./source-files.ts";

/** What one folder's own files may import. */
interface Allowed {
  readonly folders: readonly string[];
  readonly packages: readonly string[];
}

export type ImportTable = ReadonlyMap<string, Allowed>;

/** Reads the table of docs/architecture.md. */
export function readImportTable(page: string): ImportTable {
  const table = new Map<string, Allowed>();
  for (const [folder = "", folders = "", packages = ""] of tableAfter(page, "import-table")) {
    const [name] = quoted(folder);
    if (name === undefined) throw new Error(`a row of the import table names no folder: ${folder}`);
    table.set(name, { folders: quoted(folders), packages: quoted(packages) });
  }
  return table;
}

/** The row that a path falls under: the deepest folder of the table that holds it. */
export function rowOf(path: string, table: ImportTable): string | undefined {
  const rows = [...table.keys()].filter((folder) => path.startsWith(`${folder}/`));
  const deepest = rows.sort((a, b) => b.length - a.length)[0];
  // The generated code has folders by package; every other folder needs a row of its own.
  if (deepest === undefined || deepest === "gen") return deepest;
  return path.slice(deepest.length + 1).includes("/") ? undefined : deepest;
}

/** The imports of a file that the table does not allow, each as a sentence. */
export function forbiddenImports(file: SourceFile, table: ImportTable): readonly string[] {
  const row = rowOf(file.path, table);
  const allowed = row === undefined ? undefined : table.get(row);
  if (row === undefined || allowed === undefined) {
    return [`${file.path} lies in a folder without a row in the import table of docs/architecture.md`];
  }
  return importsOf(file).flatMap((specifier) => {
    const name = packageOf(specifier);
    if (name !== undefined) {
      return allowed.packages.includes(name) ? [] : [`${file.path}: ${row} may not import ${specifier}`];
    }
    const target = targetOf(file.path, specifier) ?? specifier;
    const to = rowOf(target, table);
    if (to === row || (to !== undefined && allowed.folders.includes(to))) return [];
    return [`${file.path}: ${row} may not import ${target}`];
  });
}

/** What a user's program may not import either: anything of holdfast but its public names. */
export function notPublicImports(
  file: SourceFile,
  own: string,
  isPublic: (name: string) => boolean,
): readonly string[] {
  return importsOf(file).flatMap((specifier) => {
    const target = targetOf(file.path, specifier);
    if (target !== undefined) {
      return target.startsWith(`${own}/`)
        ? []
        : [`${file.path} reaches into ${target}; import a public name`];
    }
    if (packageOf(specifier) !== "holdfast" || isPublic(specifier)) return [];
    return [`${file.path} imports ${specifier}, which the package does not export`];
  });
}

/** Whether the package's exports map has this name, by a pattern too. */
export function isExported(name: string, exportNames: readonly string[]): boolean {
  const path = name.replace(/^holdfast/, ".");
  return exportNames.some((exported) => {
    const [before = "", after] = exported.split("*");
    return after === undefined ? path === exported : path.startsWith(before) && path.endsWith(after);
  });
}
