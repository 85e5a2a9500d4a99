/** Prints a service's client: its type, and the function that makes one on a link. */
import type { Printable } from "@bufbuild/protoplugin";
import { methodComment } from "./comments.ts";
import type { MethodModel, ServiceModel } from "./model.ts";
import { methodSignatureName } from "./names.ts";
import type { PrintedFile } from "./printed-file.ts";

export function printClient(out: PrintedFile, service: ServiceModel): void {
  const { file, target } = out;
  const { names, methods, desc } = service;
  if (target !== "js") {
    out.lines(file.jsDoc(desc), [file.export("interface", names.client), " {"]);
    for (const method of methods) printMember(out, method);
    out.lines("}", "");
  }
  out.lines(file.jsDoc(`Makes the client of ${desc.typeName} on a link.`));
  const head = file.export(target === "dts" ? "declare function" : "function", names.factory);
  // A service without methods has no use for its link, which strict settings object to.
  const link = methods.length === 0 && target !== "dts" ? "_link" : "link";
  if (target === "js") out.lines([head, `(${link}) {`]);
  else {
    const types = [`(${link}: `, out.contract("Calls"), "): ", names.client];
    out.lines([head, types, target === "dts" ? ";" : " {"]);
  }
  if (target !== "dts") {
    out.lines(
      methods.length === 0 ? "  return {};" : "  return {",
      ...methods.map((method) => ["    ", method.name, ": ", call(out, method, names.definition), ","]),
      ...(methods.length === 0 ? [] : ["  };"]),
      "}",
    );
  }
  out.lines("");
}

/** One member as a program uses it: a method, or for a state its live value. */
export function printMember(out: PrintedFile, method: MethodModel): void {
  const { desc, name, kind } = method;
  out.lines(out.file.jsDoc(methodComment(method), "  "));
  if (kind.kind === "state") {
    out.lines([`  readonly ${name}: `, out.contract("Member"), "<", out.shape(desc.output), ">;"]);
  } else out.lines(["  ", methodSignatureName(name), signature(out, method), ";"]);
}

/** What a caller writes. */
function signature(out: PrintedFile, { desc, kind }: MethodModel): Printable {
  const request = [out.contract("MessageInitShape"), "<typeof ", out.schemaType(desc.input), ">"];
  const reply = out.shape(desc.output);
  if (kind.kind === "stream") return streamSignature(out, request, reply);
  const options = out.contract(kind.kind === "plain" ? "PlainStreamOptions" : "CallOptions");
  const many = desc.methodKind === "client_streaming" || desc.methodKind === "bidi_streaming";
  const replies = desc.methodKind === "server_streaming" || desc.methodKind === "bidi_streaming";
  return [
    many ? ["(requests: ", out.global("AsyncIterable"), "<", request, ">"] : ["(request: ", request],
    [", options?: ", options, "): "],
    [out.global(replies ? "AsyncIterable" : "Promise"), "<", reply, ">"],
  ];
}

/** Its loop also gives gaps where the options ask for them. No message's name begins with a dollar sign. */
function streamSignature(out: PrintedFile, request: Printable, reply: Printable): Printable {
  return [
    ["<$Gaps extends ", out.contract("GapMode"), ' = "tell">(request: ', request],
    [", options?: ", out.contract("StreamOptions"), "<$Gaps>): "],
    [out.contract("ResumableStream"), "<", reply, ", $Gaps>"],
  ];
}

/** How the link makes the call. */
function call(out: PrintedFile, { name, desc, kind }: MethodModel, definition: string): Printable {
  const method = `${definition}.${name}`;
  switch (kind.kind) {
    case "stream":
      return `(request, options) => link.stream(${method}, request, options)`;
    case "plain":
      switch (desc.methodKind) {
        case "unary":
        case "server_streaming":
          return [
            `(request, options) => link.plain(${method}, `,
            out.contractValue("oneRequest"),
            "(request), options)",
          ];
        case "client_streaming":
          return [
            "(requests, options) => ",
            out.contractValue("onlyReply"),
            `(link.plain(${method}, requests, options))`,
          ];
        case "bidi_streaming":
          return `(requests, options) => link.plain(${method}, requests, options)`;
      }
    default:
      return `(request, options) => link.call(${method}, request, options)`;
  }
}
