/** One generated file while it is printed, with what every printer needs of it. */
import type { DescFile } from "@bufbuild/protobuf";
import type { GeneratedFile, ImportSymbol, Printable, Schema, Target } from "@bufbuild/protoplugin";
import type { usedTypes } from "./names.ts";

/** The module that generated code may import, beside the files of protoc-gen-es. */
const contractModule = "holdfast/generated-v1";

export interface PrintedFile {
  readonly file: GeneratedFile;
  readonly target: Target;
  /** Prints a line each. */
  lines(...lines: readonly Printable[]): void;
  /** A type of the contract with the runtime. */
  contract(name: string): ImportSymbol;
  /** A function of the contract with the runtime. */
  contractValue(name: string): ImportSymbol;
  /** A name that the file has without exporting it, so that no import takes it. */
  own(name: string): ImportSymbol;
  /** A global type, which an imported message of the same name must not hide. */
  global(name: (typeof usedTypes)[number]): ImportSymbol;
}

const endings: Readonly<Record<Target, string>> = { ts: "ts", js: "js", dts: "d.ts" };

/** Opens `notes_holdfast.ts` beside `notes_pb.ts`. */
export function openFile(schema: Schema, target: Target, desc: DescFile): PrintedFile {
  const file = schema.generateFile(`${desc.name}_holdfast.${endings[target]}`);
  file.preamble(desc);
  const own = (name: string): ImportSymbol => file.import(name, `./${desc.name}_holdfast.js`);
  return {
    file,
    target,
    lines(...lines) {
      for (const line of lines) file.print(line);
    },
    contract: (name) => file.import(name, contractModule, true),
    contractValue: (name) => file.import(name, contractModule),
    own,
    global: own,
  };
}
