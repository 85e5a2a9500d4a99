/**
 * Prints what a holder of an object gets: one interface, or, with several variants, a union that its `variant`
 * tells apart. Before the first binding a reference has no variant and every member, since its calls wait.
 */
import type { Printable } from "@bufbuild/protoplugin";
import { serviceComment } from "./comments.ts";
import type { ObjectModel, VariantModel } from "./model.ts";
import { printMember } from "./print-client.ts";
import type { PrintedFile } from "./printed-file.ts";

export function printReference(out: PrintedFile, object: ObjectModel): void {
  if (out.target === "js") return;
  const [only, ...more] = object.variants;
  if (only !== undefined && more.length === 0) printOnly(out, object, only);
  else {
    printMembers(out, object);
    for (const [index, variant] of object.variants.entries()) printVariant(out, object, variant, index);
    printUnion(out, object);
  }
  if (object.names.variantReferences.length > 0) printVariants(out, object);
}

function printOnly(out: PrintedFile, { desc, names }: ObjectModel, { name, members }: VariantModel): void {
  const { file } = out;
  out.lines(file.jsDoc(desc), [
    file.export("interface", names.reference),
    [" extends ", out.contract("Reference"), `<${JSON.stringify(name)} | undefined> {`],
  ]);
  for (const member of members) printMember(out, member);
  out.lines("}", "");
}

function printMembers(out: PrintedFile, { desc, names, methods }: ObjectModel): void {
  const { file } = out;
  out.lines(file.jsDoc(`The members of ${desc.typeName}, as holders use them.`), [
    file.export("interface", names.members),
    " {",
  ]);
  for (const method of methods) printMember(out, method);
  out.lines("}", "");
}

function printVariant(out: PrintedFile, object: ObjectModel, variant: VariantModel, index: number): void {
  const { file } = out;
  const name = JSON.stringify(variant.name);
  out.lines(
    file.jsDoc(`What a holder has as ${name}.`),
    [
      file.export("interface", object.names.variantReferences[index] ?? ""),
      " extends ",
      [out.contract("Reference"), `<${name} | undefined>, `],
      [...membersOf(out, object, variant), " {}"],
    ],
    "",
  );
}

function printUnion(out: PrintedFile, object: ObjectModel): void {
  const { file } = out;
  const { names, variants, methods } = object;
  const reference = (variant: string, members: readonly Printable[]): Printable => [
    ["  | (", out.contract("Reference"), `<${variant}> & `],
    [...members, ")"],
  ];
  const all = { name: "", members: methods };
  const branches = [
    reference("undefined", membersOf(out, object, all)),
    ...variants.map((variant) => reference(JSON.stringify(variant.name), membersOf(out, object, variant))),
  ];
  out.lines(
    file.jsDoc(
      serviceComment(
        object.desc,
        "Its `variant` says which members there are; until it is bound there are all, and calls wait.",
      ),
    ),
    [file.export("type", names.reference), " ="],
    ...branches.map((branch, index) => (index === branches.length - 1 ? [branch, ";"] : branch)),
    "",
  );
}

function membersOf(
  out: PrintedFile,
  { names, methods }: ObjectModel,
  { members }: VariantModel,
): readonly Printable[] {
  if (members.length === methods.length) return [names.members];
  const keys = members.map(({ name }) => JSON.stringify(name)).join(" | ");
  return [out.global("Pick"), `<${names.members}, ${keys}>`];
}

function printVariants(out: PrintedFile, { names, variants }: ObjectModel): void {
  const { file } = out;
  const example = `hold(${names.definition}, params, { variant: ${JSON.stringify(variants[0]?.name)} })`;
  out.lines(
    file.jsDoc(`What a holder gets that asks for one variant, as in \`${example}\`.`),
    [file.export("interface", names.variants), " {"],
    ...variants.map(({ name }, index) => {
      const reference = variants.length === 1 ? names.reference : names.variantReferences[index];
      return `  readonly ${name.includes("-") ? JSON.stringify(name) : name}: ${reference ?? ""};`;
    }),
    "}",
    "",
  );
}
