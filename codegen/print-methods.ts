/** Prints what the runtime reads of each method: its kind with milliseconds and counts. */
import type { DefinitionNames } from "./names.ts";
import type { Kind, MethodModel } from "./model.ts";
import type { PrintedFile } from "./printed-file.ts";
import type { DescService } from "@bufbuild/protobuf";
import type { Printable } from "@bufbuild/protoplugin";

/** What has methods: a service or a held object. */
interface WithMethods {
  readonly desc: DescService;
  readonly names: DefinitionNames;
  readonly methods: readonly MethodModel[];
}

/** A type alias for the methods: an interface would not pass for a record of methods. */
export function printMethodTypes(out: PrintedFile, { names, methods, desc }: WithMethods): void {
  const { file } = out;
  out.lines(file.jsDoc(`The methods of ${desc.typeName}, each with its kind and its numbers.`), [
    file.export("type", names.methodsType),
    methods.length === 0 ? " = {};" : " = {",
  ]);
  for (const { name, desc: method, kind } of methods) {
    const request = kind.kind === "state" ? [] : ["typeof ", out.schemaType(method.input), ", "];
    out.lines([
      `  readonly ${name}: `,
      [out.contract(definitionType(kind)), "<", ...request, "typeof ", out.schemaType(method.output), ">;"],
    ]);
  }
  out.lines(...(methods.length === 0 ? [] : ["};"]), "");
}

/** The constant that the definition's members come from; the file keeps it to itself. */
export function printMethods(out: PrintedFile, { names, methods, desc }: WithMethods): void {
  const type = out.target === "ts" ? `: ${names.methodsType}` : "";
  out.lines(["const ", out.own(names.methods), type, methods.length === 0 ? " = {};" : " = {"]);
  for (const method of methods) {
    out.lines(
      `  ${method.name}: {`,
      `    kind: "${method.kind.kind}",`,
      ["    method: ", out.schema(desc), ".method.", method.desc.localName, ","],
      ...settings(method.kind).map((setting) => `    ${setting},`),
      ...runtimeParts(out, method.kind),
      "  },",
    );
  }
  out.lines(...(methods.length === 0 ? [] : ["};"]), "");
}

/** Named by the definition, so that a program without streams or heartbeats is not loaded with their code. */
function runtimeParts(out: PrintedFile, { kind }: Kind): readonly Printable[] {
  if (kind === "stream") return [["    follower: ", out.contractValue("resumable"), ","]];
  if (kind === "heartbeat") return [["    beater: ", out.contractValue("beating"), ","]];
  if (kind === "plain") return [["    streamer: ", out.contractValue("connectStreaming"), ","]];
  return [];
}

function definitionType(kind: Kind): string {
  switch (kind.kind) {
    case "query":
      return "QueryDefinition";
    case "command":
      return "CommandDefinition";
    case "signal":
      return "SignalDefinition";
    case "stream":
      return "StreamDefinition";
    case "heartbeat":
      return "HeartbeatDefinition";
    case "plain":
      return "PlainStreamDefinition";
    case "state":
      return "StateDefinition";
  }
}

/** What is not the runtime's own default. */
function settings(kind: Kind): readonly string[] {
  switch (kind.kind) {
    case "query":
    case "signal":
      return given("budgetMs", kind.budgetMs, undefined);
    case "command":
      return [
        ...given("budgetMs", kind.budgetMs, undefined),
        ...given("delivery", kind.delivery, "once"),
        ...given("callId", kind.callId, true),
        ...given("outbox", kind.outbox, "none"),
        ...given("merge", kind.merge, false),
        ...given("effects", kind.effects, "transaction"),
        ...given("keep", kind.keep, "reply"),
        ...given("handlerMostMs", kind.handlerMostMs, undefined),
        ...given("requireId", kind.requireId, false),
      ];
    case "stream":
      return [`keepCount: ${kind.keepCount}`, `roomCount: ${kind.roomCount}`, `idleMs: ${kind.idleMs}`];
    case "heartbeat":
      return [`everyMs: ${kind.everyMs}`, `goneAfterMs: ${kind.goneAfterMs}`];
    case "plain":
    case "state":
      return [];
  }
}

function given<T extends string | number | boolean | undefined>(name: string, value: T, unless: T): string[] {
  return value === unless ? [] : [`${name}: ${JSON.stringify(value)}`];
}
