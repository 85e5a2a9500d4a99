/** Who imports whom inside the project. */
import { importsOf, type SourceFile, targetOf } from "./source-files.ts";

/** Each file with the files of the project that it imports, types too. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

export function importGraph(files: readonly SourceFile[]): ImportGraph {
  const known = new Set(files.map((file) => file.path));
  return new Map(
    files.map((file) => [
      file.path,
      importsOf(file)
        .map((specifier) => targetOf(file.path, specifier))
        .filter((target) => target !== undefined && known.has(target))
        .map(String),
    ]),
  );
}

/** The cycles, each as one way round that starts and ends at the same file. */
export function cycles(graph: ImportGraph): readonly string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): void => {
    const at = trail.indexOf(file);
    if (at >= 0) found.push([...trail.slice(at), file].join(" -> "));
    if (at >= 0 || done.has(file)) return;
    for (const target of graph.get(file) ?? []) visit(target, [...trail, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return found;
}

/** The files that no entry leads to. */
export function unreached(graph: ImportGraph, entries: readonly string[]): readonly string[] {
  const reached = new Set<string>();
  const waiting = [...entries];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    waiting.push(...(graph.get(file) ?? []));
  }
  return [...graph.keys()].filter((file) => !reached.has(file));
}
