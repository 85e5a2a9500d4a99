/** What the guide says of held objects in schemas and programs: they must compile as they stand there. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compile, type Files, generate, generateBase } from "./compile.ts";
import { typeErrors } from "./typecheck.ts";

const guide = readFileSync(join(import.meta.dirname, "../../docs/guide/generator.md"), "utf8");
const section = guide.slice(guide.indexOf("### Held objects"), guide.indexOf("### Methods without"));
const blocks = (page: string, language: string): readonly string[] =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "gs"))].map(([, text]) => text ?? "");

const [schema = "", variants = ""] = blocks(section, "proto");
const [single = "", several = ""] = blocks(section, "ts");
const objectOption = /^ {2}option \(holdfast\.v1\.object\) = \{.*?^ {2}\};\n/ms;

/** What the programs have around them. */
const around = `
import type { Holds } from "../../../runtime/base/objects.js";
declare const link: Holds;
declare function render(texts: readonly string[]): void;
`;

function generated(proto: string, ending: "js" | "ts" = "js"): Files {
  const request = compile({ "notes/v1/notes.proto": proto }, `target=ts,import_extension=${ending}`);
  const fileToGenerate = [...request.fileToGenerate, "holdfast/v1/annotations.proto"];
  const files = { ...generate(request), ...generateBase({ ...request, fileToGenerate }, request.parameter) };
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [`gen/${path}`, text]));
}

describe("docs/guide/generator.md", { timeout: 180_000 }, () => {
  test("its held object and the program that holds it compile", () => {
    const files = { ...generated(schema), "program.ts": around + single };
    expect(typeErrors(files, "js", /^.*(?:program|_holdfast)\.ts$/)).toEqual([]);
  });

  test("so they do with variants, and only with the look at the variant", () => {
    const gen = generated(schema.replace(objectOption, variants));
    expect(typeErrors({ ...gen, "program.ts": around + several }, "js", /program\.ts$/)).toEqual([]);
    const careless = several
      .replace('if (notes.variant !== "reader") ', "")
      .replace("editor.add", "editor.ad");
    expect(typeErrors({ ...gen, "program.ts": around + careless }, "js", /program\.ts$/)).toEqual([
      expect.stringMatching(/^program\.ts\(9\): Property 'add' does not exist on type/),
      expect.stringMatching(/^program\.ts\(12\): Property 'ad' does not exist/),
    ]);
  });
});

const page = readFileSync(join(import.meta.dirname, "../../docs/guide/objects.md"), "utf8");
const [service = ""] = blocks(page, "proto");
const programs = blocks(page, "ts");

/** The schema of the page's programs, of which the page shows the service. */
const notes = `syntax = "proto3";
package notes.v1;

import "google/protobuf/empty.proto";
import "holdfast/v1/annotations.proto";

${service}
service ReportService {
  option (holdfast.v1.object) = { params: "notes.v1.NotebookParams" };

  rpc Summary(google.protobuf.Empty) returns (stream Entry) {
    option (holdfast.v1.state) = {};
  }
}

message NotebookParams { string session = 1; }
message Entry { string text = 1; }
message EntryList { repeated Entry entries = 1; }
message AddRequest { string text = 1; }
message AddResponse { int32 id = 1; }
`;

/** With variants, for the one program that chooses among them. */
const variantsOfNotes = notes.replace(
  "linger:",
  'variants: [{ name: "reader", members: ["Entries"] }, { name: "editor" }], linger:',
);

const gen = 'from "./gen/notes/v1/notes_holdfast.ts"';
const hostAround = `
import { createHost } from "holdfast/hold";
import { Notebook } ${gen};
const host = createHost();
`;

/** What each program has around it: what the page has shown before, and what is the reader's own. */
const surroundings: readonly (readonly [says: string, before: string, after?: string])[] = [
  [
    "serving and holding",
    `
import type { EntryList } from "./gen/notes/v1/notes_pb.ts";
declare function render(list: EntryList): void;
`,
  ],
  [
    "objects that need others",
    `
import { createHost, state } from "holdfast/hold";
import { Notebook, Report } ${gen};
import { EntrySchema } from "./gen/notes/v1/notes_pb.ts";
const host = createHost();
declare function flush(): Promise<void>;
`,
  ],
  [
    "variants",
    `
import { createHost, type Factory } from "holdfast/hold";
import { Notebook } ${gen};
import type { NotebookParamsSchema } from "./gen/notes/v1/notes_pb.ts";
import type { NotebookObject } ${gen};
const host = createHost();
declare const factory: Factory<typeof NotebookParamsSchema, NotebookObject>;
`,
  ],
  [
    "a server and a link",
    `
import { linkOf } from "holdfast";
import { createServer, type ServerOptions } from "holdfast/server";
import type { Factory } from "holdfast/hold";
import { Notebook, type NotebookObject } ${gen};
import type { NotebookParamsSchema } from "./gen/notes/v1/notes_pb.ts";
declare const store: NonNullable<ServerOptions["store"]>;
declare const authenticate: NonNullable<ServerOptions["authenticate"]>;
declare const factory: Factory<typeof NotebookParamsSchema, NotebookObject>;
`,
    "void notes;",
  ],
  ["two hosts", `import { memoryPair } from "holdfast/wire";${hostAround}`, "void connection;\nvoid notes;"],
];

describe("docs/guide/objects.md", { timeout: 180_000 }, () => {
  test("has as many programs as are tried here", () => {
    expect(programs.length).toBe(surroundings.length);
  });

  test.each(surroundings)("%s compiles", (says, before, after = "") => {
    const place = surroundings.findIndex(([its]) => its === says);
    const program = (programs[place] ?? "").replace(
      /^ *…$/m,
      "const summary = state(EntrySchema, { text: `${notes.entries.value.entries.length}` });\n  return { summary };",
    );
    const schemaOfIt = says === "variants" ? variantsOfNotes : notes;
    const files = { ...generated(schemaOfIt, "ts"), "program.ts": `${before}${program}${after}` };
    expect(typeErrors(files, "ts", /program\.ts$/)).toEqual([]);
  });
});
