/** The package as a user gets it: names, types, lints of packages, what a browser loads. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleForBrowsers } from "../../scripts/browser-bundle.ts";
import { read } from "../repo/source-files.ts";
import { packProject, type PackedProject } from "./packed-project.ts";

/** Names that each entry must have at run time: the ones that the pages promise. */
const promised: Readonly<Record<string, readonly string[]>> = {
  holdfast: ["linkOf", "HoldfastError", "linkLine", "reasons", "SignInGone", "Code", "defaultTiming"],
  "holdfast/node": ["linkOf", "nodePlatform", "HoldfastError"],
  "holdfast/web": ["linkOf", "webPlatform", "HoldfastError"],
  "holdfast/web/outbox": ["indexedDbOutbox"],
  "holdfast/server": ["createServer", "engine", "memoryStore", "defaultLimits"],
  "holdfast/server/sqlite": ["sqliteStore"],
  "holdfast/codec": [],
  "holdfast/hold": ["createHost", "state"],
  "holdfast/wire": ["memoryPair", "messagePortWire", "webSocketWire"],
  "holdfast/web/wire": ["webSocketWires"],
  "holdfast/generated-v1": ["generatedV1"],
  "holdfast/testing": ["virtualClock", "seededRandom"],
  "holdfast/testing/node": ["faultyProxy"],
  "holdfast/gen/holdfast/v1/annotations_pb.js": ["command", "query"],
  "holdfast/gen/holdfast/v1/errors_pb.js": ["Reason", "ErrorInfoSchema"],
};

const manifest = JSON.parse(read("package.json")) as {
  readonly exports: Readonly<Record<string, unknown>>;
};

let project: PackedProject;
beforeAll(() => {
  project = packProject();
}, 240_000);
afterAll(() => (project as PackedProject | undefined)?.[Symbol.dispose]());

describe("the packed files", () => {
  it("hold the build, the sources and the schemas, and no test", () => {
    const { files } = project;
    for (const path of [
      "LICENSE",
      "dist/runtime/node/index.js",
      "dist/runtime/node/index.d.ts",
      "dist/runtime/node/index.js.map",
      "runtime/node/index.ts",
      "proto/holdfast/v1/annotations.proto",
    ]) {
      expect(files).toContain(path);
    }
    expect(
      files.filter((path) => /\.test\.|^(?:dist\/)?(?:test|bench|examples|scripts)\//.test(path)),
    ).toEqual([]);
  });

  it("satisfy publint", async () => {
    const { messages } = await publint({ pkgDir: project.packageFolder, pack: false, strict: true });
    const packed = JSON.parse(read("package.json")) as Record<string, unknown>;
    expect(messages.map((message) => formatMessage(message, packed, { color: false }))).toEqual([]);
  });
});

describe("the exports", () => {
  it("are all listed in this test", () => {
    const exported = Object.keys(manifest.exports).filter(
      (name) => name !== "./package.json" && !name.includes("*"),
    );
    const listed = Object.keys(promised).map((name) => name.replace(/^holdfast/, "."));
    expect(exported.filter((name) => !listed.includes(name))).toEqual([]);
  });

  it.each(Object.entries(promised))("resolve in Node without holdfast's sources: %s", (name, expected) => {
    project.write("names.mjs", `console.log(JSON.stringify(Object.keys(await import("${name}"))))`);
    const names = JSON.parse(project.run("node", ["names.mjs"])) as string[];
    expect(names).toEqual(expect.arrayContaining([...expected]));
  });

  it("run the generator by its bin", () => {
    symlinkSync(
      "../holdfast/dist/codegen/protoc-gen-holdfast.js",
      join(project.folder, "node_modules/holdfast-bin.js"),
    );
    project.run("node", ["--check", "node_modules/holdfast/dist/codegen/protoc-gen-holdfast.js"]);
    const version = project.run("node", [
      "node_modules/holdfast/dist/codegen/protoc-gen-holdfast.js",
      "--version",
    ]);
    expect(version).toMatch(/\d+\.\d+\.\d+/);
  });
});

describe("the types", () => {
  const usage = `
    import { type CallOptions, HoldfastError, type Link, linkOf, type LinkState } from "holdfast";
    import { Reason } from "holdfast/gen/holdfast/v1/errors_pb.js";
    const link: Link = linkOf("https://board.example.com", { account: "ada" });
    const options: CallOptions = { short: true };
    export const state: LinkState = link.state.value;
    export const late = (error: unknown): boolean => error instanceof HoldfastError && error.reason === "BUDGET_ENDED";
    // @ts-expect-error -- a misspelt option does not compile
    linkOf("https://board.example.com", { acount: "ada" });
    export { options, Reason };
  `;
  const server = `
    import { createServer, memoryStore, type Server } from "holdfast/server";
    import { virtualClock } from "holdfast/testing";
    export const server: Server = createServer({ store: memoryStore(), clock: virtualClock() });
  `;
  const strict = [
    "--strict",
    "--exactOptionalPropertyTypes",
    "--noUncheckedIndexedAccess",
    "--verbatimModuleSyntax",
    "--isolatedModules",
    "--noEmit",
    "--target",
    "es2022",
  ];

  it.each([
    ["nodenext", ["--module", "nodenext", "--types", "node"]],
    ["bundler", ["--module", "esnext", "--moduleResolution", "bundler", "--types", "node"]],
  ])(
    "resolve under %s, libraries checked too",
    (_, settings) => {
      project.write("usage.ts", usage);
      project.write("server.ts", server);
      const lib = ["--lib", "es2023,esnext.disposable,dom,dom.iterable"];
      project.run("node", [
        "node_modules/typescript/bin/tsc",
        ...strict,
        ...settings,
        ...lib,
        "usage.ts",
        "server.ts",
      ]);
    },
    120_000,
  );

  it("of a browser's client need none of Node's", () => {
    project.write("page.ts", usage);
    const settings = ["--module", "esnext", "--moduleResolution", "bundler"];
    const lib = ["--lib", "es2023,esnext.disposable,dom,dom.iterable"];
    const conditions = ["--customConditions", "browser"];
    project.run("node", [
      "node_modules/typescript/bin/tsc",
      ...strict,
      ...settings,
      ...lib,
      ...conditions,
      "page.ts",
    ]);
  }, 240_000);
});

describe("what a browser loads", () => {
  it("holds no module of Node, and makes no code from text", async () => {
    for (const name of ["holdfast", "holdfast/codec", "holdfast/generated-v1", "holdfast/testing"]) {
      const bundle = await bundleForBrowsers(`export * from "${name}"`, {
        from: project.folder,
        conditions: [],
      });
      expect(bundle.code, name).not.toMatch(/["'`]node:|\beval\(|\bnew Function\b|\bFunction\(["'`]/);
      expect(bundle.parts.map((part) => part.path).filter((path) => /runtime\/node\//.test(path))).toEqual(
        [],
      );
    }
  });

  it("is refused by the bundler as soon as a module of Node is in it", async () => {
    const entry = 'export { createServer } from "node:http"';
    await expect(bundleForBrowsers(entry, { from: project.folder })).rejects.toThrow(/node:http/);
  });
});
