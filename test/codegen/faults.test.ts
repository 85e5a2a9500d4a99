import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, type CodeGeneratorRequest } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { compile, generate } from "./compile.ts";
import { faultCases } from "./fault-cases.ts";

const imports = ["holdfast/v1/annotations", "google/protobuf/empty", "google/protobuf/any"];
const head = (name: string): string =>
  [
    'syntax = "proto3";',
    `package ${name};`,
    ...imports.map((path) => `import "${path}.proto";`),
    "message M { string id = 1; }",
    "message Params { M in = 1; repeated string tags = 2; bytes raw = 3; Params again = 4; }\n",
  ].join(" ");

/** All in one run of the compiler, each in a package of its own. */
function compileAll(bodies: readonly string[]): CodeGeneratorRequest {
  const name = (index: number): string => `t${index}x`;
  return compile(
    Object.fromEntries(
      bodies.map((body, index) => [
        `${name(index)}.proto`,
        head(name(index)) + body.replaceAll('"t.', `"${name(index)}.`),
      ]),
    ),
  );
}

function faultsOf(request: CodeGeneratorRequest, file: string | undefined): string {
  try {
    generate({ ...request, fileToGenerate: [file!] });
  } catch (error) {
    return String(error).replaceAll(/\bt\d+x\b/g, "t");
  }
  return "no fault";
}

describe("a fault in the schema stops the run with its place and its mend", () => {
  const cases = Object.entries(faultCases);
  const request = compileAll(cases.map(([, { body }]) => body));

  for (const [index, [title, { faults }]] of cases.entries()) {
    test(title, () => {
      const count = faults.length === 1 ? "a fault" : `${faults.length} faults`;
      expect(faultsOf(request, request.fileToGenerate[index])).toBe(
        [
          `Error: the schema has ${count}, nothing was generated`,
          ...faults.map((fault) => `t.proto:${fault}`),
        ].join("\n"),
      );
    });
  }

  test("all faults of all files are reported together, and no file is printed beside them", () => {
    const sound = compileAll([
      "service Sound { rpc Get(M) returns (M); }",
      cases[0]![1].body,
      cases[1]![1].body,
    ]);
    expect(faultsOf(sound, sound.fileToGenerate[0])).toBe("no fault");
    expect(() => generate(sound)).toThrow(
      /^the schema has 2 faults, nothing was generated\nt1x.proto:5:12: .*\nt2x.proto:3:35: .*$/,
    );
  });

  test("without source info it names the file, the service and the method", () => {
    const [file] = request.fileToGenerate;
    const bare = request.protoFile.map((proto) => {
      const copy = fromBinary(FileDescriptorProtoSchema, toBinary(FileDescriptorProtoSchema, proto));
      delete copy.sourceCodeInfo;
      return copy;
    });
    expect(faultsOf({ ...request, protoFile: bare }, file)).toContain(
      "\nt.proto: t.Board.Claim: is annotated as command and signal.",
    );
  });

  test("annotations that are newer than the generator are not passed over", () => {
    // Field 15 of the command, and outbox 9: what a later annotations.proto may well have.
    const later = compileAll([
      "service Board { rpc Claim(M) returns (M) { option (holdfast.v1.command) = {}; } }",
    ]);
    const options = later.protoFile.find(({ name }) => name === "t0x.proto")!.service[0]!.method[0]!.options!;
    const command = options.$unknown!.find(({ no }) => no === 50722)!;
    Object.assign(command, { data: new Uint8Array([4, 15 << 3, 1, 3 << 3, 9]) });
    const mend = "Update the package `holdfast`, whose annotations.proto is older than the one in use.";
    expect(faultsOf(later, "t0x.proto")).toBe(
      [
        "Error: the schema has 2 faults, nothing was generated",
        `t.proto:2:51: t.Board.Claim: sets field 15, which this generator does not know. ${mend}`,
        `t.proto:2:51: t.Board.Claim: sets outbox to 9, which this generator does not know. ${mend}`,
      ].join("\n"),
    );
  });
});

describe("what is sound", () => {
  const sound: Readonly<Record<string, string>> = {
    "a room of exactly half":
      "service Board { rpc Tail(M) returns (stream M) { option (holdfast.v1.stream) = { keep: 512 }; } }",
    "a file's outbox beside a command that is sent at most once":
      "option (holdfast.v1.defaults) = { outbox: LATE }; service Board { rpc Pay(M) returns (M) { option (holdfast.v1.command) = { delivery: AT_MOST_ONCE }; } }",
    "merge with the file's outbox":
      "option (holdfast.v1.defaults) = { outbox: LATE }; service Board { rpc Go(M) returns (M) { option (holdfast.v1.command) = { merge: true }; } }",
    "an idempotent method without an annotation and with a reply":
      "service Board { rpc Put(M) returns (M) { option idempotency_level = IDEMPOTENT; } }",
    "a variant named like nothing else, params with lists of scalars and with themselves":
      'service Notebook { option (holdfast.v1.object) = { params: "t.Params", linger: {}, variants: [{ name: "reader", members: ["Get"] }, { name: "all" }] }; rpc Get(M) returns (M); }',
    "rpcs of an object that would make a reference thenable or hide what all objects have":
      "service Notebook { option (holdfast.v1.object) = {}; rpc Then(M) returns (M); rpc Constructor(M) returns (M); }",
    "members of an object without an annotation":
      "service Notebook { option (holdfast.v1.object) = {}; rpc Get(M) returns (M) { option idempotency_level = NO_SIDE_EFFECTS; } rpc Put(M) returns (M); }",
    "an rpc called Variant outside an object": "service Board { rpc Variant(M) returns (M); }",
  };
  const request = compileAll(Object.values(sound));
  for (const [index, title] of Object.keys(sound).entries()) {
    test(title, () => {
      expect(faultsOf(request, request.fileToGenerate[index])).toBe("no fault");
    });
  }
});
