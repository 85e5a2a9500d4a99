/** Prints what a server implements: one member for each method, so that a missing one does not compile. */
import type { Printable } from "@bufbuild/protoplugin";
import { methodComment } from "./comments.ts";
import type { MethodModel, ServiceModel } from "./model.ts";
import { methodSignatureName } from "./names.ts";
import type { PrintedFile } from "./printed-file.ts";

export function printHandlers(out: PrintedFile, { desc, names, methods }: ServiceModel): void {
  if (out.target === "js") return;
  const { file } = out;
  out.lines(file.jsDoc(`What a server of ${desc.typeName} implements.`), [
    file.export("interface", names.handlers),
    " {",
  ]);
  for (const method of methods) printHandler(out, method);
  out.lines("}", "");
}

/** One member: a method, or for a state its live value. */
export function printHandler(out: PrintedFile, method: MethodModel): void {
  const { desc, name, kind } = method;
  out.lines(out.file.jsDoc(methodComment(method), "  "));
  if (kind.kind === "state") {
    out.lines([`  readonly ${name}: `, out.contract("StateMember"), "<", out.shape(desc.output), ">;"]);
    return;
  }
  out.lines(
    ["  ", methodSignatureName(name), "("],
    ["    ", request(out, method), ","],
    ["    context: ", out.contract(context(method)), ","],
    ["  ): ", reply(out, method), ";"],
  );
}

function request(out: PrintedFile, { desc }: MethodModel): Printable {
  const shape = out.shape(desc.input);
  return desc.methodKind === "client_streaming" || desc.methodKind === "bidi_streaming"
    ? ["requests: ", out.global("AsyncIterable"), "<", shape, ">"]
    : ["request: ", shape];
}

function context({ kind }: MethodModel): string {
  switch (kind.kind) {
    case "command":
      return "CommandContext";
    case "stream":
      return "StreamContext";
    case "plain":
      return "PlainStreamContext";
    default:
      return "HandlerContext";
  }
}

function reply(out: PrintedFile, { desc, kind }: MethodModel): Printable {
  const init = [out.contract("MessageInitShape"), "<typeof ", out.schemaType(desc.output), ">"];
  if (desc.methodKind !== "server_streaming" && desc.methodKind !== "bidi_streaming")
    return [out.global("Promise"), "<", init, "> | ", init];
  const items = [out.global("AsyncIterable"), "<", init, ">"];
  // A stream's handler may look something up before it says what is followed; only an iterable of the topic's own,
  // and not a generator around it, can resume.
  return kind.kind === "stream" ? [out.global("Promise"), "<", items, "> | ", items] : items;
}
