/** Prints what a factory of an object returns, and the definition that the runtime reads of it. */
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { ObjectModel } from "./model.ts";
import { printHandler } from "./print-handlers.ts";
import { printMethods, printMethodTypes } from "./print-methods.ts";
import type { PrintedFile } from "./printed-file.ts";

export function printObject(out: PrintedFile, object: ObjectModel): void {
  const { file, target } = out;
  const { names, desc } = object;
  if (target !== "js") {
    printImplementation(out, object);
    printTypes(out, object);
  }
  if (target !== "dts") printMethods(out, object);
  out.lines(file.jsDoc(desc));
  if (target === "dts") {
    out.lines([file.export("declare const", names.definition), ": ", names.definitionType, ";"]);
    return;
  }
  out.lines(
    [file.export("const", names.definition), target === "ts" ? `: ${names.definitionType}` : "", " = {"],
    ["  $service: ", out.schema(desc), ","],
    ["  $members: ", out.own(names.methods), ","],
    ["  $params: ", out.schema(paramsOf(object)), ","],
    `  $lingerMs: ${object.lingerMs},`,
    `  $readyTimeoutMs: ${object.readyTimeoutMs},`,
    "  $variants: [",
    ...object.variants.map(({ name, members }) => {
      const list = members.map((member) => JSON.stringify(member.name)).join(", ");
      return `    { name: ${JSON.stringify(name)}, members: [${list}] },`;
    }),
    "  ],",
    `  $serial: ${object.options.serial},`,
    ["  ...", out.own(names.methods), ","],
    "};",
  );
}

/** What an object's factory must return, so that a missing member does not compile. */
function printImplementation(out: PrintedFile, { desc, names, methods }: ObjectModel): void {
  const { file } = out;
  out.lines(file.jsDoc(`What a factory of ${desc.typeName} returns.`), [
    file.export("interface", names.implementation),
    " {",
  ]);
  for (const method of methods) printHandler(out, method);
  out.lines("}", "");
}

function printTypes(out: PrintedFile, object: ObjectModel): void {
  const { file } = out;
  const { names, desc } = object;
  const variants = names.variantReferences.length > 0 ? `, ${names.variants}` : "";
  printMethodTypes(out, object);
  out.lines(
    file.jsDoc(`The type of {@link ${names.definition}}.`),
    [file.export("interface", names.definitionType)],
    [
      ["  extends ", out.contract("ObjectDefinition"), "<typeof ", out.schemaType(paramsOf(object))],
      `, ${names.reference}, ${names.implementation}${variants}>,`,
    ],
    `    ${names.methodsType} {`,
    ["  readonly $service: typeof ", out.schemaType(desc), ";"],
    `  readonly $members: ${names.methodsType};`,
    "}",
    "",
  );
}

/** The check has refused params that no file defines. */
function paramsOf({ params = EmptySchema }: ObjectModel): typeof params {
  return params;
}
