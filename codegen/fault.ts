/**
 * What is wrong with a schema, and where. Faults are gathered over all files and reported together, so that
 * one run shows everything there is to mend.
 */
import type { DescFile, DescMethod, DescService } from "@bufbuild/protobuf";
import { qualifiedName } from "@bufbuild/protobuf/reflect";
import { getComments } from "@bufbuild/protoplugin";

/** One fault: `subject what. mend` at the place in the source that is nearest to it. */
export interface Fault {
  /** What is at fault: its full name stands in the message. */
  readonly subject: DescFile | DescService | DescMethod;
  /** The number of the option that is at fault, for a more exact place. */
  readonly option?: number;
  /** What is wrong, as the end of a sentence that begins with the subject. */
  readonly what: string;
  /** What to do about it: whole sentences. */
  readonly mend: string;
}

/** The field numbers of `options` in the descriptors of a file, a service and a method. */
const optionsField = { file: 8, service: 3, rpc: 4 } as const;

/** The message of one fault: `file:line:column: full.name: what. mend`; without source info no line. */
export function faultText(fault: Fault): string {
  const { subject } = fault;
  const file =
    subject.kind === "file" ? subject : subject.kind === "service" ? subject.file : subject.parent.file;
  const name = subject.kind === "file" ? "" : ` ${qualifiedName(subject)}:`;
  return `${file.proto.name}${place(file, fault)}:${name} ${fault.what}. ${fault.mend}`;
}

/** All faults as one message, each on a line of its own. */
export function faultsText(faults: readonly Fault[]): string {
  const head = faults.length === 1 ? "the schema has a fault" : `the schema has ${faults.length} faults`;
  return [`${head}, nothing was generated`, ...faults.map(faultText)].join("\n");
}

/** `:line:column` of the option, or else of what carries it, or else nothing. */
function place(file: DescFile, { subject, option }: Fault): string {
  const path = subject.kind === "file" ? [] : [...getComments(subject).sourcePath];
  const paths = option === undefined ? [path] : [[...path, optionsField[subject.kind], option], path];
  for (const wanted of paths) {
    const location = file.proto.sourceCodeInfo?.location.find(
      ({ path: found }) => found.length === wanted.length && found.every((part, at) => part === wanted[at]),
    );
    // The span is start line, start column, ... and counts from zero.
    const [line, column] = location?.span ?? [];
    if (wanted.length > 0 && line !== undefined && column !== undefined) return `:${line + 1}:${column + 1}`;
  }
  return "";
}
