/** One generated file while it is printed, with what every printer needs of it. */
import type { DescFile, DescMessage, DescService } from "@bufbuild/protobuf";
import type { GeneratedFile, ImportSymbol, Printable, Schema, Target } from "@bufbuild/protoplugin";
import type { usedTypes } from "./names.ts";

/** The module that generated code may import, beside the files of protoc-gen-es. */
const contractModule = "holdfast/generated-v1";

export interface PrintedFile {
  readonly file: GeneratedFile;
  readonly target: Target;
  /** Prints a line each. */
  lines(...lines: readonly Printable[]): void;
  /** The descriptor of a message or a service, as a value. */
  schema(desc: DescMessage | DescService): ImportSymbol;
  /** The same where only its type is named. */
  schemaType(desc: DescMessage | DescService): ImportSymbol;
  /** The type of a message. */
  shape(desc: DescMessage): ImportSymbol;
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
  const descriptor = remembered((wanted: DescMessage | DescService) => file.importSchema(wanted));
  return {
    file,
    target,
    lines(...lines) {
      for (const line of lines) file.print(line);
    },
    schema: descriptor,
    schemaType: (wanted) => descriptor(wanted).toTypeOnly(),
    shape: remembered((wanted: DescMessage) => file.importShape(wanted)),
    contract: (name) => file.import(name, contractModule, true),
    contractValue: (name) => file.import(name, contractModule),
    own,
    global: own,
  };
}

/** protoplugin names every type of a file to name one of them, which grows with the square of the file. */
function remembered<T extends object>(find: (wanted: T) => ImportSymbol): (wanted: T) => ImportSymbol {
  const found = new Map<T, ImportSymbol>();
  return (wanted) => {
    const symbol = found.get(wanted) ?? find(wanted);
    found.set(wanted, symbol);
    return symbol;
  };
}
