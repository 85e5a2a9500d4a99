/** The guide's section on held objects is a schema and two programs: they must compile as they stand there. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compile, type Files, generate, generateBase } from "./compile.ts";
import { typeErrors } from "./typecheck.ts";

const guide = readFileSync(join(import.meta.dirname, "../../docs/guide/generator.md"), "utf8");
const section = guide.slice(guide.indexOf("### Held objects"), guide.indexOf("### Methods without"));
const blocks = (language: string): readonly string[] =>
  [...section.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "gs"))].map(([, text]) => text ?? "");

const [schema = "", variants = ""] = blocks("proto");
const [single = "", several = ""] = blocks("ts");
const objectOption = /^ {2}option \(holdfast\.v1\.object\) = \{.*?^ {2}\};\n/ms;

/** What the programs have around them. */
const around = `
import type { Holds } from "../../../runtime/base/objects.js";
declare const link: Holds;
declare function render(texts: readonly string[]): void;
`;

function generated(proto: string): Files {
  const request = compile({ "notes/v1/notes.proto": proto }, "target=ts,import_extension=js");
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
