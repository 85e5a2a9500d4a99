/** Type-checks files that exist only in memory, as if they lay in a folder of this package. */
import { join } from "node:path";
import ts from "typescript";
import type { Files } from "./compile.ts";

/** The strictest that a user's project can be. */
const strictest: ts.CompilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  isolatedModules: true,
  verbatimModuleSyntax: true,
  erasableSyntaxOnly: true,
  declaration: true,
  isolatedDeclarations: true,
  emitDeclarationOnly: true,
  skipLibCheck: false,
  target: ts.ScriptTarget.ES2023,
  lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
  types: [],
  customConditions: ["holdfast-source"],
};

/** How the modules of each ending are found. */
export const resolutions = {
  ts: { allowImportingTsExtensions: true, module: ts.ModuleKind.NodeNext },
  js: { module: ts.ModuleKind.NodeNext },
  none: { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
} as const satisfies Record<string, ts.CompilerOptions>;

/** The libraries of earlier runs, which take longer to read than everything else. */
const libraries = new Map<string, ts.SourceFile | undefined>();

/**
 * Every error in the files themselves, as `path(line): text`.
 *
 * @param checked - the files to look at; the others are there to be imported. Default: all.
 */
export function typeErrors(
  files: Files,
  resolution: keyof typeof resolutions,
  checked: RegExp = /\.ts$/,
): readonly string[] {
  const root = join(import.meta.dirname, "in-memory");
  const options = { ...strictest, ...resolutions[resolution] };
  const texts = new Map(Object.entries(files).map(([path, text]) => [join(root, path), text]));
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, directoryExists, getSourceFile } = host;
  host.getSourceFile = (path, ...rest) => {
    if (texts.has(path)) return getSourceFile.call(host, path, ...rest);
    const key = `${options.module} ${path}`;
    if (!libraries.has(key)) libraries.set(key, getSourceFile.call(host, path, ...rest));
    return libraries.get(key);
  };
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  const folders = new Set([...texts.keys()].flatMap(foldersAbove));
  host.directoryExists = (path) => folders.has(path) || directoryExists?.(path) === true;
  const names = [...texts.keys()].filter((path) => checked.test(path));
  const program = ts.createProgram(names, options, host);
  const own = names.flatMap((name) => {
    const source = program.getSourceFile(name);
    const declarations = name.endsWith(".d.ts") ? [] : program.getDeclarationDiagnostics(source);
    return [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
      ...declarations,
    ];
  });
  return [...program.getOptionsDiagnostics(), ...own].map(({ file, start, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, "\n");
    if (file === undefined || start === undefined) return text;
    return `${file.fileName.slice(root.length + 1)}(${file.getLineAndCharacterOfPosition(start).line + 1}): ${text}`;
  });
}

function foldersAbove(path: string): readonly string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
}
