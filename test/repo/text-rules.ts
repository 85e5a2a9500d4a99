/** Rules about what stands in a file. Each gives one sentence for each breach. */
import ts from "typescript";
import type { SourceFile } from "./source-files.ts";

/** One line of a file and where it is. */
function eachLine(file: SourceFile, breach: (line: string) => string | undefined): readonly string[] {
  return file.text.split("\n").flatMap((line, index) => {
    const what = breach(line);
    return what === undefined ? [] : [`${file.path}:${index + 1} ${what}`];
  });
}

/** Tests that are switched off, or switch off others. */
export function switchedOffTests(file: SourceFile): readonly string[] {
  const pattern = /\b(?:describe|it|test|bench)(?:\.\w+)*\.(only|skip|todo|fails)\b(?!If)/;
  return eachLine(file, (line) => {
    const match = pattern.exec(line);
    return match === null ? undefined : `switches off tests by .${match[1] ?? ""}`;
  });
}

/** Put together here, so that this file passes its own rule. */
const unfinished = new RegExp(
  `\\b(?:${["TO", "DO"].join("")}|${["FIX", "ME"].join("")}|${["XX", "X"].join("")})\\b`,
);

/** Notes of unfinished work: they belong where work is planned, not in the sources. */
export function unfinishedNotes(file: SourceFile): readonly string[] {
  return eachLine(file, (line) => (unfinished.test(line) ? "has a note of unfinished work" : undefined));
}

/** A leftover of a hunt for a fault; libraries say what they have to say through the injected log. */
export function consoleCalls(file: SourceFile): readonly string[] {
  return eachLine(file, (line) =>
    /(?<![\w"'`.])console\.\w+\(/.test(line) || /^\s*debugger\b/.test(line)
      ? "prints past the log"
      : undefined,
  );
}

/** Paths of somebody's machine. */
export function machinePaths(file: SourceFile): readonly string[] {
  const folders = ["home", "Users", "root", "work", "tmp", "private/tmp"].join("|");
  const pattern = new RegExp(`(?<![\\w.:~@)}\\]/*-])/(?:${folders})/[\\w.-]`);
  return eachLine(file, (line) => (pattern.test(line) ? "names a path of one machine" : undefined));
}

/** Sources longer than this hold more than one concept. */
export const lineCountMost = 400;
export const functionLineCountMost = 70;

export function tooLong(file: SourceFile): readonly string[] {
  const count = file.text.split("\n").length - 1;
  return count <= lineCountMost ? [] : [`${file.path} has ${count} lines, more than ${lineCountMost}`];
}

function parse(file: SourceFile): ts.SourceFile {
  return ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true);
}

function eachNode(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => eachNode(child, visit));
}

/** Functions above the house's length. */
export function longFunctions(file: SourceFile): readonly string[] {
  const source = parse(file);
  const found: string[] = [];
  eachNode(source, (node) => {
    if (!ts.isFunctionLike(node) || !("body" in node) || node.body === undefined) return;
    const line = (position: number): number => source.getLineAndCharacterOfPosition(position).line;
    const count = line(node.getEnd()) - line(node.getStart(source)) + 1;
    if (count <= functionLineCountMost) return;
    const name = node.name === undefined ? "a function" : node.name.getText(source);
    found.push(`${file.path}: ${name} has ${count} lines, more than ${functionLineCountMost}`);
  });
  return found;
}

/** What only a page has; a worker, Node and other servers have none of it. */
const browserNames: ReadonlySet<string> = new Set([
  "window",
  "document",
  "navigator",
  "localStorage",
  "sessionStorage",
  "indexedDB",
  "XMLHttpRequest",
  "EventSource",
  "HTMLElement",
  "requestAnimationFrame",
]);

/** Uses of what only a browser has. */
export function browserOnlyNames(file: SourceFile): readonly string[] {
  const source = parse(file);
  const declared = new Set<string>();
  const used = new Set<string>();
  eachNode(source, (node) => {
    if (!ts.isIdentifier(node) || !browserNames.has(node.text)) return;
    const { parent } = node;
    if (
      (ts.isVariableDeclaration(parent) || ts.isParameter(parent) || ts.isBindingElement(parent)) &&
      parent.name === node
    ) {
      declared.add(node.text);
      return;
    }
    const isMember = ts.isPropertyAccessExpression(parent) && parent.name === node;
    const ofGlobal = isMember && parent.expression.getText(source) === "globalThis";
    const isLabel = "name" in parent && parent.name === node;
    if (isMember ? ofGlobal : !isLabel) used.add(node.text);
  });
  return [...used]
    .filter((name) => !declared.has(name))
    .map((name) => `${file.path} uses ${name}, which only a browser has`);
}

/** Weakened types: `any`, a non-null `!`, an error that is told to be quiet. */
export function weakenedTypes(file: SourceFile): readonly string[] {
  const source = parse(file);
  const found: string[] = [];
  eachNode(source, (node) => {
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
    if (node.kind === ts.SyntaxKind.AnyKeyword) found.push(`${file.path}:${line} says any`);
    if (ts.isNonNullExpression(node)) found.push(`${file.path}:${line} asserts with !`);
  });
  return [
    ...found,
    ...eachLine(file, (line) =>
      /@ts-(?:ignore|expect-error|nocheck)\b/.test(line) ? "silences the compiler" : undefined,
    ),
  ];
}
