/** Prints the definition that the runtime reads of a service. */
import type { ServiceModel } from "./model.ts";
import { printMethods, printMethodTypes } from "./print-methods.ts";
import type { PrintedFile } from "./printed-file.ts";

export function printDefinition(out: PrintedFile, service: ServiceModel): void {
  const { file, target } = out;
  const { names, desc } = service;
  if (target !== "js") printTypes(out, service);
  if (target !== "dts") printMethods(out, service);
  out.lines(file.jsDoc(desc));
  if (target === "dts") {
    out.lines([file.export("declare const", names.definition), ": ", names.definitionType, ";"]);
    return;
  }
  out.lines(
    [file.export("const", names.definition), target === "ts" ? `: ${names.definitionType}` : "", " = {"],
    ["  $service: ", out.schema(desc), ","],
    ["  $methods: ", out.own(names.methods), ","],
    ["  ...", out.own(names.methods), ","],
    "};",
  );
}

function printTypes(out: PrintedFile, service: ServiceModel): void {
  const { file } = out;
  const { names, desc } = service;
  printMethodTypes(out, service);
  out.lines(
    file.jsDoc(`The type of {@link ${names.definition}}.`),
    [
      file.export("interface", names.definitionType),
      [" extends ", out.contract("ServiceDefinition"), `<${names.handlers}>, ${names.methodsType} {`],
    ],
    ["  readonly $service: typeof ", out.schemaType(desc), ";"],
    `  readonly $methods: ${names.methodsType};`,
    "}",
    "",
  );
}
