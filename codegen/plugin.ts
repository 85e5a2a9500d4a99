/** The generator: options, then the model of all files, then every check, and only then a file. */
import { createRequire } from "node:module";
import { type Plugin, type Schema, type Target, createEcmaScriptPlugin } from "@bufbuild/protoplugin";
import { check } from "./check.ts";
import { faultsText } from "./fault.ts";
import { type FileModel, fileModel } from "./model.ts";
import { checkOptions, refuseLeftOver } from "./options.ts";
import { printClient } from "./print-client.ts";
import { printDefinition } from "./print-definition.ts";
import { printHandlers } from "./print-handlers.ts";
import { printObject } from "./print-object.ts";
import { printReference } from "./print-reference.ts";
import { openFile } from "./printed-file.ts";

/** The package finds itself by its name, from the sources and from dist/ alike. */
const { version } = createRequire(import.meta.url)("holdfast/package.json") as { readonly version: string };

const inner = createEcmaScriptPlugin({
  name: "protoc-gen-holdfast",
  version,
  parseOptions: refuseLeftOver,
  // Each target is printed by itself: to transpile would load a whole TypeScript compiler.
  generateTs: generate,
  generateJs: generate,
  generateDts: generate,
});

/**
 * Answers a compiler's request.
 *
 * `run` throws an Error, whose message lists all faults, for options or a schema that are not sound; nothing
 * is generated then.
 */
export const plugin: Plugin = {
  name: inner.name,
  version: inner.version,
  run(request) {
    checkOptions(request.parameter);
    return inner.run(request);
  },
};

function generate(schema: Schema, target: Target): void {
  const messages = new Map(
    schema.allFiles.flatMap((file) =>
      [...schema.typesInFile(file)].flatMap((type) =>
        type.kind === "message" ? [[type.typeName, type] as const] : [],
      ),
    ),
  );
  const files = schema.files.map((file) => fileModel(file, (typeName) => messages.get(typeName)));
  const faults = check(files);
  if (faults.length > 0) throw new Error(faultsText(faults));
  for (const file of files) printFile(schema, target, file);
}

function printFile(schema: Schema, target: Target, { desc, services }: FileModel): void {
  const out = openFile(schema, target, desc);
  if (services.length === 0) return;
  if (target === "ts") {
    out.lines("// Made for this version of the contract with the runtime; with another it does not compile.");
    out.lines(["1 satisfies typeof ", out.contract("generatedV1"), ";"], "");
  }
  for (const [index, service] of services.entries()) {
    if (index > 0) out.lines("");
    if (service.kind === "object") {
      printReference(out, service);
      printObject(out, service);
      continue;
    }
    printClient(out, service);
    printHandlers(out, service);
    printDefinition(out, service);
  }
}
