import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { CodeGeneratorRequestSchema, CodeGeneratorResponseSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { compile } from "./compile.ts";

const bin = join(import.meta.dirname, "../../codegen/protoc-gen-holdfast.ts");

function run(options: string, rpc: string): { status: number | null; stdout: Buffer; stderr: string } {
  const proto = `syntax = "proto3"; import "holdfast/v1/annotations.proto"; message M {}\nservice Board { ${rpc} }`;
  const input = toBinary(CodeGeneratorRequestSchema, compile({ "board.proto": proto }, options));
  const args = ["--conditions=holdfast-source", "--import", "tsx", bin];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { input });
  return { status, stdout, stderr: stderr.toString() };
}

describe("the command", { timeout: 180_000 }, () => {
  test("answers a sound request with files", () => {
    const { status, stdout, stderr } = run("target=ts", "rpc Get(M) returns (M);");
    expect(stderr).toBe("");
    expect(status).toBe(0);
    const { file } = fromBinary(CodeGeneratorResponseSchema, stdout);
    expect(file.map(({ name }) => name)).toEqual(["board_holdfast.ts"]);
  });

  test("exits with 1 and writes nothing for a fault in the schema", () => {
    const { status, stdout, stderr } = run(
      "target=ts",
      "rpc Get(M) returns (M) { option (holdfast.v1.command) = { budget: {} }; }",
    );
    expect({ status, written: stdout.length }).toEqual({ status: 1, written: 0 });
    expect(stderr).toBe(
      "protoc-gen-holdfast: the schema has a fault, nothing was generated\n" +
        "board.proto:2:49: Board.Get: sets budget to 0 s. Make it longer than zero, or leave it out to take the default.\n",
    );
  });

  test("exits with 1 and writes nothing for a bad option", () => {
    const { status, stdout, stderr } = run("target=ts, import_extension=js", "rpc Get(M) returns (M);");
    expect({ status, written: stdout.length }).toEqual({ status: 1, written: 0 });
    expect(stderr).toMatch(/^protoc-gen-holdfast: option " import_extension=js": there is a space in it\./);
  });
});
