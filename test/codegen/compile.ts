/** Proto text to a request for a generator, by the real compiler. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { create, fromBinary } from "@bufbuild/protobuf";
import {
  type CodeGeneratorRequest,
  CodeGeneratorRequestSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { protocGenEs } from "@bufbuild/protoc-gen-es/dist/cjs/src/protoc-gen-es-plugin.js";
import type { Plugin } from "@bufbuild/protoplugin";
import { plugin } from "../../codegen/plugin.ts";

const bin = (name: string): string => join(import.meta.dirname, "../../node_modules/.bin", name);
const annotations = join(import.meta.dirname, "../../proto");

/** Files by their path. */
export type Files = Readonly<Record<string, string>>;

/** Compiles proto files with the annotations at hand, and asks for all of the files. */
export function compile(files: Files, parameter = ""): CodeGeneratorRequest {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-codegen-"));
  try {
    cpSync(annotations, folder, { recursive: true });
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const request = compileFolder(folder);
    request.fileToGenerate = Object.keys(files);
    request.parameter = parameter;
    return request;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Compiles all proto files in a folder, and asks for none of them yet. */
export function compileFolder(folder: string): CodeGeneratorRequest {
  const image = execFileSync(bin("buf"), ["build", folder, "-o", "-#format=binpb"], {
    maxBuffer: 1024 * 1024 * 1024,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const request = create(CodeGeneratorRequestSchema);
  request.protoFile.push(...fromBinary(FileDescriptorSetSchema, image).file);
  return request;
}

/** What our generator makes of a request. */
export function generate(request: CodeGeneratorRequest): Record<string, string> {
  return Object.fromEntries(plugin.run(request).file.map(({ name, content }) => [name, content]));
}

/** What protoc-gen-es makes of the same request. */
export function generateBase(request: CodeGeneratorRequest, parameter: string): Record<string, string> {
  // Its types are those of the CommonJS build; the values are the same.
  const base: Plugin = protocGenEs;
  const { file } = base.run({ ...request, parameter });
  return Object.fromEntries(file.map(({ name, content }) => [name, content]));
}
