/** Proto text to a request for a generator, by the real compiler. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type CodeGeneratorRequest,
  CodeGeneratorRequestSchema,
  CodeGeneratorResponseSchema,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { plugin } from "../../codegen/plugin.ts";

const bin = (name: string): string => join(import.meta.dirname, "../../node_modules/.bin", name);
const annotations = join(import.meta.dirname, "../../proto");

/** Files by their path. */
export type Files = Readonly<Record<string, string>>;

/** Compiles proto files with the annotations at hand; what is not in `without` is to be generated. */
export function compile(files: Files, parameter = ""): CodeGeneratorRequest {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-codegen-"));
  try {
    cpSync(annotations, folder, { recursive: true });
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const image = execFileSync(bin("buf"), ["build", folder, "-o", "-#format=binpb"], {
      maxBuffer: 64 * 1024 * 1024,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const protoFile = fromBinary(FileDescriptorSetSchema, image).file;
    return create(CodeGeneratorRequestSchema, {
      protoFile,
      sourceFileDescriptors: protoFile.filter(({ name }) => name in files),
      fileToGenerate: Object.keys(files),
      parameter,
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What our generator makes of a request. */
export function generate(request: CodeGeneratorRequest): Record<string, string> {
  return Object.fromEntries(plugin.run(request).file.map(({ name, content }) => [name, content]));
}

/** What protoc-gen-es makes of the same request. */
export function generateBase(request: CodeGeneratorRequest, parameter: string): Record<string, string> {
  const answer = execFileSync(bin("protoc-gen-es"), {
    input: toBinary(CodeGeneratorRequestSchema, { ...request, parameter }),
    maxBuffer: 64 * 1024 * 1024,
  });
  const { file } = fromBinary(CodeGeneratorResponseSchema, answer);
  return Object.fromEntries(file.map(({ name, content }) => [name, content]));
}

/** The version of the generator as its files name it. */
export const { version } = createRequire(import.meta.url)("holdfast/package.json") as { version: string };
