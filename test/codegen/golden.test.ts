import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { compile, type Files, generate, generateBase } from "./compile.ts";
import { goldenCases } from "./golden-cases.ts";
import { objectProgram } from "./object-program.ts";
import { type resolutions, typeErrors } from "./typecheck.ts";

/** `HOLDFAST_GOLDEN=write` takes the present output as the right one, to be looked at in the diff. */
const write = process.env["HOLDFAST_GOLDEN"] === "write";
const golden = join(import.meta.dirname, "golden");

const requests = Object.fromEntries(
  Object.entries(goldenCases).map(([name, { files }]) => [name, compile(files)] as const),
);

function filesIn(folder: string): Files {
  if (!existsSync(folder)) return {};
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [relative(folder, path), readFileSync(path, "utf8")];
    }),
  );
}

describe("the output of odd schemas", () => {
  for (const [name, { options = "target=ts" }] of Object.entries(goldenCases)) {
    test(`${name}: is what was looked at before, byte for byte, twice`, () => {
      const parameter = `${options},import_extension=ts,elide_plugin_version=true`;
      const request = { ...requests[name]!, parameter };
      const output = generate(request);
      expect(generate(request)).toEqual(output);
      const folder = join(golden, name);
      if (write) {
        rmSync(folder, { recursive: true, force: true });
        for (const [path, text] of Object.entries(output)) {
          mkdirSync(dirname(join(folder, path)), { recursive: true });
          writeFileSync(join(folder, path), text);
        }
      }
      expect(output).toEqual(filesIn(folder));
    });
  }
});

/** Our output and protoc-gen-es's of all cases, a folder each. */
function everything(target: string, extension: keyof typeof resolutions): Files {
  const all: Record<string, string> = {};
  const options = `target=${target},import_extension=${extension}`;
  for (const [name, compiled] of Object.entries(requests)) {
    const request = { ...compiled, parameter: options };
    for (const [path, text] of Object.entries(generate(request))) all[`${name}/${path}`] = text;
    // The annotations are part of the schema here; a user's come from the package.
    const fileToGenerate = request.protoFile
      .map((file) => file.name)
      .filter((path) => !path.startsWith("google/"));
    const base = generateBase({ ...request, fileToGenerate }, `${options},erasable_syntax=true`);
    for (const [path, text] of Object.entries(base)) all[`${name}/${path}`] = text;
  }
  return all;
}

/** What a program does with generated code, and what must not compile. */
const program = `
import type { Calls } from "holdfast/generated-v1";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { Account, type AccountHandlers, accountClient } from "./packages/b/v1/account_holdfast.ts";
import { create } from "@bufbuild/protobuf";
import { AccountSchema as OfA, type Account as AccountOfA } from "./packages/a/v1/account_pb.ts";
import type { Account as AccountOfB } from "./packages/b/v1/account_pb.ts";
import { Board, type BoardHandlers, boardClient } from "./kinds/kinds/v1/kinds_holdfast.ts";
import { Plain, plainClient } from "./kinds/kinds/v1/kinds_holdfast.ts";
import { reservedClient, type ReservedClient } from "./names/names/v1/names_holdfast.ts";
import type { AccountService } from "./packages/b/v1/account_pb.ts";

export async function use(link: Calls, transport: Transport): Promise<void> {
  const accounts = accountClient(link);
  const ofB: AccountOfB = await accounts.move({ ofA: "1" });
  const ofA: AccountOfA = await accounts.back(ofB);
  await accounts.move(create(OfA, ofA));
  // @ts-expect-error: a message of the one package is none of the other
  const wrong: AccountOfA = ofB;
  // @ts-expect-error: the same for what is sent
  await accounts.move(ofB);
  for await (const third of accounts.third({ ofC: "1" })) third.ofC satisfies string;

  const board = boardClient(link);
  (await board.get({ id: "1" }, { timeoutMs: 5 })).id satisfies string;
  for await (const issue of board.tail({ id: "1" })) issue.id satisfies string;
  // @ts-expect-error: a misspelt field
  await board.get({ ID: "1" });
  Board.claim.outbox satisfies "none" | "late" | "early" | undefined;
  Board.claim.method.methodKind satisfies "unary";
  Board.$methods.tail.keepCount satisfies number;
  Plain.down.kind satisfies "plain";
  const reply = await plainClient(link).up((async function* () { yield { id: "1" }; })());
  reply.id satisfies string;

  // Every rpc is called by its natural name, and a client is never thenable.
  const reserved: ReservedClient = await Promise.resolve(reservedClient(link));
  await reserved.delete({}); await reserved.new({}); await reserved.class({}); await reserved.import({});
  await reserved.await({}); await reserved.default({}); await reserved.in({}); await reserved.enum({});
  await reserved.then$({}); await reserved.toString$({}); await reserved.constructor$({});
  reserved.toString() satisfies string;

  // The definition carries the service that plain Connect takes.
  const plain: Client<typeof AccountService> = createClient(Account.$service, transport);
  (await plain.move({ ofA: wrong.ofA })).ofB satisfies string;
}

export const handlers: AccountHandlers = {
  move: (request) => ({ ofB: request.ofA }),
  back: async (request, { signal }) => ({ ofA: \`\${request.ofB}\${String(signal.aborted)}\` }),
  async *third(request) { yield request; },
};
// @ts-expect-error: a handler is missing
export const missing: AccountHandlers = { move: () => ({}), back: () => ({}) };
export const misspelt: AccountHandlers = {
  ...handlers,
  // @ts-expect-error: a handler is misspelt
  mvoe: () => ({}),
};
export const command: Pick<BoardHandlers, "claim" | "get"> = {
  claim: (request, { callId }) => ({ id: callId ?? request.id }),
  // @ts-expect-error: only a command has a call ID
  get: (request, { callId }) => ({ id: callId }),
};
`;

describe("the output compiles under the strictest settings", { timeout: 180_000 }, () => {
  test("import_extension=ts, which Node's type stripping needs, with programs on top", () => {
    const files = { ...everything("ts", "ts"), "program.ts": program, "objects.ts": objectProgram };
    expect(typeErrors(files, "ts")).toEqual([]);
  });

  test("import_extension=js with nodenext", () => {
    expect(typeErrors(everything("ts", "js"), "js")).toEqual([]);
  });

  test("import_extension=none with a bundler's resolution", () => {
    expect(typeErrors(everything("ts", "none"), "none")).toEqual([]);
  });

  test("target=js+dts, with the same programs on the declarations", () => {
    const files = {
      ...everything("js+dts", "js"),
      "program.ts": program.replaceAll('.ts";', '.js";'),
      "objects.ts": objectProgram.replaceAll('.ts";', '.js";'),
    };
    expect(typeErrors(files, "js")).toEqual([]);
  });

  test("another version of the contract does not compile", () => {
    const { "empty/empty_holdfast.ts": text, "empty/empty_pb.ts": base } = everything("ts", "ts");
    const files = { "empty_holdfast.ts": text!.replace("1 satisfies", "2 satisfies"), "empty_pb.ts": base! };
    expect(typeErrors(files, "ts")).toEqual([
      expect.stringContaining("Type '2' does not satisfy the expected type '1'."),
    ]);
  });
});
