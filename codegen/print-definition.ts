/** Prints the definition that the runtime reads: each method's kind with milliseconds and counts. */
import type { Kind, ServiceModel } from "./model.ts";
import type { PrintedFile } from "./printed-file.ts";

export function printDefinition(out: PrintedFile, service: ServiceModel): void {
  const { file, target } = out;
  const { names, methods, desc } = service;
  if (target !== "js") printTypes(out, service);
  if (target !== "dts") {
    const type = target === "ts" ? `: ${names.methodsType}` : "";
    out.lines(["const ", out.own(names.methods), type, methods.length === 0 ? " = {};" : " = {"]);
    for (const method of methods) {
      out.lines(
        `  ${method.name}: {`,
        `    kind: "${method.kind.kind}",`,
        ["    method: ", out.schema(desc), ".method.", method.desc.localName, ","],
        ...settings(method.kind).map((setting) => `    ${setting},`),
        "  },",
      );
    }
    out.lines(...(methods.length === 0 ? [] : ["};"]), "");
  }
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

/** A type alias for the methods: an interface would not pass for a record of methods. */
function printTypes(out: PrintedFile, { names, methods, desc }: ServiceModel): void {
  const { file } = out;
  out.lines(file.jsDoc(`The methods of ${desc.typeName}, each with its kind and its numbers.`), [
    file.export("type", names.methodsType),
    methods.length === 0 ? " = {};" : " = {",
  ]);
  for (const { name, desc: method, kind } of methods) {
    out.lines([
      `  readonly ${name}: `,
      [out.contract(definitionType(kind)), "<typeof ", out.schemaType(method.input)],
      [", typeof ", out.schemaType(method.output), ">;"],
    ]);
  }
  out.lines(...(methods.length === 0 ? [] : ["};"]), "");
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
      throw new Error("a state stands outside a held object, which the check has let through");
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
