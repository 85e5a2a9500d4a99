/**
 * Looks for every fault of a schema before anything is printed: a fault that the generator lets through is one
 * that a user meets at run time.
 *
 * Source: design "Schema and generated code".
 */
import { optionNumbers } from "./annotations.ts";
import { checkAboveZero, checkKnown } from "./check-field.ts";
import { checkMethod } from "./check-method.ts";
import { checkObject } from "./check-object.ts";
import type { Fault } from "./fault.ts";
import type { FileModel, MethodModel, ObjectModel, ServiceModel } from "./model.ts";
import { referenceNames } from "./names.ts";

/** All faults of the files, in their order. */
export function check(files: readonly FileModel[]): readonly Fault[] {
  return files.flatMap((file) => [
    ...checkDefaults(file),
    ...file.services.flatMap((service) => [
      ...(service.kind === "object" ? checkObject(service) : []),
      ...service.methods.flatMap((method) => checkMethod(method, service.kind === "object")),
      ...checkNames(service),
      ...checkHeartbeats(service),
    ]),
  ]);
}

function checkDefaults({ desc, defaults }: FileModel): readonly Fault[] {
  if (defaults === undefined) return [];
  const at = { subject: desc, option: optionNumbers.defaults };
  return [
    ...checkKnown(at, defaults, { outbox: defaults.outbox }),
    ...checkAboveZero(at, "query_budget", defaults.queryBudget),
    ...checkAboveZero(at, "command_budget", defaults.commandBudget),
    ...checkAboveZero(at, "signal_budget", defaults.signalBudget),
  ];
}

/** Two rpcs that would become one member, and one that would hide a reference's own. */
function checkNames({ kind, methods }: ServiceModel | ObjectModel): readonly Fault[] {
  const faults: Fault[] = [];
  const first = new Map<string, MethodModel>();
  for (const method of methods) {
    const { desc, name } = method;
    const other = first.get(name);
    if (other !== undefined) {
      faults.push({
        subject: desc,
        what: `becomes "${name}" in TypeScript, as rpc ${other.desc.name} does`,
        mend: "Rename one of the two.",
      });
    } else first.set(name, method);
    if (kind === "object" && referenceNames.has(name)) {
      faults.push({
        subject: desc,
        what: `becomes "${name}" in TypeScript, which every reference to a held object has as its own`,
        mend: "Rename it.",
      });
    }
  }
  return faults;
}

/** A session has one sign of life; with two nobody could say which one it is that failed. */
function checkHeartbeats({ methods }: ServiceModel | ObjectModel): readonly Fault[] {
  const [first, ...more] = methods.filter(({ kind }) => kind.kind === "heartbeat");
  return more.map(({ desc }) => ({
    subject: desc,
    option: optionNumbers.heartbeat,
    what: `is a second heartbeat beside rpc ${first?.desc.name ?? ""}`,
    mend: "A service has one heartbeat: keep the one that carries the session's facts.",
  }));
}
