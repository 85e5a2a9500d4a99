import { basename } from "node:path";
import { describe, expect, test } from "vitest";
import { compileFolder, generate, generateBase } from "./compile.ts";
import { typeErrors } from "./typecheck.ts";

/**
 * Large schemas of others, which have what nobody thinks of: `HOLDFAST_PUBLIC_SCHEMAS=/a/googleapis:/b/etcd`
 * names folders of proto files, each complete with what it imports.
 */
const folders = (process.env["HOLDFAST_PUBLIC_SCHEMAS"] ?? "").split(":").filter((folder) => folder !== "");

describe.skipIf(folders.length === 0)(
  "public schemas generate twice the same, and compile without an error",
  () => {
    for (const folder of folders) {
      test(basename(folder), { timeout: 1_800_000 }, () => {
        const request = compileFolder(folder);
        const parameter = "target=ts,import_extension=ts";
        const fileToGenerate = request.protoFile
          .map(({ name }) => name)
          .filter((name) => !name.startsWith("google/protobuf/"));
        const output = generate({ ...request, fileToGenerate, parameter });
        expect(generate({ ...request, fileToGenerate, parameter })).toEqual(output);
        const base = generateBase({ ...request, fileToGenerate }, `${parameter},erasable_syntax=true`);
        const files = Object.keys(output).length;
        const methods = request.protoFile.flatMap(({ service }) =>
          service.flatMap(({ method }) => method),
        ).length;
        // The figures are what a run of this test is for.
        console.log(
          `${basename(folder)}: ${fileToGenerate.length} protos, ${files} files, ${methods} methods`,
        );
        expect(typeErrors({ ...output, ...base }, "ts", /_holdfast\.ts$/)).toEqual([]);
      });
    }
  },
);
