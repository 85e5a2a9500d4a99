import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { compile, generate, generateBase } from "./compile.ts";
import { goldenCases } from "./golden-cases.ts";

/** This Node if it strips types by itself, or one that `HOLDFAST_NODE` names (22.18 and newer do). */
const strips = "typescript" in process.features && process.features.typescript === "strip";
const node = process.env["HOLDFAST_NODE"] ?? (strips ? process.execPath : undefined);

const program = `
import { Board, boardClient, Plain, plainClient } from "./kinds/kinds/v1/kinds_holdfast.ts";
import { Reserved, reservedClient } from "./names/names/v1/names_holdfast.ts";
import { Counter, Notebook, Window } from "./objects/objects/v1/objects_holdfast.ts";
import { Reserved as Held } from "./object-names/held/v1/names_holdfast.ts";
import type { Calls } from "holdfast/generated-v1";

async function* replies(requests: AsyncIterable<unknown>): AsyncIterable<unknown> {
  for await (const request of requests) yield request;
}
const link = {
  call: async (definition: unknown, request: unknown) => [definition, request],
  plain: (_definition: unknown, requests: AsyncIterable<unknown>) => replies(requests),
} as unknown as Calls;

const [definition, request] = (await boardClient(link).claim({ id: "1" })) as unknown as [unknown, { id: string }];
const down: unknown[] = [];
for await (const item of plainClient(link).down({ id: "2" })) down.push(item);
const up = await plainClient(link).up(replies((async function* () { yield { id: "3" }; })()) as never);
const reserved = await Promise.resolve(reservedClient(link));
console.log(JSON.stringify([
  definition === Board.claim && Board.$methods.claim === Board.claim,
  request, down, up, Board.claim.method.name, Plain.down.kind,
  Object.keys(reserved).length, Reserved.then$.method.name, Reserved.__proto__$.method.name,
  Notebook.$variants[0], Notebook.$members.seen === Notebook.seen, Notebook.$lingerMs, Notebook.$serial,
  [Notebook, Counter, Window].map(({ $params }) => $params.typeName), (await Promise.resolve(Held)).then$.method.name,
]));
`;

test.skipIf(node === undefined)("Node runs the generated TypeScript by stripping its types", () => {
  // Not inside this package's node_modules, where Node strips nothing.
  const folder = mkdtempSync(join(tmpdir(), "holdfast-stripping-"));
  try {
    const root = join(import.meta.dirname, "../..");
    mkdirSync(join(folder, "node_modules"));
    for (const name of ["@bufbuild", "@connectrpc"]) {
      symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
    }
    symlinkSync(root, join(folder, "node_modules/holdfast"));
    const files: Record<string, string> = { "main.ts": program, "package.json": '{ "type": "module" }' };
    for (const name of ["kinds", "names", "objects", "object-names"]) {
      const request = compile(goldenCases[name]!.files, "target=ts,import_extension=ts");
      const fileToGenerate = [...request.fileToGenerate, "holdfast/v1/annotations.proto"];
      const options = `${request.parameter},erasable_syntax=true`;
      for (const output of [generate(request), generateBase({ ...request, fileToGenerate }, options)]) {
        for (const [path, text] of Object.entries(output)) files[`${name}/${path}`] = text;
      }
    }
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const printed = execFileSync(node!, ["--conditions=holdfast-source", join(folder, "main.ts")], {
      encoding: "utf8",
    });
    const last = printed.trim().split("\n").at(-1)!;
    expect(JSON.parse(last)).toEqual([
      true,
      { id: "1" },
      [{ id: "2" }],
      { id: "3" },
      "Claim",
      "plain",
      27,
      "Then",
      "__proto__",
      { name: "reader", members: ["entries", "seen"] },
      true,
      300_000,
      true,
      ["a.v1.Account", "google.protobuf.Empty", "objects.v1.Outer.Params"],
      "Then",
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
