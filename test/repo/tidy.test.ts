/**
 * What lint cannot say: import directions, cycles, dead files, lengths, leftovers. Each rule is first held
 * against a sample that breaks it, so that a rule which finds nothing is a rule that looked.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cycles, importGraph, unreached } from "./import-graph.ts";
import { forbiddenImports, isExported, notPublicImports, readImportTable } from "./import-rules.ts";
import {
  filesBelow,
  importsOf,
  isGenerated,
  isTest,
  packageOf,
  read,
  root,
  type SourceFile,
} from "./source-files.ts";
import {
  browserOnlyNames,
  consoleCalls,
  longFunctions,
  machinePaths,
  switchedOffTests,
  tooLong,
  unfinishedNotes,
  weakenedTypes,
} from "./text-rules.ts";

const shipped = filesBelow(["runtime", "server", "codegen", "gen"], [".ts"]).filter(
  (file) => !isTest(file.path),
);
const written = shipped.filter((file) => !isGenerated(file.path));
const users = filesBelow(["examples", "bench"], [".ts"]).filter((file) => !isGenerated(file.path));
const tests = [
  ...filesBelow(["test"], [".ts"]),
  ...filesBelow(["runtime", "server", "codegen", "examples", "bench"], [".test.ts"]),
].filter((file) => !isGenerated(file.path));
const scripts = filesBelow(["scripts", ".ci"], [".mjs", ".ts", "run"]);
const texts = [
  ...written,
  ...users,
  ...tests,
  ...scripts,
  ...filesBelow(["docs"], [".md"]),
  ...filesBelow(["proto"], [".proto"]),
];

const table = readImportTable(read("docs/architecture.md"));

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly bin: Readonly<Record<string, string>>;
}
const manifest = JSON.parse(read("package.json")) as Manifest;
const exportNames = Object.keys(manifest.exports);

/** The sources that the exports map and the bin lead to. */
const entries = [
  ...exportNames.flatMap((name) =>
    sourcesOf((manifest.exports[name] as Record<string, unknown>)["holdfast-source"]),
  ),
  ...Object.values(manifest.bin).map((path) => path.replace(/^(?:\.\/)?dist\//, "").replace(/\.js$/, ".ts")),
];

function sourcesOf(target: unknown): readonly string[] {
  if (typeof target === "string") return target.includes("*") ? [] : [target.replace(/^\.\//, "")];
  return typeof target === "object" && target !== null ? Object.values(target).flatMap(sourcesOf) : [];
}

function sample(path: string, text: string): SourceFile {
  return { path, text };
}

/** All breaches of a rule in some files, so that one run shows them all. */
function breaches(
  files: readonly SourceFile[],
  rule: (file: SourceFile) => readonly string[],
): readonly string[] {
  return files.flatMap(rule);
}

describe("import directions", () => {
  it.each([
    ["another layer", sample("runtime/base/clock.ts", 'import "../call/call.ts";')],
    ["another layer's type", sample("runtime/call/call.ts", 'import type { Link } from "../link/link.ts";')],
    [
      "a layer by a dynamic import",
      sample("runtime/call/call.ts", 'await import("../../server/server.ts");'),
    ],
    ["a layer handed on", sample("runtime/web/index.ts", 'export * from "../node/index.ts";')],
    ["a package that its row does not list", sample("runtime/web/wake.ts", 'import ws from "ws";')],
    [
      "a module of Node in the neutral runtime",
      sample("runtime/base/log.ts", 'import { inspect } from "node:util";'),
    ],
    ["a test", sample("server/server.ts", 'import "../test/support/board.ts";')],
    ["anything from a folder without a row", sample("runtime/wisdom/owl.ts", "")],
  ])("finds %s", (_, file) => {
    expect(forbiddenImports(file, table)).toHaveLength(1);
  });

  it("are those of the table in docs/architecture.md", () => {
    expect(breaches(written, (file) => forbiddenImports(file, table))).toEqual([]);
  });

  it("has no row for a folder that is not there", () => {
    expect([...table.keys()].filter((folder) => !existsSync(join(root, folder)))).toEqual([]);
  });

  it.each([
    sample("examples/board/server.ts", 'import { createServer } from "../../server/index.ts";'),
    sample("examples/board/server.ts", 'import { createServer } from "holdfast/server/server";'),
  ])("finds an example that reaches past the public names: $text", (file) => {
    expect(notPublicImports(file, "examples", (name) => isExported(name, exportNames))).toHaveLength(1);
  });

  it("lead examples and benchmarks to public names alone", () => {
    const rule = (file: SourceFile): readonly string[] =>
      notPublicImports(file, file.path.split("/", 1)[0] ?? "", (name) => isExported(name, exportNames));
    expect(breaches(users, rule)).toEqual([]);
  });
});

describe("the graph of imports", () => {
  it("shows a cycle, also of types, and a file that nothing leads to", () => {
    const graph = importGraph([
      sample("a.ts", 'import type { B } from "./b.ts";'),
      sample("b.ts", 'import { c } from "./c.ts";'),
      sample("c.ts", 'export { a } from "./a.ts";'),
      sample("dead.ts", 'import "./a.ts";'),
    ]);
    expect(cycles(graph)).toEqual(["a.ts -> b.ts -> c.ts -> a.ts"]);
    expect(unreached(graph, ["a.ts"])).toEqual(["dead.ts"]);
  });

  it("has no cycle", () => {
    expect(cycles(importGraph(shipped))).toEqual([]);
  });

  it("leads from what a browser imports to no module of Node", () => {
    const ofBrowsers = [
      "web/index.ts",
      "web/outbox.ts",
      "codec/index.ts",
      "testing/index.ts",
      "generated-v1.ts",
    ];
    const entries = ofBrowsers.map((name) => `runtime/${name}`);
    const graph = importGraph(shipped);
    const reached = new Set(graph.keys());
    for (const file of unreached(graph, entries)) reached.delete(file);
    expect(reached.size).toBeGreaterThan(entries.length);
    const ofNode = shipped.filter((file) => importsOf(file).some((name) => packageOf(name) === "node:"));
    expect(ofNode.length).toBeGreaterThan(0);
    expect(ofNode.filter((file) => reached.has(file.path)).map((file) => file.path)).toEqual([]);
  });

  it("has a source for each entry of the exports map and for the bin", () => {
    expect(entries.filter((entry) => !existsSync(join(root, entry)))).toEqual([]);
  });

  it("has no source that no entry leads to", () => {
    expect(unreached(importGraph(shipped), entries).filter((path) => !isGenerated(path))).toEqual([]);
  });
});

describe("names that only a browser has", () => {
  it.each(["window.fetch(url);", "globalThis.document;", "type T = typeof navigator;"])(
    "finds %s",
    (text) => {
      expect(browserOnlyNames(sample("runtime/link/link.ts", text))).toHaveLength(1);
    },
  );

  it("leaves a variable, a member and a comment of that name alone", () => {
    const text = "const window = 3; f(window, stream.document); // navigator";
    expect(browserOnlyNames(sample("runtime/link/link.ts", text))).toEqual([]);
  });

  it("stand in runtime/web alone", () => {
    const elsewhere = written.filter((file) => !file.path.startsWith("runtime/web/"));
    expect(breaches(elsewhere, browserOnlyNames)).toEqual([]);
  });
});

describe("leftovers", () => {
  // Put together here, so that this file passes its own rules.
  const note = `// ${["TO", "DO"].join("")}: think`;
  const off = (word: string): string => `it.${word}("x", () => {});`;

  it.each(["only", "skip", "todo"].map(off))("finds a test that is switched off: %s", (text) => {
    expect(switchedOffTests(sample("x.test.ts", text))).toHaveLength(1);
  });

  it("lets a test depend on what the machine has", () => {
    expect(switchedOffTests(sample("x.test.ts", 'it.skipIf(noBuf)("x", () => {});'))).toEqual([]);
  });

  it("has no test that is switched off", () => {
    expect(breaches(tests, switchedOffTests)).toEqual([]);
  });

  it("finds a note of unfinished work", () => {
    expect(unfinishedNotes(sample("x.ts", note))).toHaveLength(1);
  });

  it("has no note of unfinished work", () => {
    expect(breaches(texts, unfinishedNotes)).toEqual([]);
  });

  it.each(["console.log(x);", "  debugger;"])("finds %s", (text) => {
    expect(consoleCalls(sample("x.ts", text))).toHaveLength(1);
  });

  it("says everything through the log", () => {
    const exempt = ["runtime/base/log.ts"]; // the log itself
    expect(
      breaches(
        written.filter((file) => !exempt.includes(file.path)),
        consoleCalls,
      ),
    ).toEqual([]);
  });

  it.each(["/home", "/Users", "/root"])("finds a path below %s", (folder) => {
    expect(machinePaths(sample("x.ts", `const at = "${folder}/ada/board.db";`))).toHaveLength(1);
  });

  it("leaves the paths of a server's rpcs and of the project alone", () => {
    expect(machinePaths(sample("x.ts", 'url = "https://a.example/home/x"; y = "./home/x";'))).toEqual([]);
  });

  it("names no path of one machine", () => {
    expect(breaches(texts, machinePaths)).toEqual([]);
  });

  it("locks versions and hashes, and no registry's address", () => {
    for (const file of ["package-lock.json", "bench/peers/package-lock.json"])
      expect(read(file)).not.toMatch(/"resolved": "https?:/);
  });
});

describe("types", () => {
  it.each(["const x: any = 1;", "f(x!);", ["// @ts", "ignore"].join("-")])("finds %s", (text) => {
    expect(weakenedTypes(sample("x.ts", text))).toHaveLength(1);
  });

  it("are not weakened in the sources", () => {
    expect(breaches(written, weakenedTypes)).toEqual([]);
  });
});

describe("lengths", () => {
  it("finds a long file and a long function", () => {
    const lines = "x();\n".repeat(401);
    expect(tooLong(sample("x.ts", lines))).toHaveLength(1);
    expect(longFunctions(sample("x.ts", `function f() {\n${"x();\n".repeat(70)}}`))).toHaveLength(1);
  });

  it("of source files stay where one reader holds them in mind", () => {
    expect(breaches([...written, ...users], tooLong)).toEqual([]);
  });

  it("of functions too", () => {
    // These put a thing's parts together in one place and branch nowhere: cut, they would be read in two.
    const assembly = ["server/server.ts: createServer"];
    const long = breaches([...written, ...users], longFunctions);
    expect(long.filter((breach) => !assembly.some((known) => breach.startsWith(known)))).toEqual([]);
  });
});
